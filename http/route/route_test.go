// SPDX-License-Identifier: MIT

package route

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// echo answers with the pattern that fit and the named values, in order.
func echo(names ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Pattern)
		for _, name := range names {
			fmt.Fprintf(w, " %s=%q", name, r.PathValue(name))
		}
	}
}

func serve(t *testing.T, h http.Handler, method, target string) *http.Response {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, target, nil))
	return w.Result()
}

func body(t *testing.T, resp *http.Response) string {
	t.Helper()
	var b strings.Builder
	if _, err := fmt.Fprint(&b, readAll(t, resp)); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func readAll(t *testing.T, resp *http.Response) string {
	t.Helper()
	buf := make([]byte, 4096)
	n, _ := resp.Body.Read(buf)
	return string(buf[:n])
}

func newTable() *Router {
	rt := New()
	rt.HandleFunc("GET /", echo())
	rt.HandleFunc("GET /todos", echo())
	rt.HandleFunc("POST /todos", echo())
	rt.HandleFunc("GET /todos/new", echo())
	rt.HandleFunc("GET /todos/:id", echo("id"))
	rt.HandleFunc("DELETE /todos/{id}", echo("id"))
	rt.HandleFunc("POST /todos/:id/toggle", echo("id"))
	rt.HandleFunc("GET /todos/new/draft", echo())
	rt.HandleFunc("GET /team/:team/user/:user", echo("team", "user"))
	rt.HandleFunc("/files/*path", echo("path"))
	rt.HandleFunc("GET /assets/{path...}", echo("path"))
	rt.HandleFunc("GET /assets/app.js", echo())
	rt.HandleFunc("POST /only-post", echo())
	rt.HandleFunc("GET /exact/{$}", echo())
	rt.HandleFunc("GET /teapot", echo())
	rt.HandleFunc("GET /tea", echo())
	return rt
}

func TestFind(t *testing.T) {
	rt := newTable()
	for _, c := range []struct{ method, target, want string }{
		{"GET", "/", "GET /"},
		{"GET", "/todos", "GET /todos"},
		{"POST", "/todos", "POST /todos"},
		{"GET", "/todos/7", `GET /todos/:id id="7"`},
		{"HEAD", "/todos/7", `GET /todos/:id id="7"`},
		{"DELETE", "/todos/7", `DELETE /todos/{id} id="7"`},
		{"GET", "/todos/new", "GET /todos/new"},
		{"DELETE", "/todos/new", `DELETE /todos/{id} id="new"`},
		{"GET", "/todos/newer", `GET /todos/:id id="newer"`},
		{"GET", "/todos/ne", `GET /todos/:id id="ne"`},
		{"POST", "/todos/new/toggle", `POST /todos/:id/toggle id="new"`},
		{"GET", "/todos/a%2Fb", `GET /todos/:id id="a/b"`},
		{"GET", "/todos/%C3%A9", `GET /todos/:id id="é"`},
		{"GET", "/todos/%20", `GET /todos/:id id=" "`},
		{"GET", "/team/a/user/b", `GET /team/:team/user/:user team="a" user="b"`},
		{"GET", "/files/", `/files/*path path=""`},
		{"PUT", "/files/a/b/../c", `/files/*path path="a/b/../c"`},
		{"GET", "/assets/app.js", "GET /assets/app.js"},
		{"GET", "/assets/app.jsx", `GET /assets/{path...} path="app.jsx"`},
		{"GET", "/assets/css/a.css", `GET /assets/{path...} path="css/a.css"`},
		{"GET", "/exact/", "GET /exact/{$}"},
		{"GET", "/tea", "GET /tea"},
		{"GET", "/teapot", "GET /teapot"},
	} {
		resp := serve(t, rt, c.method, c.target)
		if got := body(t, resp); got != c.want || resp.StatusCode != http.StatusOK {
			t.Errorf("%s %s = %d %q; want 200 %q", c.method, c.target, resp.StatusCode, got, c.want)
		}
	}
}

func TestNotFoundIsAProblem(t *testing.T) {
	rt := newTable()
	for _, target := range []string{"/todo", "/todos/", "/todos/7/", "/todos//toggle", "/files",
		"/exact", "/exact/x", "/team/a/user/", "/TODOS", "/te", "/teapots", "//", "/%2F"} {
		resp := serve(t, rt, "GET", target)
		if resp.StatusCode != http.StatusNotFound ||
			resp.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("GET %s = %d %s; want 404 application/problem+json",
				target, resp.StatusCode, resp.Header.Get("Content-Type"))
		}
	}
}

func TestMethodNotAllowedListsMethods(t *testing.T) {
	rt := newTable()
	for _, c := range []struct{ method, target, allow string }{
		{"PUT", "/todos", "GET, HEAD, OPTIONS, POST"},
		{"PUT", "/todos/new", "DELETE, GET, HEAD, OPTIONS"},
		{"GET", "/only-post", "OPTIONS, POST"},
		{"HEAD", "/only-post", "OPTIONS, POST"},
		{"POST", "/todos/7", "DELETE, GET, HEAD, OPTIONS"},
	} {
		resp := serve(t, rt, c.method, c.target)
		if got := resp.Header.Get("Allow"); resp.StatusCode != 405 || got != c.allow {
			t.Errorf("%s %s = %d, Allow %q; want 405, %q", c.method, c.target, resp.StatusCode,
				got, c.allow)
		}
		resp = serve(t, rt, "OPTIONS", c.target)
		if got := resp.Header.Get("Allow"); resp.StatusCode != 204 || got != c.allow {
			t.Errorf("OPTIONS %s = %d, Allow %q; want 204, %q", c.target, resp.StatusCode, got, c.allow)
		}
	}
}

func TestBadPatternPanicsWithReason(t *testing.T) {
	for _, c := range []struct{ earlier, pattern, want string }{
		{"", "todos", "has to start with /"},
		{"", "example.com/x", "has to start with /"},
		{"", "GE(T /x", "is not a method"},
		{"", "GET /:", "is not a name"},
		{"", "GET /:1a", "is not a name"},
		{"", "GET /*", "is not a name"},
		{"", "GET /*rest/x", "has to be the last"},
		{"", "GET /{rest...}/x", "has to be the last"},
		{"", "GET /a{b}", "takes a whole segment"},
		{"", "GET /v:major", "takes a whole segment"},
		{"", "GET /:a/:a", "stands twice"},
		{"", "GET " + strings.Repeat("/:a", 17), "stands twice"},
		{"GET /todos/:id", "GET /todos/{name}", `says the same as "GET /todos/:id"`},
		{"/files/*a", "/files/{b...}", `says the same as "/files/*a"`},
	} {
		t.Run(c.pattern, func(t *testing.T) {
			rt := New()
			if c.earlier != "" {
				rt.HandleFunc(c.earlier, echo())
			}
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, c.want) {
					t.Errorf("Handle(%q) panics with %q; want %q", c.pattern, got, c.want)
				}
			}()
			rt.HandleFunc(c.pattern, echo())
		})
	}
}

func TestMount(t *testing.T) {
	inner := New()
	inner.HandleFunc("GET /", echo())
	inner.HandleFunc("GET /users/:id", echo("id"))
	outer := New()
	outer.Mount("/admin", inner)
	outer.HandleFunc("GET /admin/status", echo())
	for _, c := range []struct {
		target, want string
		status       int
	}{
		{"/admin", "GET /", 200},
		{"/admin/", "GET /", 200},
		{"/admin/users/7", `GET /users/:id id="7"`, 200},
		{"/admin/users/a%2Fb", `GET /users/:id id="a/b"`, 200},
		{"/admin/status", "GET /admin/status", 200},
		{"/administrator", "", 404},
		{"/admin/none", "", 404},
	} {
		resp := serve(t, outer, "GET", c.target)
		got := body(t, resp)
		if resp.StatusCode != c.status || c.status == 200 && got != c.want {
			t.Errorf("GET %s = %d %q; want %d %q", c.target, resp.StatusCode, got, c.status, c.want)
		}
	}
	if resp := serve(t, outer, "PUT", "/admin/users/7"); resp.StatusCode != 405 {
		t.Errorf("PUT below a mount = %d; want 405", resp.StatusCode)
	}
	r := httptest.NewRequest("GET", "/admin/users/7", nil)
	outer.ServeHTTP(httptest.NewRecorder(), r)
	if want := "GET /admin/users/:id"; r.Pattern != want {
		t.Errorf("Pattern after a mounted route = %q; want %q", r.Pattern, want)
	}
}

func TestNamedURL(t *testing.T) {
	rt := New()
	rt.HandleFunc("POST /todos/:id/toggle", echo()).Name("toggle")
	rt.HandleFunc("/files/*path", echo()).Name("file")
	for _, c := range []struct {
		name   string
		values []string
		want   string
	}{
		{"toggle", []string{"7"}, "/todos/7/toggle"},
		{"toggle", []string{"a/b é"}, "/todos/a%2Fb%20%C3%A9/toggle"},
		{"file", []string{"a b/c"}, "/files/a%20b/c"},
		{"file", []string{""}, "/files/"},
	} {
		if got, err := rt.URL(c.name, c.values...); got != c.want || err != nil {
			t.Errorf("URL(%q, %q) = %q, %v; want %q", c.name, c.values, got, err, c.want)
		}
	}
	for _, c := range [][]string{{"gone"}, {"toggle"}, {"toggle", ""}, {"toggle", "1", "2"}} {
		if got, err := rt.URL(c[0], c[1:]...); err == nil {
			t.Errorf("URL(%q, %q) = %q; want an error", c[0], c[1:], got)
		}
	}
}

// FuzzServe: no target panics, and what matched by name leads back to itself.
func FuzzServe(f *testing.F) {
	for _, p := range []string{"/", "/todos/7", "/todos/%2F", "//", "/files/%zz", "/team//user/"} {
		f.Add(p)
	}
	rt := New()
	rt.HandleFunc("GET /todos/:id", echo()).Name("todo")
	rt.HandleFunc("GET /files/*path", echo()).Name("file")
	f.Fuzz(func(t *testing.T, target string) {
		r, err := http.NewRequest("GET", "http://a/", nil)
		if err != nil {
			t.Fatal(err)
		}
		u, err := r.URL.Parse(target)
		if err != nil || !strings.HasPrefix(u.Path, "/") {
			return
		}
		r.URL = u
		rt.ServeHTTP(httptest.NewRecorder(), r)
		if id := r.PathValue("id"); id != "" {
			back, err := rt.URL("todo", id)
			if err != nil || mustPath(t, back) != u.Path {
				t.Errorf("URL(todo, %q) = %q, %v; want the path of %q", id, back, err, target)
			}
		}
	})
}

func mustPath(t *testing.T, s string) string {
	t.Helper()
	r, err := http.NewRequest("GET", s, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r.URL.Path
}
