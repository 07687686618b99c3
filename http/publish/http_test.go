// SPDX-License-Identifier: MIT

package publish

import (
	"net/netip"
	"testing"
	"time"

	"m0serve.dev/http/wire"
)

func TestAcceptsJSON(t *testing.T) {
	for _, c := range []struct {
		accept   string
		json, ok bool
	}{
		{"", false, true}, {"*/*", false, true}, {"application/json", true, true},
		{"Application/JSON; charset=utf-8", true, true}, {"text/plain", false, true},
		{"application/json, */*", true, true}, {"*/*, application/json", true, true},
		{"application/*, text/*", false, true}, {"application/*", true, true},
		{"text/plain, application/json", false, true},
		{"text/plain;q=0.5, application/json;q=0.9", true, true},
		{"application/json;q=0.1, */*;q=0.5", false, true},
		{"application/json;q=0, text/html", false, false}, {"image/png", false, false},
		{"*/*;q=0", false, false}, {"application/json;q=x", false, false},
		{"application/json;q=0, */*", false, true},
	} {
		req := &wire.Request{Fields: []wire.Field{{Name: []byte("Accept"), Value: []byte(c.accept)}}}
		if json, ok := acceptsJSON(req); json != c.json || ok != c.ok {
			t.Errorf("acceptsJSON(%q) = %v, %v; want %v, %v", c.accept, json, ok, c.json, c.ok)
		}
	}
}

func TestIsLocal(t *testing.T) {
	own := netip.MustParseAddr("10.0.0.2")
	for peer, want := range map[string]bool{
		"127.0.0.1:1": true, "127.9.9.9:1": true, "[::1]:1": true, "[::ffff:127.0.0.1]:1": true,
		"10.0.0.1:1": false, "[::ffff:10.0.0.1]:1": false, "[fe80::1%eth0]:1": false, "0.0.0.0:1": false,
		"10.0.0.2:1": true, "[::ffff:10.0.0.2]:1": true,
	} {
		if got := isLocal(netip.MustParseAddrPort(peer), own); got != want {
			t.Errorf("isLocal(%s) = %v, want %v", peer, got, want)
		}
	}
	if !isLocal(netip.AddrPort{}, own) {
		t.Error("isLocal of a unix socket = false, want true")
	}
}

// FuzzAuthorize: whatever is sent, nobody is believed who has not the key.
func FuzzAuthorize(f *testing.F) {
	d := NewHTTP(HTTPConfig{Key: []byte("0123456789abcdef0123456789abcdef"), Issuer: "m0"})
	d.now = func() time.Time { return time.Unix(0, 0) }
	for _, s := range []string{
		"", "Basic", "Basic bTA6", "Basic b'bTA6a2V5'", "Basic b'", "Bearer a.b.c", "Bearer base64:",
		"Bearer eyJhbGciOiJub25lIn0.eyJleHAiOjl9.", "Bearer eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9..",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, field string) {
		if d.authorize(field) == nil {
			t.Errorf("authorize(%q) = nil", field)
		}
	})
}
