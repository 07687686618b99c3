// SPDX-License-Identifier: MIT

package cache

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
)

func TestHitAllocations(t *testing.T) {
	o := &origin{}
	h := New(Config{}).Wrap(o)
	r := httptest.NewRequest("GET", target("Cache-Control:max-age=60", "X-A:1", "X-B:2"), nil)
	w := &still{http.Header{}}
	h.ServeHTTP(w, r)
	h.ServeHTTP(w, r)
	if n := testing.AllocsPerRun(100, func() { h.ServeHTTP(w, r) }); n > 1 {
		t.Errorf("a hit allocates %v times; want the values of its fields, once", n)
	}
	post := httptest.NewRequest("OPTIONS", "/", nil)
	quiet := New(Config{}).Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	if n := testing.AllocsPerRun(100, func() { quiet.ServeHTTP(w, post) }); n != 0 {
		t.Errorf("a request that goes past allocates %v times; want 0", n)
	}
}

// What a miss makes is kept, but for the run: that, key, answer with its fields, body,
// entry with its resource, and the text of its length.
func TestMissAllocations(t *testing.T) {
	body, header := make([]byte, 1000), []string{"max-age=60"}
	h := New(Config{MaxEntries: 1000}).Wrap(http.HandlerFunc(
		func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Cache-Control"] = header
			_, _ = w.Write(body)
		}))
	r, w, n := httptest.NewRequest("GET", "/", nil), &still{http.Header{}}, 0
	path := make([]byte, 9)
	miss := func() {
		clear(w.h)
		n++
		r.URL.Path = string(strconv.AppendInt(path[:0], int64(1e8+n), 10))
		h.ServeHTTP(w, r)
	}
	for range 2000 {
		miss()
	}
	if got := testing.AllocsPerRun(1000, miss); got > 7 { // the path is one
		t.Errorf("a miss allocates %v times, want 6 and the path", got)
	}
}

// A still writer keeps nothing, so that its allocations are not counted.
type still struct{ h http.Header }

func (s *still) Header() http.Header         { return s.h }
func (s *still) Write(b []byte) (int, error) { return len(b), nil }
func (s *still) WriteHeader(int)             {}

func BenchmarkHit(b *testing.B) {
	h := New(Config{}).Wrap(&origin{})
	r := httptest.NewRequest("GET", target("Cache-Control:max-age=60", "X-A:1"), nil)
	w := &still{http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		h.ServeHTTP(w, r)
	}
}
