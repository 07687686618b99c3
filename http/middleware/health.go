// SPDX-License-Identifier: MIT

package middleware

import (
	"context"
	"net/http"
	"time"
)

// Health says where a process answers for itself. The zero value serves
// /health/live and /health/ready.
type Health struct {
	LivePath  string                      // "" is /health/live; "-" serves none
	ReadyPath string                      // "" is /health/ready; "-" serves none
	Ready     func(context.Context) error // nil: ready whenever it is alive
	Timeout   time.Duration               // bound on Ready; 0 is 2 s
}

// Wrap adds the health paths to next. They never shadow the application: a
// path that next serves itself (anything but 404) keeps its own answer
// (contract row H13a). Live is 200 while the process can answer at all; ready
// is 503 with the reason as a problem document when Ready reports an error.
func (h Health) Wrap(next http.Handler) http.Handler {
	live, ready := orDefault(h.LivePath, "/health/live"), orDefault(h.ReadyPath, "/health/ready")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		probe := r.Method == http.MethodGet || r.Method == http.MethodHead
		if !probe || r.URL.Path != live && r.URL.Path != ready {
			next.ServeHTTP(w, r)
			return
		}
		unserved := &notFoundFilter{ResponseWriter: w}
		next.ServeHTTP(unserved, r)
		if !unserved.dropped {
			return
		}
		clear(w.Header())
		h.answer(w, r, r.URL.Path == ready)
	})
}

func orDefault(path, fallback string) string {
	if path == "" {
		return fallback
	}
	return path
}

func (h Health) answer(w http.ResponseWriter, r *http.Request, ready bool) {
	w.Header().Set("Cache-Control", "no-store")
	if ready && h.Ready != nil {
		timeout := h.Timeout
		if timeout == 0 {
			timeout = 2 * time.Second
		}
		ctx, cancel := context.WithTimeout(r.Context(), timeout)
		defer cancel()
		if err := h.Ready(ctx); err != nil {
			WriteProblem(w, r, Problem{Status: http.StatusServiceUnavailable, Detail: err.Error()})
			return
		}
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte("ok\n"))
}

// A notFoundFilter lets every answer through but a 404, which it swallows.
type notFoundFilter struct {
	http.ResponseWriter
	dropped bool
	begun   bool
}

// Unwrap lets http.ResponseController through until a 404 was swallowed.
func (f *notFoundFilter) Unwrap() http.ResponseWriter { return f.ResponseWriter }

func (f *notFoundFilter) WriteHeader(status int) {
	if status == http.StatusNotFound && !f.begun {
		f.dropped = true
	}
	f.begun = f.begun || status >= 200
	if !f.dropped {
		f.ResponseWriter.WriteHeader(status)
	}
}

func (f *notFoundFilter) Write(b []byte) (int, error) {
	f.begun = true
	if f.dropped {
		return len(b), nil
	}
	return f.ResponseWriter.Write(b)
}
