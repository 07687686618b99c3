// SPDX-License-Identifier: MIT

package wire

import (
	"bufio"
	"bytes"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// FuzzEncode: whatever is put into a response, it is one response of those fields for
// net/http and for us, or it is refused and nothing is written.
func FuzzEncode(f *testing.F) {
	f.Add(200, "OK", "X-A", "b")
	f.Add(404, "Nö", "Set-Cookie", "a=b\r\nX: y")
	f.Add(999, "", "X-A", " a\t")
	f.Add(200, "a\nb", "A b", "\x00")
	f.Add(99, "x", "", "\x7f")
	f.Add(1000, "x", "X:", "y")
	f.Add(299, " x ", "\xc3\xa9", "\xff")
	f.Fuzz(func(t *testing.T, status int, reason, name, value string) {
		const before = "before"
		out, err := AppendStatusReason([]byte(before), status, reason)
		if err == nil {
			out, err = AppendField(out, name, value)
			if err != nil && !bytes.HasSuffix(out, []byte(reason+"\r\n")) {
				t.Fatalf("AppendField(%q, %q) = %v, and wrote %q", name, value, err, out)
			}
		} else if string(out) != before {
			t.Fatalf("AppendStatusReason(%d, %q) = %v, and wrote %q", status, reason, err, out)
		}
		if err != nil || status < 200 || status == 204 || status == 304 || isMeant(name) {
			return
		}
		out = append(out[len(before):], "Content-Length: 4\r\n\r\nbody"...)
		res, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(out)), nil)
		if err != nil {
			t.Fatalf("net/http reads %q: %v", out, err)
		}
		got := res.Header.Values(name)
		if name != http.CanonicalHeaderKey(name) {
			got = append(got, res.Header[name]...)
		}
		if res.StatusCode != status || res.ContentLength != 4 || len(res.Header) != 2 ||
			len(got) == 0 || got[0] != strings.Trim(value, " \t") {
			t.Fatalf("%q is %d with %q for net/http", out, res.StatusCode, res.Header)
		}
	})
}

// isMeant reports whether a field means something to the reader of a message, or is
// the one that the test adds.
func isMeant(name string) bool {
	switch strings.ToLower(name) {
	case "content-length", "transfer-encoding", "connection", "trailer":
		return true
	}
	return false
}

// FuzzValidHost: what is taken for a host is one for net/url. Reviewed difference: of an
// address in brackets only the shape is checked, and net/url wants one that is whole.
func FuzzValidHost(f *testing.F) {
	for _, s := range []string{"a", "a:1", "[::1]:80", "a:65536", "a:", "%41", "a%", "[::1", "[1]",
		"a b", "u@a", "a,b", "[:::::]", "1.2.3.4",
		"ä", "a:b", "[::ffff:1.2.3.4]", "a/b", "-", "_", "a\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, host string) {
		if !ValidHost([]byte(host)) || host == "" {
			return
		}
		u, err := url.Parse("http://" + host + "/p?q")
		if strings.HasPrefix(host, "[") && err != nil {
			return
		}
		if err != nil && strings.Contains(host, "%") {
			return // net/url decodes a host and refuses what is not its own ASCII
		}
		if err != nil || u.User != nil || u.Path != "/p" || u.RawQuery != "q" ||
			!strings.Contains(host, "%") && u.Host != host {
			t.Fatalf("ValidHost(%q) = true; net/url has %v, %v", host, u, err)
		}
	})
}
