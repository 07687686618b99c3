// SPDX-License-Identifier: MIT

package cache

import (
	"net/http"
	"net/http/httptest"
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
