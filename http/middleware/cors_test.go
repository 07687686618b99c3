// SPDX-License-Identifier: MIT

package middleware

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// call asks h; fields are "Name: value", joined by |.
func call(h http.Handler, method, target, fields string) *httptest.ResponseRecorder {
	r, w := httptest.NewRequest(method, target, nil), httptest.NewRecorder()
	for f := range strings.SplitSeq(fields, "|") {
		if name, value, ok := strings.Cut(f, ": "); ok {
			r.Header.Add(name, value)
		}
	}
	h.ServeHTTP(w, r)
	return w
}

// fieldsOf are the named fields that h has, in order.
func fieldsOf(h http.Header, prefix string) string {
	var out []string
	for _, name := range []string{
		"Access-Control-Allow-Origin", "Access-Control-Allow-Credentials", "Access-Control-Allow-Methods",
		"Access-Control-Allow-Headers", "Access-Control-Max-Age", "Access-Control-Allow-Private-Network",
		"Access-Control-Expose-Headers", "Vary",
	} {
		for _, v := range h[name] {
			out = append(out, strings.TrimPrefix(name, prefix)+"="+v)
		}
	}
	return strings.Join(out, " ")
}

func TestCORS(t *testing.T) {
	const preflight = "|Access-Control-Request-Method: PUT"
	listed := CORS{
		Origins:     []string{"https://a.example", "https://*.b.example:8443", "null"},
		Credentials: true, Methods: []string{"PUT", "DELETE"}, Headers: []string{"If-Match",
			"Authorization"},
		Expose: []string{"ETag"}, MaxAge: 10 * time.Minute, PrivateNetwork: true,
	}
	all := CORS{Origins: []string{"*"}, Headers: []string{"*"}}
	asked := CORS{Allow: func(o string, r *http.Request) bool {
		return o == "https://f.example" && r.URL.Path == "/f"
	}}
	const full = " Allow-Credentials=true Allow-Methods=PUT, DELETE " +
		"Allow-Headers=If-Match, Authorization Max-Age=600"
	const may, onlyVary = " Allow-Credentials=true Expose-Headers=ETag Vary=Origin", "Vary=Origin"
	for _, c := range []struct {
		cors            CORS
		request, fields string
		status          int
		want            string
	}{
		{listed, "GET /", "", 200, onlyVary},
		{listed, "OPTIONS /", "", 200, onlyVary},
		{listed, "GET /", "Origin: https://a.example", 200, "Allow-Origin=https://a.example" + may},
		{listed, "OPTIONS /", "Origin: https://a.example", 200, "Allow-Origin=https://a.example" + may},
		{listed, "GET /", "Origin: https://x.b.example:8443", 200, "Allow-Origin=https://x.b.example:8443" + may},
		{listed, "GET /", "Origin: https://x.y.b.example:8443", 200, "Allow-Origin=https://x.y.b.example:8443" + may},
		{listed, "GET /", "Origin: null", 200, "Allow-Origin=null" + may},
		// Neither of these is listed.
		{listed, "GET /", "Origin: https://b.example:8443", 200, onlyVary},
		{listed, "GET /", "Origin: https://.b.example:8443", 200, onlyVary},
		{listed, "GET /", "Origin: https://x.b.example", 200, onlyVary},
		{listed, "GET /", "Origin: http://x.b.example:8443", 200, onlyVary},
		{listed, "GET /", "Origin: https://evil.example/.b.example:8443", 200, onlyVary},
		{listed, "GET /", "Origin: https://evilb.example:8443", 200, onlyVary},
		{listed, "GET /", "Origin: https://a.example.evil.example", 200, onlyVary},
		{listed, "GET /", "Origin: https://A.example", 200, onlyVary},
		{listed, "GET /", "Origin: ", 200, onlyVary},
		{listed, "GET /", "Origin: https://a.example|Origin: https://a.example", 200, onlyVary},
		{listed, "OPTIONS /", "Origin: https://evil.example" + preflight, 403, onlyVary},
		{listed, "OPTIONS /", "Origin: https://a.example" + preflight, 204,
			"Allow-Origin=https://a.example" + full + " Vary=Origin"},
		{listed, "OPTIONS /", "Origin: https://a.example" + preflight + "|Access-Control-Request-Private-Network: true", 204,
			"Allow-Origin=https://a.example" + full + " Allow-Private-Network=true Vary=Origin"},
		{all, "GET /", "", 200, "Allow-Origin=*"},
		{all, "GET /", "Origin: https://a.example", 200, "Allow-Origin=*"},
		{all, "OPTIONS /",
			"Origin: null" + preflight + "|Access-Control-Request-Private-Network: true", 204,
			"Allow-Origin=* Allow-Headers=*"},
		{asked, "GET /f", "Origin: https://f.example", 200, "Allow-Origin=https://f.example Vary=Origin"},
		{asked, "GET /", "Origin: https://f.example", 200, onlyVary},
		{asked, "POST /f", "Origin: https://f.example" + preflight, 200, "Allow-Origin=https://f.example Vary=Origin"},
	} {
		h, err := c.cors.Wrap(http.HandlerFunc(func(w http.ResponseWriter,
			r *http.Request) {
			w.WriteHeader(200)
		}))
		if err != nil {
			t.Fatalf("%+v.Wrap: %v", c.cors, err)
		}
		method, target, _ := strings.Cut(c.request, " ")
		w := call(h, method, target, c.fields)
		if got := fieldsOf(w.Header(), "Access-Control-"); w.Code != c.status || got != c.want {
			t.Errorf("%s with %q = %d %s; want %d %s", c.request, c.fields, w.Code, got, c.status, c.want)
		}
	}
}

func TestCORSMergesVary(t *testing.T) {
	h, err := CORS{Origins: []string{"https://a.example"}}.Wrap(http.HandlerFunc(
		func(w http.ResponseWriter, _ *http.Request) { AddVary(w.Header(), "Accept", "origin") }))
	if err != nil {
		t.Fatal(err)
	}
	outer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Vary", "Cookie")
		h.ServeHTTP(w, r)
	})
	for range 2 {
		if got := call(outer, "GET", "/", "").Header()["Vary"]; len(got) != 1 ||
			got[0] != "Cookie, Origin, Accept" {
			t.Errorf("Vary = %q; want Cookie, Origin, Accept in one", got)
		}
		if got := call(h, "GET", "/", "").Header()["Vary"]; len(got) != 1 || got[0] != "Origin, Accept" {
			t.Errorf("Vary = %q; want Origin, Accept in one", got)
		}
	}
}

func TestCORSRefusesWhatContradictsItself(t *testing.T) {
	one := []string{"https://a.example"}
	for _, c := range []struct {
		cors CORS
		want string
	}{
		{CORS{Origins: []string{"*"}, Credentials: true}, "does not go with Credentials"},
		{CORS{Origins: one, Credentials: true, Headers: []string{"*"}}, "CORS.Headers"},
		{CORS{Origins: one, Credentials: true, Methods: []string{"*"}}, "CORS.Methods"},
		{CORS{Origins: one, Credentials: true, Expose: []string{"*"}}, "CORS.Expose"},
		{CORS{}, "no origin"},
		{CORS{Origins: []string{"*", "https://a.example"}}, "leaves nothing"},
		{CORS{Origins: []string{"a.example"}}, "no origin such as"},
		{CORS{Origins: []string{"https://a.example/"}}, "no origin such as"},
		{CORS{Origins: []string{"https://A.example"}}, "no origin such as"},
		{CORS{Origins: []string{"https://a*.example"}}, "no origin such as"},
		{CORS{Origins: []string{"https://*"}}, "no origin such as"},
		{CORS{Origins: []string{"https://*."}}, "no origin such as"},
		{CORS{Origins: []string{"*://a.example"}}, "no origin such as"},
		{CORS{Origins: []string{"https://*.example"}}, "top-level"},
		{CORS{Origins: []string{"https://a.example:443"}}, "leaves its port out"},
		{CORS{Origins: []string{"http://a.example:80"}}, "leaves its port out"},
		{CORS{Origins: one, Methods: []string{"P T"}}, "no name"},
		{CORS{Origins: one, Headers: []string{"A\r\nB"}}, "no name"},
		{CORS{Origins: one, MaxAge: -1}, "MaxAge"},
	} {
		_, err := c.cors.Wrap(http.NotFoundHandler())
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v.Wrap = %v; want an error with %q", c.cors, err, c.want)
		}
	}
}

// A still writer keeps nothing, so that its allocations are not counted.
type still struct{ h http.Header }

func (s *still) Header() http.Header         { return s.h }
func (s *still) Write(b []byte) (int, error) { return len(b), nil }
func (s *still) WriteHeader(int)             {}

// TestWhatDoesNotApplyCostsNothing: no allocation where there is nothing to do.
func TestWhatDoesNotApplyCostsNothing(t *testing.T) {
	next := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	one, err := CORS{Origins: []string{"https://a.example"}, Expose: []string{"ETag"}}.Wrap(next)
	if err != nil {
		t.Fatal(err)
	}
	optional, err := Auth{Schemes: []Scheme{Bearer(Secrets(map[string]string{"s": "n"}))},
		Optional: true}.Wrap(next)
	if err != nil {
		t.Fatal(err)
	}
	guarded, err := Auth{Schemes: []Scheme{Bearer(Secrets(map[string]string{"s": "n"}))},
		GuardOnly: true}.Wrap(next)
	if err != nil {
		t.Fatal(err)
	}
	shown := httptest.NewRequest("GET", "/", nil)
	shown.Header.Set("Authorization", "Bearer s")
	plain, page := httptest.NewRequest("GET", "/a?b=c", nil), httptest.NewRequest("GET", "/", nil)
	page.Header.Set("Origin", "https://a.example")
	for _, c := range []struct {
		name string
		h    http.Handler
		r    *http.Request
	}{
		{"CORS without an origin", one, plain}, {"CORS with one", one, page},
		{"Auth that is optional", optional, plain}, {"Auth that only guards", guarded, shown},
		{"Health of another path", Health{}.Wrap(next), plain},
	} {
		w := &still{http.Header{}}
		if n := testing.AllocsPerRun(100, func() { clear(w.h); c.h.ServeHTTP(w, c.r) }); n != 0 {
			t.Errorf("%s allocates %v times; want 0", c.name, n)
		}
	}
}
