// SPDX-License-Identifier: MIT

//go:build unix

package host

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"m0serve.dev/http/route"
)

// greeter is the state of the views under test.
type greeter struct{ word string }

func (g *greeter) hello(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintf(w, "%s %s", g.word, r.PathValue("name"))
}

func greeting() Routes[*greeter] { return Routes[*greeter]{"GET /hello/:name": (*greeter).hello} }

func TestViewsAreServedUnderTheHost(t *testing.T) {
	url, _, exit := started(t, App{MaxWorkers: 1, Handler: Views[*greeter]{
		State:  func(c *Context) (*greeter, error) { return &greeter{fmt.Sprint(c.Index)}, nil },
		Routes: greeting(),
	}.Handler})
	defer stop(t, exit)
	for path, want := range map[string]string{"/hello/Ann": "200 0 Ann", "/bye": "404"} {
		resp, err := http.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		got := fmt.Sprint(resp.StatusCode, " ", string(body))
		if !strings.HasPrefix(got, want) {
			t.Errorf("GET %s = %s; want %s", path, got, want)
		}
	}
}

func TestViewsAreMountedInALargerApplication(t *testing.T) {
	rt := route.New()
	rt.Mount("/en", greeting().With(&greeter{"hello"}))
	rt.Mount("/de", greeting().With(&greeter{"hallo"}))
	for path, want := range map[string]string{
		"/en/hello/Ann": "hello Ann", "/de/hello/Ann": "hallo Ann",
	} {
		w := httptest.NewRecorder()
		rt.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		if got := w.Body.String(); got != want {
			t.Errorf("GET %s = %d %q; want %q", path, w.Code, got, want)
		}
	}
}

func TestStateThatCannotBeMadeIsARefusal(t *testing.T) {
	t.Setenv("M0_PORT", "0")
	v := Views[*greeter]{
		State:  func(*Context) (*greeter, error) { return nil, errors.New("no ink") },
		Routes: greeting(),
	}
	if h, err := v.Handler(&Context{}); h != nil || err == nil {
		t.Fatalf("Handler without a state = %v, %v; want its error", h, err)
	}
	out := &output{}
	code := run(App{Handler: v.Handler}, io.Discard, out)
	if code != 78 || out.String() != "host: the handler cannot be built: no ink\n" {
		t.Errorf("exit %d, printed %q; want 78 and the reason", code, out)
	}
}
