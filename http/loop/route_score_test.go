// SPDX-License-Identifier: MIT

package loop

import (
	"strings"
	"testing"
	"time"
)

// TestRouteRule plays a route whose requests are late at a given rate.
func TestRouteRule(t *testing.T) {
	for _, tt := range []struct {
		every  int // one in so many is late
		pooled bool
	}{
		{10, true}, {100, true}, {250, true}, {500, false}, {5000, false},
	} {
		var r routes
		now := time.Duration(0)
		for i := 1; i <= 100_000; i++ {
			now += 100 * time.Microsecond
			switch {
			case r.pooled(1, now):
			case i%tt.every == 0:
				r.late(1, now)
			default:
				r.quick(1)
			}
		}
		if got := r.slots[1].pooled; got != tt.pooled {
			t.Errorf("one in %d late: pooled = %v, want %v", tt.every, got, tt.pooled)
		}
	}
}

func TestRouteComesBackWhenQuick(t *testing.T) {
	var r routes
	for range 3 {
		r.late(1, 0)
	}
	for i := range 2000 { // one slow request now and then keeps it off the loop
		d := 10 * time.Microsecond
		if i%300 == 0 {
			d = time.Millisecond
		}
		r.took(1, d)
	}
	if !r.slots[1].pooled {
		t.Error("a route with one slow request in 300 came back, want it to stay off the loop")
	}
	n := 0
	for ; r.slots[1].pooled && n < 10_000; n++ {
		r.took(1, 10*time.Microsecond)
	}
	if n < 900 || n > 2001 {
		t.Errorf("came back after %d quick requests in a row, want 1000 to 2000", n)
	}
}

// TestManyRarelyLateRoutes: each is late once; together they stop the loop.
func TestManyRarelyLateRoutes(t *testing.T) {
	var r routes
	for i := range uint16(50) {
		r.late(i, 0)
	}
	if !r.pooled(900, time.Millisecond) {
		t.Error("50 takeovers at once: a new route still starts on the loop")
	}
	if r.pooled(900, 2*globalPause) {
		t.Error("the pause does not end")
	}
	r = routes{}
	for i := range uint16(500) { // 50 a second are borne
		r.late(i, time.Duration(i)*20*time.Millisecond)
	}
	if r.pooled(900, 10*time.Second) {
		t.Error("50 takeovers a second: everything is handed over, want only above 100")
	}
}

func TestRouteOf(t *testing.T) {
	same := [][2]string{
		{"/users/1", "/users/2345"}, {"/a/b/c", "/a/b/d"}, {"/users/1/posts/2", "/users/7/posts/9"},
	}
	for _, p := range same {
		if a, b := routeOf([]byte("GET"), []byte(p[0])), routeOf([]byte("GET"), []byte(p[1])); a != b {
			t.Errorf("routeOf(%s) = %d, routeOf(%s) = %d, want one route", p[0], a, p[1], b)
		}
	}
	seen := map[uint16]string{}
	for _, p := range []string{
		"GET /", "POST /", "GET /users", "GET /users/1", "GET /slow", "GET /users/1/x",
	} {
		method, path, _ := strings.Cut(p, " ")
		i := routeOf([]byte(method), []byte(path))
		if other, twice := seen[i]; twice {
			t.Errorf("routeOf(%s) = routeOf(%s), want two routes", p, other)
		}
		seen[i] = p
	}
}
