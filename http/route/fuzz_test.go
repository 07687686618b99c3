// SPDX-License-Identifier: MIT

package route

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// FuzzPattern: no pattern panics but with a sentence, and one that is taken is found by
// the address that is made of it, with the same values.
func FuzzPattern(f *testing.F) {
	for _, s := range []string{
		"/", "GET /a/:id", "/a/{id}/*rest", "POST /{a}/{b...}", "/a/{$}", "/:a/:a", "a/b", "GET  /x",
		"/{}", "/:", "/*a/b", "/a:b", "/{a", "\t/", "//:x//", "/%2F/:x", "/:x/:y/:z/",
	} {
		f.Add(s, "v w", "r/s")
	}
	f.Fuzz(func(t *testing.T, pat, value, rest string) {
		p, err := parsePattern(pat)
		if err != nil {
			return
		}
		var values []string
		rt := New()
		got := map[string]string{}
		rt.HandleFunc(pat, func(_ http.ResponseWriter, r *http.Request) {
			for _, name := range p.names() {
				got[name] = r.PathValue(name)
			}
			got["found"] = "yes"
		}).Name("it")
		for _, pt := range p.parts {
			switch pt.kind {
			case partParam:
				values = append(values, value)
			case partRest:
				values = append(values, rest)
			}
		}
		address, err := rt.URL("it", values...)
		if err != nil {
			return // a value that cannot stand there
		}
		method := p.method
		if method == "" {
			method = "GET"
		}
		r, err := http.NewRequest(method, "http://a"+address, nil)
		if err != nil || strings.Contains(pat, "%") || strings.ContainsAny(p.source, "?#") {
			return // text of a pattern is compared as it is written, and is no URL
		}
		rt.ServeHTTP(httptest.NewRecorder(), r)
		for _, pt := range p.parts {
			want := map[kind]string{partParam: value, partRest: rest}[pt.kind]
			if pt.kind != partText && got[pt.text] != want {
				t.Fatalf("%q at %q: %s = %q, want %q", pat, address, pt.text, got[pt.text], want)
			}
		}
		if got["found"] == "" {
			t.Fatalf("%q is not found at its own address %q", pat, address)
		}
	})
}
