// SPDX-License-Identifier: MIT

package etag

import (
	"net/http"

	"m0serve.dev/http/middleware"
)

// Passes evaluates If-Match and If-None-Match (RFC 9110 section 13.2.2) against
// the current tags of a resource, one for each of its representations; none: it
// does not exist. It reports whether the method goes on; otherwise it has
// answered, 304 to GET and HEAD and 412 to all others.
//
// For a read, set the tag first, and pass just the one of the representation
// that is meant:
//
//	w.Header().Set("ETag", tag)
//	if !etag.Passes(w, r, tag) {
//		return
//	}
//
// For a write, call it where the resource cannot change any more, under the
// lock that guards it. It asks nobody for a precondition: a write without one
// passes (see Stated).
func Passes(w http.ResponseWriter, r *http.Request, tags ...string) bool {
	if lines := r.Header["If-Match"]; len(lines) > 0 && !matchesAny(lines, tags, true) {
		middleware.WriteProblem(w, r, middleware.Problem{
			Status: http.StatusPreconditionFailed,
			Detail: "the resource is not in the version that If-Match names",
		})
		return false
	}
	lines := r.Header["If-None-Match"]
	switch {
	case len(lines) == 0 || !matchesAny(lines, tags, false):
		return true
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		NotModified(w)
	default:
		middleware.WriteProblem(w, r, middleware.Problem{
			Status: http.StatusPreconditionFailed,
			Detail: "the resource exists in a version that If-None-Match names",
		})
	}
	return false
}

// Stated reports whether a write states its precondition, by If-Match or
// If-None-Match, and answers 428 (RFC 6585 section 3) when it does not.
func Stated(w http.ResponseWriter, r *http.Request) bool {
	if len(r.Header["If-Match"]) > 0 || len(r.Header["If-None-Match"]) > 0 {
		return true
	}
	middleware.WriteProblem(w, r, middleware.Problem{
		Status: http.StatusPreconditionRequired,
		Detail: "say in If-Match which version is meant",
	})
	return false
}

// NotModified answers 304 with what the header has, except for the fields that
// describe a body (RFC 9110 section 15.4.5). Where there is a tag Last-Modified
// says nothing more.
func NotModified(w http.ResponseWriter) {
	h := w.Header()
	for _, name := range [...]string{
		"Content-Type", "Content-Length", "Content-Encoding", "Content-Language",
		"Content-Range", "Transfer-Encoding", "Trailer", "Accept-Ranges",
	} {
		delete(h, name)
	}
	if len(h["Etag"]) > 0 {
		delete(h, "Last-Modified")
	}
	w.WriteHeader(http.StatusNotModified)
}
