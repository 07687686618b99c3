// SPDX-License-Identifier: MIT

// Package client says where a page gets the Datastar client from: the pinned
// release on a content network with its hash, or what M0_DATASTAR_JS names.
package client

import (
	"fmt"
	"html/template"
	"net/http"
	"os"
	"strings"
)

const (
	// Path is where a client taken from a file is served.
	Path = "/datastar.js"

	pinnedURL = "https://cdn.jsdelivr.net/gh/starfederation/datastar@v1.0.2/bundles/datastar.js"
	pinnedSRI = "sha256-KDfYes9u4LqOTmN2WSbCWpjWOIOwL4i+GUqGuB0/0ko="
)

// A Client is the script that a page loads. It never changes once made.
type Client struct {
	// Tag is the script element for the page's head.
	Tag template.HTML
	// Origin is the source that a Content-Security-Policy has to allow.
	Origin string
	script []byte // of a file; nil when the browser fetches it elsewhere
}

// New makes the Client that setting (M0_DATASTAR_JS) asks for: "" is the pinned
// release, a value with a scheme is a URL, anything else names a file, which is
// read now, so that a wrong name is found before the first page is served.
func New(setting string) (*Client, error) {
	switch {
	case setting == "":
		return &Client{Tag: tag(pinnedURL, pinnedSRI), Origin: originOf(pinnedURL)}, nil
	case strings.HasPrefix(setting, "https://"), strings.HasPrefix(setting, "http://"):
		return &Client{Tag: tag(setting, ""), Origin: originOf(setting)}, nil
	}
	script, err := os.ReadFile(setting)
	if err != nil {
		return nil, fmt.Errorf("client: M0_DATASTAR_JS=%q is neither a URL nor a file that can be"+
			" read; unset it to use the pinned release: %w", setting, err)
	}
	return &Client{Tag: tag(Path, ""), Origin: "'self'", script: script}, nil
}

func tag(url, integrity string) template.HTML {
	attrs := ""
	if integrity != "" {
		attrs = ` integrity="` + integrity + `" crossorigin="anonymous"`
	}
	// url is ours or the operator's; it is escaped all the same.
	return template.HTML(`<script type="module" src="` + template.HTMLEscapeString(url) + `"` +
		attrs + `></script>`)
}

// originOf keeps the scheme and the host of an absolute URL.
func originOf(url string) string {
	scheme, rest, _ := strings.Cut(url, "://")
	host, _, _ := strings.Cut(rest, "/")
	return scheme + "://" + host
}

// ServeHTTP serves the script of a file, and 404 when there is none.
func (c *Client) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if c.script == nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	_, _ = w.Write(c.script)
}

// Policy is a Content-Security-Policy for a page of ours that loads the client:
// Datastar compiles expressions, hence unsafe-eval.
func (c *Client) Policy() string {
	return "default-src 'none'; connect-src 'self'; img-src 'self' data:; style-src 'self'; " +
		"script-src 'unsafe-eval' " + c.Origin + "; base-uri 'none'; form-action 'self'; " +
		"frame-ancestors 'none'"
}
