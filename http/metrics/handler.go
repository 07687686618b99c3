// SPDX-License-Identifier: MIT

package metrics

import (
	"net/http"
	"strconv"
	"strings"
)

// Handler answers GET and HEAD with the figures of r, whatever the path is. They
// are nobody's business outside: serve them on an address of their own, or behind
// a name and a password.
func Handler(r *Registry) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		Answer(w, req, r.Append)
	})
}

// Answer answers GET and HEAD with what figures appends in the format that the
// client asked for, and everything else with 405.
func Answer(w http.ResponseWriter, r *http.Request, figures func(dst []byte, kind string) []byte) {
	h := w.Header()
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
		return
	}
	kind := Negotiate(strings.Join(r.Header["Accept"], ","))
	body := figures(nil, kind)
	h.Set("Content-Type", kind)
	h.Set("Cache-Control", "no-store")
	h.Set("Vary", "Accept")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // the peer may be gone
}

// Negotiate chooses the format by an Accept field. OpenMetrics has to be asked
// for by name, as version 1.0.0 or none: a browser wants plain text. Parameters
// that a scraper adds, such as escaping, take nothing away.
func Negotiate(accept string) string {
	var open, plain float64
	for item := range strings.SplitSeq(accept, ",") {
		name, params, _ := strings.Cut(item, ";")
		q, version := 1.0, ""
		for p := range strings.SplitSeq(params, ";") {
			key, value, _ := strings.Cut(strings.TrimSpace(p), "=")
			switch strings.ToLower(key) {
			case "q":
				q, _ = strconv.ParseFloat(value, 64) // 0 is a word, too
			case "version":
				version = strings.Trim(value, `"`)
			}
		}
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "application/openmetrics-text":
			if version == "" || version == "1.0.0" {
				open = max(open, q)
			}
		case "text/plain", "text/*", "*/*":
			plain = max(plain, q)
		}
	}
	if open > 0 && open >= plain {
		return OpenMetrics
	}
	return Plain
}
