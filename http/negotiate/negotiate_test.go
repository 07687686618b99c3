// SPDX-License-Identifier: MIT

package negotiate_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"m0serve.dev/http/internal/both"
	"m0serve.dev/http/negotiate"
)

// ofTheRFC is the example of RFC 9110 section 12.5.1.
const ofTheRFC = "text/*;q=0.3, text/plain;q=0.7, text/plain;format=flowed, " +
	"text/plain;format=fixed;q=0.4, */*;q=0.5"

func TestBest(t *testing.T) {
	two := []string{"text/html", "application/json"}
	for _, c := range []struct {
		accept string // lines, joined by |; "-" is no field at all
		offers []string
		want   string // "" is none
	}{
		{"-", two, "application/json"},
		{"", two, "application/json"},
		{" , ,", two, "application/json"},
		{"*/*", two, "application/json"},
		{"*/*;q=0.1", two, "application/json"},
		{"text/html, */*", two, "text/html"},
		{"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", two, "text/html"},
		{"application/json, text/html", two, "text/html"},
		{"application/json, text/html;q=0.9", two, "application/json"},
		{"application/json|text/html;q=0.9", two, "application/json"},
		{"text/*", two, "text/html"},
		{"text/*;q=0.5, */*;q=0.4", two, "text/html"},
		{"text/*;q=0.3, text/html;q=0", two, ""},
		{"*/*, application/json;q=0", two, "text/html"},
		{"*/*, text/html;q=0.5", two, "application/json"},
		{"application/json;q=0", two, ""},
		{"image/png", two, ""},
		{"TEXT/HTML", two, "text/html"},
		{"text/html ; Q=0.2 , application/json\t;\tq=0.3", two, "application/json"},
		{"*/*", []string{"text/plain", "text/html"}, "text/plain"},
		{"-", []string{"text/plain", "text/html"}, "text/plain"},
		// Parameters.
		{"application/json; charset=utf-8", two, "application/json"},
		{`application/json; charset="UTF-8"; q=1`, two, "application/json"},
		{"application/json; charset=latin1", two, ""},
		{"text/html;level=1", two, ""},
		{"text/html;level=1, text/html;q=0.2", []string{"text/html", "text/html;level=1"},
			"text/html;level=1"},
		{"text/html;level=1;q=0.1, text/html", []string{"text/html;level=1", "text/html"}, "text/html"},
		{`text/html;level="1"`, []string{"text/html; level=1"}, "text/html; level=1"},
		{`text/html;a="x,y;q=0";b=2`, []string{`text/html;b=2;a="x,y;q=0"`}, `text/html;b=2;a="x,y;q=0"`},
		{`text/html;a="\",text/plain", application/json;q=0.5`, two, "application/json"},
		{"text/html;q=0.4;level=1", []string{"text/html;level=1", "text/plain"}, "text/html;level=1"},
		{ofTheRFC,
			[]string{"text/plain;format=fixed", "image/jpeg", "text/html", "text/plain"}, "text/plain"},
		{ofTheRFC,
			[]string{"text/plain;format=fixed", "image/jpeg", "text/html"}, "image/jpeg"},
		// What cannot be read.
		{"html", two, "application/json"},
		{"*/html, text/*html*, text/", two, "application/json"},
		{"text/html;q=1.5, application/json;q=0.1", two, "application/json"},
		{"text/html;q=x", two, ""},
		{"text/html;q=0.1234, */*;q=0.001", two, "application/json"},
		{"text/html;q=-1", two, ""},
		{"text/html;q=1.001", two, ""},
		{`"text/html`, two, "application/json"},
	} {
		var accept []string
		if c.accept != "-" {
			accept = strings.Split(c.accept, "|")
		}
		got, ok := negotiate.NewTypes(c.offers...).Best(accept)
		if !ok {
			got = ""
		}
		if got != c.want {
			t.Errorf("Best(%q) of %q = %q; want %q", c.accept, c.offers, got, c.want)
		}
	}
}

func TestNewTypesRefuses(t *testing.T) {
	for _, offers := range [][]string{
		{}, {"html"}, {"*/*"}, {"text/*"}, {"/"}, {"text/"}, {"te xt/html"}, make([]string, 17),
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("NewTypes(%q) does not panic", offers)
				}
			}()
			negotiate.NewTypes(offers...)
		}()
	}
}

func TestChoose(t *testing.T) {
	kinds := negotiate.NewTypes("application/json", "text/html")
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Vary", "Origin, accept-language")
		kind, ok := kinds.Choose(w, r)
		kinds.Choose(w, r.Clone(r.Context()))
		if ok {
			w.Header().Set("Content-Type", kind)
			fmt.Fprint(w, kind)
		}
	})
	h2 := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if kind, ok := kinds.Choose(w, r); ok {
			fmt.Fprint(w, kind)
		}
	})
	handler := func() http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/vary" {
				h(w, r)
				return
			}
			h2(w, r)
		})
	}
	both.Serve(t, handler, func(t *testing.T, url string) {
		for _, c := range []struct {
			path, accept string
			status       int
			vary         string
		}{
			{"/", "text/html", 200, "Accept"},
			{"/", "", 200, "Accept"},
			{"/", "image/png", 406, "Accept"},
			{"/vary", "text/html", 200, "Origin, accept-language, Accept"},
		} {
			res, body := both.Ask(t, "GET", url+c.path, "Accept: "+c.accept)
			if res.StatusCode != c.status || strings.Join(res.Header["Vary"], "|") != c.vary {
				t.Errorf("GET %s with Accept %q = %d, Vary %q; want %d, %q",
					c.path, c.accept, res.StatusCode, res.Header["Vary"], c.status, c.vary)
			}
			if c.status == 406 {
				var problem struct{ Available []string }
				err := json.Unmarshal([]byte(body), &problem)
				if err != nil || len(problem.Available) != 2 ||
					res.Header.Get("Content-Type") != "application/problem+json" {
					t.Errorf("406 = %s %v; want a problem document with what is available", body, res.Header)
				}
			}
		}
	})
}

func TestEncoding(t *testing.T) {
	for _, c := range []struct {
		accept, want string
		ok           bool
	}{
		{"", "", true},
		{"gzip", "gzip", true},
		{"x-gzip", "gzip", true},
		{"gzip, zstd", "zstd", true},
		{"gzip, zstd;q=0.5", "gzip", true},
		{"br;q=0", "", true},
		{"*", "zstd", true},
		{"*;q=0.1, zstd;q=0", "gzip", true},
		{"gzip;q=0.5, identity", "", true},
		{"gzip;q=0.5, identity;q=0.5", "gzip", true},
		{"identity;q=0", "", false},
		{"*;q=0", "", false},
		{"*;q=0, identity", "", true},
		{"deflate", "", true},
		{"GZIP;q=1.0", "gzip", true},
		{"gzip;q=2", "", true},
	} {
		got, ok := negotiate.Encoding([]string{c.accept}, "zstd", "gzip")
		if got != c.want || ok != c.ok {
			t.Errorf("Encoding(%q) = %q, %v; want %q, %v", c.accept, got, ok, c.want, c.ok)
		}
	}
}

func TestLanguage(t *testing.T) {
	for accept, want := range map[string]string{
		"":                         "en",
		"fr":                       "fr",
		"fr-CA":                    "fr",
		"de":                       "de-CH",
		"de-AT, fr;q=0.1":          "fr",
		"de-CH-1996":               "de-CH",
		"es, *;q=0.5":              "en",
		"en;q=0, *":                "fr",
		"en;q=0.2, fr;q=0.3":       "fr",
		"FR":                       "fr",
		"f":                        "en",
		"de, de-CH;q=0, en;q=0.1":  "en",
		"da, en-gb;q=0.8, en;q=.7": "en",
	} {
		if got := negotiate.Language([]string{accept}, "en", "fr", "de-CH"); got != want {
			t.Errorf("Language(%q) = %q; want %q", accept, got, want)
		}
	}
	if got := negotiate.Language([]string{"en"}); got != "" {
		t.Errorf("Language of nothing = %q; want none", got)
	}
}

func TestNoAllocation(t *testing.T) {
	kinds := negotiate.NewTypes("application/json", "text/html;level=1")
	accept := []string{`text/html;level=1;q=0.4, application/*;q=0.3, */*;q=0.1`, "image/png"}
	if n := testing.AllocsPerRun(100, func() { kinds.Best(accept) }); n != 0 {
		t.Errorf("Best allocates %v times; want 0", n)
	}
	if n := testing.AllocsPerRun(100, func() { negotiate.Encoding(accept, "zstd", "gzip") }); n != 0 {
		t.Errorf("Encoding allocates %v times; want 0", n)
	}
	if n := testing.AllocsPerRun(100, func() { negotiate.Language(accept, "en", "de") }); n != 0 {
		t.Errorf("Language allocates %v times; want 0", n)
	}
}

func BenchmarkBest(b *testing.B) {
	kinds := negotiate.NewTypes("application/json", "text/html")
	accept := []string{"text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"}
	b.ReportAllocs()
	for b.Loop() {
		kinds.Best(accept)
	}
}
