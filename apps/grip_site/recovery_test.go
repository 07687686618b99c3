// SPDX-License-Identifier: MIT

//go:build linux

package gripsite

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"
)

// recovery is what a client and the proxy do about events that were missed.
var recoveryCases = []testCase{
	{name: "last-event-id", run: func(t *testing.T, s *site) {
		c := channelOf(t)
		s.sendMany(t, c, 1, 5)
		f := s.open(t, "/events/"+c+"/", "Last-Event-ID: "+c+":2").opened(t)
		f.wants(t, "3", "4", "5")
		s.send(t, c, "6")
		if e := f.wants(t, "6")[0]; e.ID != c+":6" {
			t.Errorf("id %q, want %s:6", e.ID, c)
		}
	}},
	{name: "nothing-missed", run: func(t *testing.T, s *site) {
		c := channelOf(t)
		s.sendMany(t, c, 1, 3)
		f := s.open(t, "/events/"+c+"/", "Last-Event-ID: "+c+":3").opened(t)
		f.still(t, quiet)
		s.send(t, c, "4")
		f.wants(t, "4")
	}},
	{name: "no-id-is-from-now", run: func(t *testing.T, s *site) {
		c := channelOf(t)
		s.sendMany(t, c, 1, 3)
		f := s.open(t, "/events/"+c+"/").opened(t)
		s.send(t, c, "4")
		f.wants(t, "4")
	}},
	{name: "query", run: func(t *testing.T, s *site) {
		c := channelOf(t)
		s.sendMany(t, c, 1, 3)
		f := s.open(t, "/events/"+c+"/?lastEventId="+url.QueryEscape(c+":1")).opened(t)
		f.wants(t, "2", "3")
	}},
	{name: "field-over-query", run: func(t *testing.T, s *site) {
		c := channelOf(t)
		s.sendMany(t, c, 1, 3)
		f := s.open(t, "/events/"+c+"/?lastEventId="+url.QueryEscape(c+":0"),
			"Last-Event-ID: "+c+":2").opened(t)
		f.wants(t, "3")
		s.send(t, c, "4")
		f.wants(t, "4")
	}},
	{name: "unknown-id", run: recoveryReset},
	{name: "current-id", run: func(t *testing.T, s *site) {
		c := channelOf(t)
		s.sendMany(t, c, 1, 3)
		id := s.get(t, "/current/?channel="+c).body
		s.sendMany(t, c, 4, 2)
		f := s.open(t, "/events/"+c+"/", "Last-Event-ID: "+id).opened(t)
		f.wants(t, "4", "5")
	}},
	{name: "several-channels", run: func(t *testing.T, s *site) {
		a, b := channelOf(t)+"-a", channelOf(t)+"-b"
		s.sendMany(t, a, 1, 3)
		s.sendMany(t, b, 11, 3)
		f := s.open(t, fmt.Sprintf("/select/events/?channel=%s&channel=%s", a, b),
			fmt.Sprintf("Last-Event-ID: %s:1,%s:2", a, b)).opened(t)
		seen := map[string]bool{}
		for _, e := range f.take(t, 3) {
			seen[e.Data] = true
		}
		if !seen["2"] || !seen["3"] || !seen["13"] {
			t.Errorf("caught up with %v, want 2, 3 and 13", seen)
		}
		s.send(t, b, "14")
		f.wants(t, "14")
	}},
	{name: "pages", run: recoveryPages},
	{name: "never-published", run: recoveryNeverPublished},
	{name: "published-late", run: recoveryOfMany},
	{name: "no-loss-while-reconnecting", run: recoveryWhileReconnecting},
	{name: "after-an-error", run: func(t *testing.T, s *site) {
		a := s.get(t, "/events/"+channelOf(t)+"/", "Last-Event-ID: error")
		if a.status != 400 {
			t.Errorf("Last-Event-ID: error = %d %q, want 400", a.status, a.body)
		}
	}},
	{name: "malformed", run: func(t *testing.T, s *site) {
		for _, id := range []string{"x", "a:b:c", ",", "\"", strings.Repeat("9", 4000)} {
			f := s.open(t, "/events/"+channelOf(t)+"/", "Last-Event-ID: "+id)
			f.wantError(t, "bad-request")
		}
	}},
}

// wantError waits for the one event that tells of an error and the end.
func (f *feed) wantError(t *testing.T, condition string) event {
	t.Helper()
	e := f.take(t, 1)[0]
	if e.Name != "stream-error" || !strings.Contains(e.Data, `"condition": "`+condition+`"`) ||
		e.ID != "error" {
		t.Fatalf("event %+v, want stream-error of %s with the id error", e, condition)
	}
	f.ends(t)
	return e
}

// An id that nobody has is answered with a reset, and the stream goes on.
func recoveryReset(t *testing.T, s *site) {
	c := channelOf(t)
	s.sendMany(t, c, 1, 3)
	f := s.open(t, "/events/"+c+"/", "Last-Event-ID: "+c+":99").opened(t)
	e := f.take(t, 1)[0]
	if e.Name != "stream-reset" || e.ID != c+":3" || !strings.Contains(e.Data, c) {
		t.Errorf("event %+v, want stream-reset of %s with the id %s:3", e, c, c)
	}
	s.send(t, c, "4")
	f.wants(t, "4")
}

// More than django-eventstream gives at once comes in pages that are put together.
func recoveryPages(t *testing.T, s *site) {
	c := channelOf(t)
	s.sendMany(t, c, 1, 250)
	f := s.open(t, "/events/"+c+"/", "Last-Event-ID: "+c+":0").opened(t)
	f.wants(t, numbers(1, 250)...)
	s.sendMany(t, c, 251, 5)
	f.wants(t, numbers(251, 255)...)
	f.still(t, quiet)
}

// What was stored and never published comes with the next that is published: the
// proxy sees the gap and asks the project.
func recoveryNeverPublished(t *testing.T, s *site) {
	c := channelOf(t)
	f := s.open(t, "/events/"+c+"/").opened(t)
	s.send(t, c, "1")
	f.wants(t, "1")
	s.posted(t, "/store/", "channel", c, "first", "2", "count", "3")
	s.send(t, c, "5")
	for i, e := range f.wants(t, "2", "3", "4", "5") {
		if want := fmt.Sprintf("%s:%d", c, i+2); e.ID != want {
			t.Errorf("event %q has id %q, want %q", e.Data, e.ID, want)
		}
	}
	s.send(t, c, "6")
	f.wants(t, "6")
	f.still(t, quiet)
}

// More than a page was missed by a stream that is open.
func recoveryOfMany(t *testing.T, s *site) {
	c := channelOf(t)
	f := s.open(t, "/events/"+c+"/").opened(t)
	s.send(t, c, "1")
	f.wants(t, "1")
	s.posted(t, "/store/", "channel", c, "first", "2", "count", "299")
	s.send(t, c, "301")
	f.wants(t, numbers(2, 301)...)
	f.still(t, quiet)
}

// A client that leaves and comes back while 500 are sent gets each once, in order.
func recoveryWhileReconnecting(t *testing.T, s *site) {
	const all = 500
	c := channelOf(t)
	last, next, rounds := c+":0", 1, 0
	s.posted(t, "/store/", "channel", c, "data", "1") // so that there is an id 0
	sent := s.sending(t, c, 2, all, 20, 0)
	for deadline := time.Now().Add(3 * patience); next <= all; rounds++ {
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d came within %v, in %d rounds", next-1, all, 3*patience, rounds)
		}
		f := s.open(t, "/events/"+c+"/", "Last-Event-ID: "+last).opened(t)
		for range min(1+rounds%40, all-next+1) {
			e := f.wants(t, fmt.Sprint(next))[0]
			if want := fmt.Sprintf("%s:%d", c, next); e.ID != want {
				t.Fatalf("event %d has id %q, want %q", next, e.ID, want)
			}
			last, next = e.ID, next+1
		}
		f.cancel()
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
	if rounds < 10 {
		t.Errorf("vacuous: only %d connections were made", rounds)
	}
}
