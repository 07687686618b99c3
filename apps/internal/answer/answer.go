// SPDX-License-Identifier: MIT

// Package answer writes what the answers of all applications have in common:
// the worker that gave them, the headers of a page, and the files beside it.
package answer

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"strconv"
)

// WorkerField names the field that tells the index of the worker.
const WorkerField = "X-Worker"

// Named puts the worker's index on every answer of next.
func Named(index int, next http.Handler) http.Handler {
	value := strconv.Itoa(index)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(WorkerField, value)
		next.ServeHTTP(w, r)
	})
}

// Page writes a page that was rendered for this moment: it is kept nowhere, and
// loads and runs nothing but what policy, a Content-Security-Policy, allows.
func Page(w http.ResponseWriter, policy string, html []byte) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy)
	h.Set("Cache-Control", "no-store")
	_, _ = w.Write(html)
}

// File serves what is part of the program under one path; a browser asks again
// each time, and gets it only when it changed.
func File(contentType string, content []byte) http.Handler {
	etag := fmt.Sprintf(`"%.8x"`, sha256.Sum256(content))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Etag", etag)
		h.Set("Cache-Control", "no-cache")
		if r.Header.Get("If-None-Match") == etag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		h.Set("Content-Type", contentType)
		h.Set("X-Content-Type-Options", "nosniff")
		_, _ = w.Write(content)
	})
}
