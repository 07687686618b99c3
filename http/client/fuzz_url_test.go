// SPDX-License-Identifier: MIT

package client

import (
	"net"
	"net/url"
	"strings"
	"testing"

	"m0serve.dev/http/wire"
)

// FuzzParseURL compares with net/url: what both take leads to the same host, port and
// target. Reviewed differences: a host that is none, such as "]" or one with a name
// before "@", is refused later, before the first connection to it (ErrURL of the pool).
func FuzzParseURL(f *testing.F) {
	for _, s := range []string{
		"http://a", "HTTPS://A.b:443/x?y#z", "http://[::1]:8080?q", "http://a:80:", "http://:1/",
		"http://u@a/", "http:///a", "ftp://a", "http://a#/b", "http://a?b/c#d", "http://[::1%25x]/",
		"http://a:/b", "https://a:80/", "http://a%41/",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		to, err := parseURL(s)
		std, stdErr := url.Parse(s)
		if stdErr != nil || std.Opaque != "" {
			return
		}
		isHTTP := std.Scheme == "http" || std.Scheme == "https"
		if err != nil {
			if isHTTP && std.Hostname() != "" && std.User == nil {
				t.Fatalf("parseURL(%q) = %v; net/url finds the host %q", s, err, std.Host)
			}
			return
		}
		if !isHTTP {
			t.Fatalf("parseURL(%q) takes the scheme %q", s, std.Scheme)
		}
		if !wire.ValidHost([]byte(to.key.host)) || strings.Contains(to.key.host, "%") {
			return
		}
		port := std.Port()
		if port == "" {
			port = map[string]string{"http": "80", "https": "443"}[std.Scheme]
		}
		addr, name := to.key.address()
		host, gotPort, err := net.SplitHostPort(addr)
		if err != nil || !strings.EqualFold(host, std.Hostname()) || gotPort != port {
			t.Fatalf("parseURL(%q) dials %q (%v), name %q; want %s and port %s", s, addr, err, name,
				std.Hostname(), port)
		}
		wantPath, _, _ := strings.Cut(s[strings.Index(s, "//")+2:], "#")
		if i := strings.IndexAny(wantPath, "/?"); i >= 0 {
			wantPath = wantPath[i:]
		} else {
			wantPath = ""
		}
		if to.path != wantPath || to.key.tls != (std.Scheme == "https") {
			t.Fatalf("parseURL(%q) = %q, tls %v; want the target %q", s, to.path, to.key.tls, wantPath)
		}
	})
}
