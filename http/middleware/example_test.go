// SPDX-License-Identifier: MIT

package middleware_test

import (
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"testing"

	"m0serve.dev/http/internal/both"
	"m0serve.dev/http/middleware"
)

func hello(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "hello") }

func ExampleCORS() {
	h, err := middleware.CORS{
		Origins:     []string{"https://app.example", "https://*.preview.example"},
		Credentials: true,
		Methods:     []string{"PUT", "DELETE"},
	}.Wrap(http.HandlerFunc(hello))
	if err != nil {
		log.Fatal(err) // "*" with Credentials, say
	}
	r, w := httptest.NewRequest("GET", "/", nil), httptest.NewRecorder()
	r.Header.Set("Origin", "https://app.example")
	h.ServeHTTP(w, r)
	fmt.Println(w.Header().Get("Access-Control-Allow-Origin"), w.Header().Get("Vary"))
	// Output: https://app.example Origin
}

func ExampleAuth() {
	h, err := middleware.Auth{
		Realm: "notes",
		Schemes: []middleware.Scheme{
			middleware.Bearer(middleware.Secrets(map[string]string{"s3cret": "robot"})),
			middleware.Basic(middleware.Passwords(map[string]string{"ann": "pa55word"})),
		},
	}.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, _ := middleware.PrincipalOf(r.Context())
		fmt.Fprint(w, p.Name)
	}))
	if err != nil {
		log.Fatal(err)
	}
	r, w := httptest.NewRequest("GET", "/", nil), httptest.NewRecorder()
	r.SetBasicAuth("ann", "pa55word")
	h.ServeHTTP(w, r)
	fmt.Println(w.Code, w.Body)

	w = httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	fmt.Println(w.Code, w.Header()["Www-Authenticate"][0])
	// Output:
	// 200 ann
	// 401 Bearer realm="notes"
}

func ExampleRequestID() {
	h := middleware.RequestID{
		Trust: func(r *http.Request) bool { return r.RemoteAddr == "192.0.2.1:1234" }, // the proxy
	}.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, middleware.RequestIDOf(r.Context()))
	}))
	r, w := httptest.NewRequest("GET", "/", nil), httptest.NewRecorder()
	r.Header.Set("X-Request-Id", "of-the-proxy")
	h.ServeHTTP(w, r)
	fmt.Println(w.Body, w.Header().Get("X-Request-Id"))
	// Output: of-the-proxy of-the-proxy
}

// TestAllOnBothServers: the whole stack, over real connections.
func TestAllOnBothServers(t *testing.T) {
	handler := func() http.Handler {
		h, err := middleware.Auth{Schemes: []middleware.Scheme{
			middleware.Bearer(middleware.Secrets(map[string]string{"s3cret": "robot"})),
		}}.Wrap(http.HandlerFunc(hello))
		if err != nil {
			t.Fatal(err)
		}
		h, err = middleware.CORS{Origins: []string{"https://a.example"}, Credentials: true}.Wrap(h)
		if err != nil {
			t.Fatal(err)
		}
		return middleware.RequestID{}.Wrap(h)
	}
	both.Serve(t, handler, func(t *testing.T, url string) {
		ids := map[string]bool{}
		for i, c := range []struct {
			method, token string
			status        int
			body          string
		}{
			{"GET", "s3cret", 200, "hello"},
			{"GET", "", 401, ""},
			{"OPTIONS", "", 204, ""}, // a preflight has no credentials
		} {
			fields := []string{"Origin: https://a.example", "Access-Control-Request-Method: PUT"}
			if c.token != "" {
				fields = append(fields, "Authorization: Bearer "+c.token)
			}
			res, body := both.Ask(t, c.method, url, fields...)
			h := res.Header
			ids[h.Get("X-Request-Id")] = true
			if res.StatusCode != c.status || c.body != "" && body != c.body ||
				h.Get("Access-Control-Allow-Origin") != "https://a.example" ||
				h.Get("Vary") != "Origin" || len(ids) != i+1 {
				t.Errorf("%s with token %q = %d %q %v; want %d with its own id and the CORS fields",
					c.method, c.token, res.StatusCode, body, h, c.status)
			}
		}
	})
}
