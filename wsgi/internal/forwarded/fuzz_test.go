// SPDX-License-Identifier: MIT

package forwarded

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"m0serve.dev/http/wire"
)

// request is a request with one field, if it can be one.
func request(name, value string) (*wire.Request, bool) {
	var p wire.RequestParser
	req := &wire.Request{}
	raw := "GET / HTTP/1.1\r\nHost: own\r\n" + name + ": " + value + "\r\n\r\n"
	n, err := p.Parse([]byte(raw), req)
	return req, err == nil && n == len(raw) && len(req.Fields) == 2
}

// The walk over X-Forwarded-For finds what a walk over strings finds.
func FuzzXForwardedFor(f *testing.F) {
	for _, s := range []string{
		"1.2.3.4", "6.6.6.6, 10.0.0.1", "[::1]:80, fd00::1", "unknown", ",,", "1.2.3.4:70000",
		"::ffff:10.0.0.1", "[", "]:", "1.2.3.4:_x",
	} {
		f.Add(s)
	}
	far := netip.MustParseAddrPort("203.0.113.9:1")
	f.Fuzz(func(t *testing.T, value string) {
		req, ok := request("X-Forwarded-For", value)
		if !ok {
			return
		}
		own := filter(t, Config{Trust: []string{"127.0.0.1", "10.0.0.0/8"}})
		want := near
		items := strings.Split(string(req.Fields[1].Value), ",")
		for _, item := range slices.Backward(items) {
			if item = strings.Trim(item, " \t"); item == "" {
				continue
			}
			at, ok := parseAddr([]byte(item))
			if !ok {
				break
			}
			if want = at; !at.Addr().IsLoopback() && !strings.HasPrefix(at.Addr().String(), "10.") ||
				at.Addr().Is6() {
				break
			}
			if at.Addr().IsLoopback() && at.Addr().String() != "127.0.0.1" {
				break
			}
		}
		if got := own.Apply(req, near).Client; got != want {
			t.Fatalf("X-Forwarded-For %q: %v; want %v", value, got, want)
		}
		req, _ = request("X-Forwarded-For", value)
		if got := own.Apply(req, far); got.Client != far || len(req.Fields) != 1 {
			t.Fatalf("X-Forwarded-For %q of a stranger: %+v, %d fields", value, got, len(req.Fields))
		}
	})
}

// An address in, the same address out; an element never says what it does not
// have in it.
func FuzzForwarded(f *testing.F) {
	for _, s := range []string{
		"for=1.2.3.4", `for="[::1]:80";proto=https`, `for="a,b";host="x\"y", for=1.1.1.1`,
		`"`, `for="\`, ";;,;", `host="a\,b"`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		req, ok := request("Forwarded", value)
		if !ok {
			return
		}
		own := filter(t, Config{Believe: RFC7239 | For | Proto | Host, Trust: []string{"127.0.0.1"}})
		r := own.Apply(req, near)
		if r.Client != near && !strings.Contains(strings.ToLower(value), "for=") {
			t.Fatalf("Forwarded %q: client %v out of nothing", value, r.Client)
		}
		if r.Host != nil && !wire.ValidHost(r.Host) {
			t.Fatalf("Forwarded %q: host %q", value, r.Host)
		}
		if evil, ok := request("Forwarded", value+", for=1.2.3.4;proto=https"); ok {
			if r := own.Apply(evil, near); r.Client.Addr().String() != "1.2.3.4" || r.Scheme != "https" {
				t.Fatalf("Forwarded %q before the proxy's own: %+v", value, r)
			}
		}
	})
}
