// SPDX-License-Identifier: MIT

// Package ui holds the stylesheet that the pages of all applications share:
// one set of colours, sizes and parts, light and dark, phone and desktop.
package ui

import (
	"crypto/sha256"
	_ "embed"
	"fmt"
	"net/http"
)

// Path is where Stylesheet has to be served.
const Path = "/ui.css"

//go:embed ui.css
var css []byte

// Stylesheet serves the stylesheet; a browser asks again only when it changed.
func Stylesheet() http.Handler {
	etag := fmt.Sprintf(`"%.8x"`, sha256.Sum256(css))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Etag", etag)
		h.Set("Cache-Control", "no-cache")
		if r.Header.Get("If-None-Match") == etag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		h.Set("Content-Type", "text/css; charset=utf-8")
		_, _ = w.Write(css)
	})
}
