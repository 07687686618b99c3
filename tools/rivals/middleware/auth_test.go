// SPDX-License-Identifier: MIT

package middleware_test

import (
	"context"
	"net/http"
	"testing"

	chi "github.com/go-chi/chi/v5/middleware"
	"github.com/rs/cors"

	"m0serve.dev/http/middleware"
)

const realm = "restricted"

// BenchmarkAuth lets somebody in. chi has no Bearer, so its Basic is the rival of both.
// It tells the handler nothing of the user: "guard" compares that, "user" compares what
// an application does that wants to know.
func BenchmarkAuth(b *testing.B) {
	passwords := map[string]string{"ann": "correct horse battery", "joe": "other", "kim": "third"}
	tokens := map[string]string{
		"0123456789abcdef0123456789abcdef": "ann", "other": "joe", "third": "kim",
	}
	basic := newRequest(b, "GET", "/")
	basic.SetBasicAuth("ann", "correct horse battery")
	bearer := newRequest(b, "GET", "/", "Authorization", "Bearer 0123456789abcdef0123456789abcdef")
	for _, c := range []struct {
		name   string
		r      *http.Request
		scheme middleware.Scheme
	}{
		{"basic", basic, middleware.Basic(middleware.Passwords(passwords))},
		{"bearer", bearer, middleware.Bearer(middleware.Secrets(tokens))},
	} {
		ours := middleware.Auth{Schemes: []middleware.Scheme{c.scheme}}
		guard := ours
		guard.GuardOnly = true
		b.Run(c.name+"/guard", func(b *testing.B) {
			serve(b, c.r, http.StatusOK, side{"ours", must(b, guard.Wrap, done)})
			serve(b, basic, http.StatusOK, side{"chi", chi.BasicAuth(realm, passwords)(done)})
		})
		b.Run(c.name+"/user", func(b *testing.B) {
			serve(b, c.r, http.StatusOK, side{"ours", must(b, ours.Wrap, done)})
			serve(b, basic, http.StatusOK, side{"chi", chi.BasicAuth(realm, passwords)(withUser(done))})
		})
	}
}

type userKey struct{}

// withUser puts a user into the context, and does not even look who it is.
func withUser(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), userKey{}, "ann")))
	})
}

func BenchmarkRequestID(b *testing.B) {
	serve(b, newRequest(b, "GET", "/"), http.StatusOK,
		side{"ours", middleware.RequestID{}.Wrap(done)}, side{"chi", chi.RequestID(done)})
}

func BenchmarkCORS(b *testing.B) {
	origins := []string{"https://app.example.com", "https://admin.example.com"}
	ours := middleware.CORS{Origins: origins, Methods: []string{"PUT"}, Headers: []string{"X-Token"}}
	rival := cors.New(cors.Options{
		AllowedOrigins: origins, AllowedMethods: []string{"GET", "POST", "PUT"},
		AllowedHeaders: []string{"X-Token"},
	})
	sides := []side{{"ours", must(b, ours.Wrap, done)}, {"rs", rival.Handler(done)}}
	b.Run("none", func(b *testing.B) {
		serve(b, newRequest(b, "GET", "/"), http.StatusOK, sides...)
	})
	b.Run("simple", func(b *testing.B) {
		serve(b, newRequest(b, "GET", "/", "Origin", origins[0]), http.StatusOK, sides...)
	})
	b.Run("preflight", func(b *testing.B) {
		r := newRequest(b, "OPTIONS", "/", "Origin", origins[0],
			"Access-Control-Request-Method", "PUT", "Access-Control-Request-Headers", "x-token")
		serve(b, r, http.StatusNoContent, sides...)
	})
}
