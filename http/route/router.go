// SPDX-License-Identifier: MIT

package route

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"m0serve.dev/http/middleware"
)

// A Router is a table of routes. Fill it before it serves; New makes one.
type Router struct {
	trees   []*tree             // one a method, those of GET and HEAD first
	other   *tree               // of methods without one: endpoints for any method
	all     []*endpoint         // in order of registration
	shapes  map[string]string   // method and shape → pattern that holds them
	names   map[string]*pattern // named routes
	missing http.Handler        // answers 404
}

// New returns an empty Router, which answers 404 to everything.
func New() *Router {
	return &Router{
		trees:  []*tree{{method: http.MethodGet}, {method: http.MethodHead}},
		other:  &tree{},
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
	if h == nil {
		panic(fmt.Sprintf("route: pattern %q: nil handler", pat))
	}
	return rt.add(pat, &endpoint{handler: h})
}

// HandleFunc serves the pattern with f; see Handle.
func (rt *Router) HandleFunc(pat string, f http.HandlerFunc) *Route { return rt.Handle(pat, f) }

// HandleValues is Handle for a handler that takes the named parts as an argument:
// r.PathValue has them not, which spares the request a map of its own.
func (rt *Router) HandleValues(
	pat string, f func(http.ResponseWriter, *http.Request, Values),
) *Route {
	if f == nil {
		panic(fmt.Sprintf("route: pattern %q: nil handler", pat))
	}
	return rt.add(pat, &endpoint{values: f})
}

// add puts e, which has its handler, into the tables.
func (rt *Router) add(pat string, e *endpoint) *Route {
	p, err := parsePattern(pat)
	if err != nil {
		panic(fmt.Sprintf("route: pattern %q: %v", pat, err))
	}
	key := p.method + " " + p.shape()
	if earlier, ok := rt.shapes[key]; ok {
		panic(fmt.Sprintf("route: pattern %q says the same as %q", pat, earlier))
	}
	rt.shapes[key] = pat
	e.method, e.pattern, e.names, e.parts = p.method, pat, p.names(), p.parts
	if e.method != "" && rt.treeOf(e.method) == rt.other {
		t := &tree{method: e.method}
		for _, earlier := range rt.all {
			t.add(earlier)
		}
		rt.trees = append(rt.trees, t)
	}
	rt.all = append(rt.all, e)
	rt.other.add(e)
	for _, t := range rt.trees {
		t.add(e)
	}
	return &Route{router: rt, pattern: p}
}

// treeOf is the tree of a method.
func (rt *Router) treeOf(method string) *tree {
	for _, t := range rt.trees {
		if t.method == method {
			return t
		}
	}
	return rt.other
}

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
	v := Values{path: r.URL.Path}
	if r.URL.RawPath != "" {
		v.path, v.escaped = r.URL.RawPath, true
	}
	if len(v.path) > pathMax {
		middleware.WriteProblem(w, r, middleware.Problem{Status: http.StatusRequestURITooLong})
		return
	}
	e := v.find(&rt.treeOf(r.Method).root, 0, 0)
	switch {
	case e == nil:
		rt.miss(w, r, v.path)
		return
	case v.escaped && !v.valid(len(e.names)):
		rt.missing.ServeHTTP(w, r)
		return
	}
	r.Pattern = e.pattern
	if e.values != nil {
		v.endpoint = e
		e.values(w, r, v)
		return
	}
	for i, name := range e.names {
		r.SetPathValue(name, v.at(i))
	}
	e.handler.ServeHTTP(w, r)
}

// miss answers a request that no endpoint of its method fits.
func (rt *Router) miss(w http.ResponseWriter, r *http.Request, path string) {
	if path == "*" && r.Method == http.MethodOptions {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	allow := rt.allow(path)
	switch {
	case allow == "":
		rt.missing.ServeHTTP(w, r)
	case r.Method == http.MethodOptions:
		w.Header().Set("Allow", allow)
		w.WriteHeader(http.StatusNoContent)
	default:
		w.Header().Set("Allow", allow)
		middleware.WriteProblem(w, r, middleware.Problem{
			Status: http.StatusMethodNotAllowed,
			Detail: "this path is served under " + allow,
		})
	}
}

// allow lists the methods that path is served under, for the Allow field; "" when
// there are none.
func (rt *Router) allow(path string) string {
	methods := []string{http.MethodOptions}
	for _, t := range rt.trees {
		v := Values{path: path}
		if v.find(&t.root, 0, 0) != nil {
			methods = append(methods, t.method)
		}
	}
	if len(methods) == 1 {
		return ""
	}
	slices.Sort(methods)
	return strings.Join(slices.Compact(methods), ", ") // OPTIONS may have a tree
}
