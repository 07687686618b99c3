// SPDX-License-Identifier: MIT

// Package ui holds the stylesheet that the pages of all applications share:
// one set of colours, sizes and parts, light and dark, phone and desktop.
package ui

import (
	_ "embed"
	"net/http"

	"m0serve.dev/apps/internal/answer"
)

// Path is where Stylesheet has to be served.
const Path = "/ui.css"

// Policy lets a page load its own files and talk to its own server, and nothing else.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
	"img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

//go:embed ui.css
var css []byte

// Stylesheet serves the stylesheet.
func Stylesheet() http.Handler { return answer.File("text/css; charset=utf-8", css) }
