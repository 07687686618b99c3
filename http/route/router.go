// SPDX-License-Identifier: MIT

package route

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"m0serve.dev/http/middleware"
)

// A Router is a table of routes. Fill it before it serves; New makes one.
type Router struct {
	root    node
	shapes  map[string]string   // method and shape → pattern that holds them
	names   map[string]*pattern // named routes
	missing http.Handler        // answers 404
}

// New returns an empty Router, which answers 404 to everything.
func New() *Router {
	return &Router{
		shapes: make(map[string]string),
		names:  make(map[string]*pattern),
		missing: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			middleware.WriteProblem(w, r, middleware.Problem{Status: http.StatusNotFound})
		}),
	}
}

// Handle serves the pattern with h. It panics when the pattern cannot be
// understood or says the same as an earlier one.
func (rt *Router) Handle(pat string, h http.Handler) *Route {
	p, err := parsePattern(pat)
	if err != nil {
		panic(fmt.Sprintf("route: pattern %q: %v", pat, err))
	}
	if h == nil {
		panic(fmt.Sprintf("route: pattern %q: nil handler", pat))
	}
	key := p.method + " " + p.shape()
	if earlier, ok := rt.shapes[key]; ok {
		panic(fmt.Sprintf("route: pattern %q says the same as %q", pat, earlier))
	}
	rt.shapes[key] = pat
	rt.root.insert(p.parts, &endpoint{
		method: p.method, pattern: pat, names: p.names(), handler: h,
	})
	return &Route{router: rt, pattern: p}
}

// HandleFunc serves the pattern with f; see Handle.
func (rt *Router) HandleFunc(pat string, f http.HandlerFunc) *Route { return rt.Handle(pat, f) }

// NotFound has h answer the requests that no pattern fits.
func (rt *Router) NotFound(h http.Handler) { rt.missing = h }

// Mount hands everything at prefix and below to h, with the prefix taken off
// the path: h sees "/" for the prefix itself. A Router mounted so keeps its own
// 404, 405 and OPTIONS.
func (rt *Router) Mount(prefix string, h http.Handler) {
	prefix = strings.TrimSuffix(prefix, "/")
	if prefix == "" || strings.ContainsAny(prefix, " :*{}") {
		panic(fmt.Sprintf("route: mount %q: the prefix has to be plain text such as /admin", prefix))
	}
	inner := stripped(prefix, h)
	rt.Handle(prefix, inner)
	rt.Handle(prefix+"/*rest", inner)
}

func stripped(prefix string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		inner := *r
		u := *r.URL
		inner.URL = &u
		u.Path = below(prefix, u.Path)
		if u.RawPath != "" {
			u.RawPath = below(prefix, u.RawPath)
		}
		h.ServeHTTP(w, &inner)
		if inner.Pattern != r.Pattern {
			r.Pattern = mountedPattern(prefix, inner.Pattern)
		}
	})
}

// mountedPattern is an inner pattern as seen from outside its mount.
func mountedPattern(prefix, pat string) string {
	if method, path, ok := strings.Cut(pat, " "); ok {
		return method + " " + prefix + path
	}
	return prefix + pat
}

// below takes prefix off path. Where the prefix was written with escapes the
// two spellings have different lengths, so segments are counted instead.
func below(prefix, path string) string {
	for range strings.Count(prefix, "/") {
		next := strings.IndexByte(path[1:], '/')
		if next < 0 {
			return "/"
		}
		path = path[1+next:]
	}
	return path
}

// ServeHTTP finds the handler of r and runs it. The handler reads the named
// parts with r.PathValue, and r.Pattern is the pattern that fit.
func (rt *Router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "*" && r.Method == http.MethodOptions {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	m := match{method: r.Method}
	path, escaped := r.URL.Path, r.URL.RawPath != ""
	if escaped {
		path = r.URL.RawPath
	}
	e := m.find(&rt.root, path, 0)
	switch {
	case e != nil:
		if !setValues(r, e, &m, escaped) {
			rt.missing.ServeHTTP(w, r)
			return
		}
		r.Pattern = e.pattern
		e.handler.ServeHTTP(w, r)
	case m.others == nil:
		rt.missing.ServeHTTP(w, r)
	case r.Method == http.MethodOptions:
		w.Header().Set("Allow", m.allow())
		w.WriteHeader(http.StatusNoContent)
	default:
		w.Header().Set("Allow", m.allow())
		middleware.WriteProblem(w, r, middleware.Problem{
			Status: http.StatusMethodNotAllowed,
			Detail: "this path is served under " + m.allow(),
		})
	}
}

// setValues gives the request its path values; false when one is escaped
// wrongly, which the server refuses before it gets here.
func setValues(r *http.Request, e *endpoint, m *match, escaped bool) bool {
	for i, name := range e.names {
		v := m.values[i]
		if escaped {
			plain, err := url.PathUnescape(v)
			if err != nil {
				return false
			}
			v = plain
		}
		r.SetPathValue(name, v)
	}
	return true
}
