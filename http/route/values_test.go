// SPDX-License-Identifier: MIT

package route

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// showValues answers with the pattern that fit and what Values and the request
// have under the names.
func showValues(names ...string) func(http.ResponseWriter, *http.Request, Values) {
	return func(w http.ResponseWriter, r *http.Request, v Values) {
		fmt.Fprint(w, r.Pattern)
		for _, name := range names {
			fmt.Fprintf(w, " %s=%q/%q", name, v.Get(name), r.PathValue(name))
		}
	}
}

func TestValues(t *testing.T) {
	rt := New()
	rt.HandleValues("GET /a/:id", showValues("id", "none"))
	rt.HandleValues("GET /team/:team/user/*user", showValues("team", "user"))
	rt.HandleValues("GET /text", showValues("none"))
	for _, c := range []struct{ target, want string }{
		{"/a/7", `GET /a/:id id="7"/"" none=""/""`},
		{"/a/a%2Fb%20", `GET /a/:id id="a/b "/"" none=""/""`},
		{"/team/x/user/", `GET /team/:team/user/*user team="x"/"" user=""/""`},
		{"/team/x%2F/user/y/%7A", `GET /team/:team/user/*user team="x/"/"" user="y/z"/""`},
		{"/text", `GET /text none=""/""`},
	} {
		resp := serve(t, rt, "GET", c.target)
		if got := body(t, resp); got != c.want {
			t.Errorf("GET %s = %q; want %q", c.target, got, c.want)
		}
	}
	var none Values
	if got := none.Get("id"); got != "" {
		t.Errorf("Values{}.Get(id) = %q; want nothing", got)
	}
}

// TestWronglyEscapedValue: a server refuses such a path, a client of the package
// may not; it finds nothing, whichever kind of handler waits for it.
func TestWronglyEscapedValue(t *testing.T) {
	rt := New()
	rt.HandleValues("GET /v/:id", showValues("id"))
	rt.HandleFunc("GET /p/:id", echo("id"))
	for _, path := range []string{"/v/%zz", "/p/%zz"} {
		r := httptest.NewRequest("GET", "/", nil)
		r.URL.Path, r.URL.RawPath = path, path
		w := httptest.NewRecorder()
		rt.ServeHTTP(w, r)
		if w.Code != http.StatusNotFound {
			t.Errorf("GET %s = %d; want 404", path, w.Code)
		}
	}
}

func TestPathTooLong(t *testing.T) {
	rt := New()
	rt.HandleFunc("GET /*rest", echo("rest"))
	longest := "/" + strings.Repeat("a", pathMax-1)
	for target, want := range map[string]int{longest: 200, longest + "a": 414} {
		w := httptest.NewRecorder()
		rt.ServeHTTP(w, httptest.NewRequest("GET", target, nil))
		if w.Code != want {
			t.Errorf("GET of %d bytes = %d; want %d", len(target), w.Code, want)
		}
	}
}

// TestNoAllocation: finding allocates nothing, and HandleValues keeps it so.
func TestNoAllocation(t *testing.T) {
	rt := New()
	rt.HandleValues("GET /a/:id/b/:of", func(http.ResponseWriter, *http.Request, Values) {})
	rt.HandleFunc("GET /a/text", func(http.ResponseWriter, *http.Request) {})
	w := httptest.NewRecorder()
	for _, target := range []string{"/a/7/b/8", "/a/text"} {
		r := httptest.NewRequest("GET", target, nil)
		if n := testing.AllocsPerRun(100, func() { rt.ServeHTTP(w, r) }); n != 0 {
			t.Errorf("GET %s allocates %v times; want 0", target, n)
		}
	}
}
