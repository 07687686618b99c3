// SPDX-License-Identifier: MIT

// Package route_test compares routers on the routes of GitHub's API, the set that
// httprouter is measured with. A request is new to its router each time, as
// it is in a server: what a router keeps in a request it pays for each time.
package route_test

import (
	_ "embed"
	"net/http"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/julienschmidt/httprouter"

	"m0serve.dev/http/route"
)

//go:embed testdata/github.txt
var github string

// An endpoint is one method and path of the set.
type endpoint struct{ method, path string }

// endpoints are the 203 of GitHub, in order of their paths.
func endpoints(tb testing.TB) (all []endpoint) {
	tb.Helper()
	for line := range strings.Lines(github) {
		methods, path, _ := strings.Cut(strings.TrimSpace(line), " ")
		for method := range strings.SplitSeq(methods, ",") {
			all = append(all, endpoint{method, path})
		}
	}
	if len(all) != 203 {
		tb.Fatalf("%d routes; want 203", len(all))
	}
	return all
}

// A router is one side. names are those of the path.
type router struct {
	name  string
	build func([]endpoint) http.Handler
}

// sides are the routers, by the kinds of handler that they have: each one's own
// kind, which is its fastest, and that of net/http.
var sides = []router{
	{"ours/values", oursValues}, {"ours/nethttp", oursNetHTTP},
	{"httprouter/params", httprouterParams}, {"httprouter/nethttp", httprouterNetHTTP},
	{"chi/nethttp", chiNetHTTP},
}

func oursValues(all []endpoint) http.Handler {
	rt := route.New()
	for _, e := range all {
		rt.HandleValues(e.method+" "+e.path, func(http.ResponseWriter, *http.Request, route.Values) {})
	}
	return rt
}

func oursNetHTTP(all []endpoint) http.Handler {
	rt := route.New()
	for _, e := range all {
		rt.HandleFunc(e.method+" "+e.path, func(http.ResponseWriter, *http.Request) {})
	}
	return rt
}

func httprouterParams(all []endpoint) http.Handler {
	rt := httprouter.New()
	for _, e := range all {
		rt.Handle(e.method, e.path, func(http.ResponseWriter, *http.Request, httprouter.Params) {})
	}
	return rt
}

func httprouterNetHTTP(all []endpoint) http.Handler {
	rt := httprouter.New()
	for _, e := range all {
		rt.HandlerFunc(e.method, e.path, func(http.ResponseWriter, *http.Request) {})
	}
	return rt
}

func chiNetHTTP(all []endpoint) http.Handler {
	rt := chi.NewRouter()
	for _, e := range all {
		var names []string
		for segment := range strings.SplitSeq(e.path, "/") {
			if name, found := strings.CutPrefix(segment, ":"); found {
				segment = "{" + name + "}"
			}
			names = append(names, segment)
		}
		rt.MethodFunc(e.method, strings.Join(names, "/"), func(http.ResponseWriter, *http.Request) {})
	}
	return rt
}

// requests are what each workload asks for.
func requests(tb testing.TB) []struct {
	name string
	all  []*http.Request
} {
	every := endpoints(tb)
	return []struct {
		name string
		all  []*http.Request
	}{
		{"Static", ask(tb, endpoint{"GET", "/user/repos"})},
		{"Param", ask(tb, endpoint{"GET", "/repos/julienschmidt/httprouter/stargazers"})},
		{"All", ask(tb, every...)},
	}
}

func ask(tb testing.TB, all ...endpoint) (requests []*http.Request) {
	tb.Helper()
	for _, e := range all {
		r, err := http.NewRequest(e.method, e.path, nil)
		if err != nil {
			tb.Fatal(err)
		}
		r.RequestURI = r.URL.RequestURI()
		requests = append(requests, r)
	}
	return requests
}

// nobody is a response that forgets, and notes whether a router gave it up.
type nobody struct {
	header http.Header
	status int
}

func (n *nobody) Header() http.Header         { return n.header }
func (n *nobody) Write(p []byte) (int, error) { return len(p), nil }
func (n *nobody) WriteHeader(status int)      { n.status = status }

func BenchmarkGitHub(b *testing.B) {
	for _, load := range requests(b) {
		for _, side := range sides {
			b.Run(load.name+"/"+side.name, func(b *testing.B) {
				h := side.build(endpoints(b))
				w := &nobody{header: http.Header{}}
				fresh := new(http.Request)
				b.ReportAllocs()
				for b.Loop() {
					for _, r := range load.all {
						*fresh = *r
						h.ServeHTTP(w, fresh)
					}
				}
				if w.status != 0 {
					b.Fatalf("a request was answered %d", w.status)
				}
			})
		}
	}
}

// TestNoAllocation: the kind of handler that we compare allocates nothing.
func TestNoAllocation(t *testing.T) {
	h := oursValues(endpoints(t))
	w := &nobody{header: http.Header{}}
	fresh := new(http.Request)
	for _, load := range requests(t) {
		if n := testing.AllocsPerRun(20, func() {
			for _, r := range load.all {
				*fresh = *r
				h.ServeHTTP(w, fresh)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations; want none", load.name, n)
		}
	}
}
