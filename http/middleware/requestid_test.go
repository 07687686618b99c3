// SPDX-License-Identifier: MIT

package middleware

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestRequestIDTakesOrMakes(t *testing.T) {
	trust := func(r *http.Request) bool { return r.RemoteAddr == "192.0.2.1:1234" } // of httptest
	for _, c := range []struct {
		trust  func(*http.Request) bool
		fields string
		taken  bool
	}{
		{trust, "X-Request-Id: abc-1_2.3:4=5+6/7@8", true},
		{nil, "X-Request-Id: abc", false},
		{func(*http.Request) bool { return false }, "X-Request-Id: abc", false},
		{trust, "", false},
		{trust, "X-Request-Id: ", false},
		{trust, "X-Request-Id: a b", false},
		{trust, "X-Request-Id: a\"b", false},
		{trust, "X-Request-Id: ä", false},
		{trust, "X-Request-Id: " + strings.Repeat("a", 128), true},
		{trust, "X-Request-Id: " + strings.Repeat("a", 129), false},
		{trust, "X-Request-Id: a|X-Request-Id: b", false},
	} {
		inside := ""
		h := RequestID{Trust: c.trust}.Wrap(http.HandlerFunc(func(_ http.ResponseWriter,
			r *http.Request) {
			inside = RequestIDOf(r.Context())
		}))
		w := call(h, "GET", "/", c.fields)
		got := w.Header()["X-Request-Id"]
		if len(got) != 1 || got[0] != inside || inside == "" {
			t.Errorf("with %q the answer has %q, the context %q; want one id", c.fields, got, inside)
			continue
		}
		if taken := strings.HasSuffix(c.fields, ": "+inside); taken != c.taken || !taken &&
			len(inside) != 24 {
			t.Errorf("with %q the id is %q; want it taken: %v", c.fields, inside, c.taken)
		}
	}
}

func TestRequestIDsAreInOrderAndUnique(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sources := []*idSource{newIDSource(), newIDSource(), newIDSource()}
		before, seen := "", map[string]bool{} // the highest of the milliseconds before
		for range 300 {
			highest, last := "", make([]string, len(sources))
			for range 3 {
				for i, s := range sources {
					id := s.next(time.Now())
					if id <= before || id <= last[i] || len(id) != 24 || !isID(id) {
						t.Fatalf("id %q behind %q and %q; want a greater one of 24 characters",
							id, before, last[i])
					}
					highest, last[i], seen[id] = max(highest, id), id, true
				}
			}
			before = highest
			time.Sleep(time.Millisecond)
		}
		if len(seen) != 300*9 {
			t.Errorf("three processes made %d different ids of %d", len(seen), 300*9)
		}
	})
}

func TestRequestIDsOfManyGoroutines(t *testing.T) {
	s := newIDSource()
	now := time.Now()
	var seen sync.Map
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 1000 {
				if _, twice := seen.LoadOrStore(s.next(now), true); twice {
					t.Error("an id came twice within a millisecond")
				}
			}
		})
	}
	wg.Wait()
}

func TestRequestIDIsInLogAndProblem(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&out, nil))
	extra := map[string]any{"a": 1}
	h := RequestID{Field: "x-trace"}.Wrap(AccessLog(log, http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			WriteProblem(w, r, Problem{Status: 404, Extra: extra})
		})))
	w := call(h, "GET", "/", "")
	want := `"request_id":"` + w.Header().Get("X-Trace") + `"`
	if !strings.Contains(out.String(), want) || !strings.Contains(w.Body.String(), want) ||
		len(extra) != 1 {
		t.Errorf("log %s and problem %s; want %s in both, and the handler's map %v as it was",
			out.String(), w.Body, want, extra)
	}
}

// TestPatternIsSeenOutside: what a router notes on the request reaches those
// around the middleware that made a copy of it.
func TestPatternIsSeenOutside(t *testing.T) {
	inner := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { r.Pattern = "GET /:id" })
	auth, err := Auth{Schemes: []Scheme{
		Bearer(Secrets(map[string]string{"s": "n"})), APIKeyQuery("key",
			Secrets(map[string]string{"s": "n"})),
	}}.Wrap(inner)
	if err != nil {
		t.Fatal(err)
	}
	for name, h := range map[string]http.Handler{
		"RequestID": RequestID{}.Wrap(inner), "Auth": auth, "Auth by query": auth,
	} {
		r := httptest.NewRequest("GET", "/", nil)
		switch name {
		case "Auth":
			r.Header.Set("Authorization", "Bearer s")
		case "Auth by query":
			r.URL.RawQuery = "key=s"
		}
		h.ServeHTTP(httptest.NewRecorder(), r)
		if r.Pattern != "GET /:id" {
			t.Errorf("outside %s the pattern is %q; want that of the route", name, r.Pattern)
		}
	}
}

func TestRequestIDAllocations(t *testing.T) {
	h := RequestID{}.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		RequestIDOf(r.Context())
	}))
	r, w := httptest.NewRequest("GET", "/", nil), &still{http.Header{}}
	if n := testing.AllocsPerRun(100, func() { h.ServeHTTP(w, r) }); n > 2 {
		t.Errorf("a request id allocates %v times; want the id, and its context with the request", n)
	}
}

func BenchmarkRequestID(b *testing.B) {
	h := RequestID{}.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	r, w := httptest.NewRequest("GET", "/", nil), &still{http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		h.ServeHTTP(w, r)
	}
}
