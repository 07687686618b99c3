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

// TestSite: every case on one running project of two workers.
func TestSite(t *testing.T) {
	s := start(t, launch{})
	if !s.told(t).Proxied {
		t.Fatal("requests do not come by way of a proxy; nothing else can be right")
	}
	for _, g := range []struct {
		name  string
		cases []testCase
	}{
		{"events", eventCases}, {"recovery", recoveryCases}, {"permission", permissionCases},
		{"holds", holdCases}, {"polls", pollCases}, {"doors", doorCases},
		{"sockets", socketCases},
	} {
		t.Run(g.name, func(t *testing.T) { play(t, s, g.cases) })
	}
}

// quiet is how long nothing may come where nothing is due.
const quiet = 300 * time.Millisecond

// events are what django-eventstream does with a stream.
var eventCases = []testCase{
	{name: "open", run: eventsOpen},
	{name: "from-a-view", run: func(t *testing.T, s *site) {
		c := channelOf(t)
		f := s.open(t, "/events/"+c+"/").opened(t)
		s.posted(t, "/send/", "channel", c, "data", "hello", "json", "1")
		want := event{ID: c + ":1", Name: "message", Data: `"hello"`}
		if e := f.take(t, 1)[0]; e != want {
			t.Errorf("event %+v, want %+v", e, want)
		}
	}},
	{name: "ids", run: func(t *testing.T, s *site) {
		c := channelOf(t)
		f := s.open(t, "/events/"+c+"/").opened(t)
		s.sendMany(t, c, 1, 50)
		for i, e := range f.wants(t, numbers(1, 50)...) {
			if want := fmt.Sprintf("%s:%d", c, i+1); e.ID != want {
				t.Errorf("event %d has id %q, want %q", i+1, e.ID, want)
			}
		}
	}},
	{name: "fixed-channel", run: func(t *testing.T, s *site) {
		f := s.open(t, "/events/").opened(t)
		s.send(t, "test", "fixed")
		f.wants(t, "fixed")
	}},
	{name: "formatted-channel", run: func(t *testing.T, s *site) {
		f := s.open(t, "/objects/17/events/").opened(t)
		other := s.open(t, "/objects/18/events/").opened(t)
		s.send(t, "object-17", "seventeen")
		f.wants(t, "seventeen")
		other.still(t, quiet)
	}},
	{name: "several-channels", run: eventsSeveral},
	{name: "ten-channels", run: func(t *testing.T, s *site) {
		q := url.Values{}
		for i := range 10 {
			q.Add("channel", fmt.Sprintf("%s-%d", channelOf(t), i))
		}
		f := s.open(t, "/select/events/?"+q.Encode()).opened(t)
		for i, c := range q["channel"] {
			s.send(t, c, fmt.Sprint(i))
		}
		got := f.wants(t, numbers(0, 9)...)
		if ids := strings.Split(got[9].ID, ","); len(ids) != 10 {
			t.Errorf("the last id is %q, want ten parts", got[9].ID)
		}
	}},
	{name: "names-and-lines", run: func(t *testing.T, s *site) {
		c := channelOf(t)
		f := s.open(t, "/events/"+c+"/").opened(t)
		s.posted(t, "/send/", "channel", c, "type", "update", "data", "one\ntwo\r\n\nü €")
		want := event{ID: c + ":1", Name: "update", Data: "one\ntwo\n\nü €"}
		if e := f.take(t, 1)[0]; e != want {
			t.Errorf("event %+v, want %+v", e, want)
		}
	}},
	{name: "percent", run: eventsPercent},
	{name: "channel-with-a-space", run: func(t *testing.T, s *site) {
		c := channelOf(t) + " b"
		f := s.open(t, "/events/"+url.PathEscape(c)+"/").opened(t)
		s.send(t, c, "spaced")
		if e := f.wants(t, "spaced")[0]; e.ID != url.PathEscape(c)+":1" {
			t.Errorf("id %q, want %q", e.ID, url.PathEscape(c)+":1")
		}
	}},
	{name: "large", run: func(t *testing.T, s *site) {
		c, large := channelOf(t), strings.Repeat("0123456789abcdef", 4<<10) // 64 KiB
		f := s.open(t, "/events/"+c+"/").opened(t)
		s.send(t, c, large, "after")
		f.wants(t, large, "after")
	}},
	{name: "many-clients", run: func(t *testing.T, s *site) {
		c := channelOf(t)
		var feeds []*feed
		for range 20 {
			feeds = append(feeds, s.open(t, "/events/"+c+"/").opened(t))
		}
		s.sendMany(t, c, 1, 10)
		for _, f := range feeds {
			f.wants(t, numbers(1, 10)...)
		}
	}},
	{name: "skipped-user", run: func(t *testing.T, s *site) {
		c := channelOf(t)
		ann, annIs := s.login(t, c+"-ann")
		_, bobIs := s.login(t, c+"-bob")
		a := s.open(t, "/events/"+c+"/", annIs).opened(t)
		b := s.open(t, "/events/"+c+"/", bobIs).opened(t)
		s.posted(t, "/send/", "channel", c, "data", "of ann", "skip", ann)
		s.send(t, c, "of all")
		b.wants(t, "of ann", "of all")
		a.wants(t, "of all")
	}},
	{name: "not-stored", run: func(t *testing.T, s *site) {
		c := "passing-" + channelOf(t)
		f := s.open(t, "/events/"+c+"/").opened(t)
		s.send(t, c, "one", "two")
		for _, e := range f.wants(t, "one", "two") {
			if e.ID != "" {
				t.Errorf("event %q has id %q, want none", e.Data, e.ID)
			}
		}
	}},
	{name: "keep-alive", slow: true, run: func(t *testing.T, s *site) {
		f := s.open(t, "/events/"+channelOf(t)+"/").opened(t)
		begin := time.Now()
		if !f.until(25*time.Second, func() bool { return f.alive > 0 }) {
			t.Fatal("no keep-alive within 25 s; django-eventstream asks for one each 20 s")
		}
		if took := time.Since(begin); took < 18*time.Second {
			t.Errorf("the first keep-alive came after %v, want 20 s or one less", took)
		}
		f.holds(t, "event: keep-alive\ndata:\n\n")
	}},
}

// The answer opens with what django-eventstream says, and nothing of GRIP.
func eventsOpen(t *testing.T, s *site) {
	f := s.open(t, "/events/"+channelOf(t)+"/").opened(t)
	want := ":" + strings.Repeat(" ", 2048) + "\n\nevent: stream-open\ndata:\n\n"
	if got := f.body(); got != want {
		t.Errorf("the body opens with %q, want %q", short(got), short(want))
	}
	for name, want := range map[string]string{
		"Content-Type": "text/event-stream", "Cache-Control": "no-cache", "X-Accel-Buffering": "no",
		"Content-Length": "",
	} {
		if got := f.head.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	wantNoGrip(t, f.head)
}

// wantNoGrip says that nothing of the protocol reaches a client.
func wantNoGrip(t *testing.T, head map[string][]string) {
	t.Helper()
	for name, values := range head {
		if low := strings.ToLower(name); strings.HasPrefix(low, "grip-") ||
			strings.HasPrefix(low, "m0-") || strings.HasPrefix(low, "set-meta-") {
			t.Errorf("the client is shown %s: %q", name, values)
		}
	}
}

// One stream of two channels carries the ids of both.
func eventsSeveral(t *testing.T, s *site) {
	f := s.open(t, "/pair/events/").opened(t)
	s.send(t, "left", "l1")
	s.send(t, "right", "r1", "r2")
	s.send(t, "left", "l2")
	wants := []map[string]bool{
		{"left:1": true, "right:0": true}, {"left:1": true, "right:1": true},
		{"left:1": true, "right:2": true}, {"left:2": true, "right:2": true},
	}
	for i, e := range f.wants(t, "l1", "r1", "r2", "l2") {
		parts := strings.Split(e.ID, ",")
		for _, part := range parts {
			if !wants[i][part] || len(parts) != 2 {
				t.Errorf("event %q has id %q, want the parts %v", e.Data, e.ID, wants[i])
			}
		}
	}
}

// What looks like an instruction of the filter that builds ids stays text.
func eventsPercent(t *testing.T, s *site) {
	c := channelOf(t)
	texts := []string{"100%", "%I", "%%I", "%(x)s %(events-x)s", `%\n "q"`, "<&>"}
	s.send(t, c, "zero")
	f := s.open(t, "/events/"+c+"/", "Last-Event-ID: "+c+":0").opened(t)
	s.send(t, c, texts...)
	for i, e := range f.wants(t, append([]string{"zero"}, texts...)...) {
		if want := fmt.Sprintf("%s:%d", c, i+1); e.ID != want {
			t.Errorf("event %q has id %q, want %q", e.Data, e.ID, want)
		}
	}
	again := s.open(t, "/events/"+c+"/", "Last-Event-ID: "+c+":1").opened(t)
	again.wants(t, texts...)
}
