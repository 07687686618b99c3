// SPDX-License-Identifier: MIT

//go:build linux

package gripsite

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"m0serve.dev/apps/internal/smoketest"
)

// sockets are WebSockets that a synchronous view serves over HTTP.
var socketCases = []testCase{
	{name: "echo", run: func(t *testing.T, s *site) {
		w := s.dial(t, "/echo/")
		for _, text := range []string{"hello", "", "ü €", "m:x", "c:{}", strings.Repeat("x", 125)} {
			w.send(opText, text)
			w.wants(t, text)
		}
	}},
	{name: "binary", run: func(t *testing.T, s *site) {
		w := s.dial(t, "/echo/")
		want := "\x00\xff\r\n m:\x80"
		w.send(opBinary, want)
		if op, got := w.message(t); op != opBinary || got != want {
			t.Errorf("message %d %q, want %q in binary", op, got, want)
		}
	}},
	{name: "large", run: func(t *testing.T, s *site) {
		sizes := []int{126, 16_383, 16_384, 16_385, 65_536, 150_000}
		if onPushpin() {
			sizes = sizes[:4] // Debian's stalls above
		}
		w := s.dial(t, "/echo/")
		for _, size := range sizes {
			want := strings.Repeat("0123456789", size/10+1)[:size]
			w.send(opText, want)
			w.wants(t, want)
		}
	}},
	{name: "order", run: func(t *testing.T, s *site) {
		w := s.dial(t, "/echo/")
		for _, text := range numbers(1, 300) {
			w.send(opText, text)
		}
		w.wants(t, numbers(1, 300)...)
	}},
	{name: "early", run: func(t *testing.T, s *site) {
		w := s.dial(t, "/echo/")
		w.send(opText, "a")
		w.send(opPing, "p")
		w.send(opText, "b")
		var texts []string // the order of the pong is free
		for range 3 {
			if op, got := w.message(t); op != opPong || got != "p" {
				texts = append(texts, got)
			}
		}
		if got := fmt.Sprint(texts); got != "[a b]" {
			t.Errorf("messages %s, want a pong and [a b]", got)
		}
	}},
	{name: "ping", run: func(t *testing.T, s *site) {
		w := s.dial(t, "/echo/")
		w.send(opPing, "are you there")
		if op, got := w.message(t); op != opPong || got != "are you there" {
			t.Errorf("a ping was answered by %d %q", op, got)
		}
	}},
	{name: "example", run: func(t *testing.T, s *site) {
		a, b := s.dial(t, "/socket/?room="+channelOf(t)), s.dial(t, "/socket/?room="+channelOf(t))
		a.settled(t)
		b.settled(t)
		a.send(opText, "from a")
		a.wants(t, "from a")
		b.wants(t, "from a")
		b.send(opText, "from b")
		a.wants(t, "from b")
		b.wants(t, "from b")
	}},
	{name: "published", run: func(t *testing.T, s *site) {
		c := channelOf(t)
		w, other := s.dial(t, "/socket/?room="+c), s.dial(t, "/socket/?room="+c+"x")
		w.settled(t)
		other.settled(t)
		s.posted(t, "/publish/", "channel", c, "message", "text ü")
		s.posted(t, "/publish/", "channel", c, "binary", "00ff0a")
		w.wants(t, "text ü")
		if op, got := w.message(t); op != opBinary || got != "\x00\xff\n" {
			t.Errorf("message %d %q, want three bytes", op, got)
		}
		other.still(t)
	}},
	{name: "subscribe-later", run: func(t *testing.T, s *site) {
		c := channelOf(t)
		w := s.driven(t, "")
		s.posted(t, "/publish/", "channel", c, "message", "too early")
		w.order(t, order{"subscribe", c}, order{"send", "subscribed"})
		w.wants(t, "subscribed")
		s.posted(t, "/publish/", "channel", c, "message", "heard")
		w.wants(t, "heard")
		w.order(t, order{"unsubscribe", c}, order{"send", "unsubscribed"})
		w.wants(t, "unsubscribed")
		s.posted(t, "/publish/", "channel", c, "message", "too late")
		w.still(t)
	}},
	{name: "meta", run: func(t *testing.T, s *site) {
		a, b := s.dial(t, "/counted/"), s.dial(t, "/counted/")
		var ids []string
		for _, w := range []*socket{a, b} {
			for n := 1; n <= 3; n++ {
				w.send(opText, "count")
				_, got := w.message(t)
				id, ok := strings.CutPrefix(got, fmt.Sprintf("%d of ", n))
				if !ok || id == "" {
					t.Fatalf("message %q, want %d of an id", got, n)
				}
				ids = append(ids, id)
			}
		}
		if slices.Sort(ids); ids[0] != ids[2] || ids[3] != ids[5] || ids[0] == ids[5] {
			t.Errorf("ids %q, want one for each connection", ids)
		}
	}},
	{name: "closed-by-the-client", run: func(t *testing.T, s *site) {
		topic := channelOf(t)
		w := s.dial(t, "/echo/?topic="+topic)
		w.hangUp(4001, "")
		if code, _ := w.closed(t); code != 4001 {
			t.Errorf("close %d, want 4001 back", code)
		}
		smoketest.Until(t, "the view to note the close", func() bool {
			return slices.Contains(s.notes(t, topic), "closed 4001")
		})
	}},
	{name: "closed-by-the-view", run: func(t *testing.T, s *site) {
		for _, code := range []int{1000, 4002} {
			w := s.driven(t, "")
			w.order(t, order{"send", "bye"}, order{"close", code})
			w.wants(t, "bye")
			if got, _ := w.closed(t); got != code {
				t.Errorf("close %d, want %d", got, code)
			}
			w.hangUp(code, "")
			w.ended(t)
		}
	}},
	{name: "closed-by-a-publish", run: func(t *testing.T, s *site) {
		c := channelOf(t)
		w := s.dial(t, "/socket/?room="+c)
		w.settled(t)
		s.posted(t, "/publish/", "channel", c, "close-socket", "4003")
		if got, _ := w.closed(t); got != 4003 {
			t.Errorf("close %d, want 4003", got)
		}
	}},
	{name: "lost", run: func(t *testing.T, s *site) {
		topic := channelOf(t)
		w := s.dial(t, "/echo/?topic="+topic)
		w.settled(t)
		w.Close()
		smoketest.Until(t, "the view to note that the client is gone", func() bool {
			return slices.Contains(s.notes(t, topic), "disconnected")
		})
		if got := s.notes(t, topic); len(got) != 1 {
			t.Errorf("notes %q, want one end", got)
		}
	}},
	{name: "refused", run: func(t *testing.T, s *site) {
		_, resp := s.shake(t, "/refused/")
		body, _ := io.ReadAll(io.LimitReader(resp.Body, 8))
		if resp.StatusCode != 403 || string(body) != "not you\n" {
			t.Errorf("handshake = %s %q, want the view's 403", resp.Status, body)
		}
	}},
	{name: "not-there", run: func(t *testing.T, s *site) {
		if _, resp := s.shake(t, "/nowhere/"); resp.StatusCode != 404 {
			t.Errorf("handshake = %s, want 404", resp.Status)
		}
	}},
	{name: "failing-view", run: func(t *testing.T, s *site) {
		w := s.driven(t, "")
		w.order(t, order{"fail", nil})
		w.ended(t)
	}},
	{name: "detach", run: socketDetach},
	{name: "events-over-http-are-not-the-client's", run: func(t *testing.T, s *site) {
		a := s.do(t, s.request(t, "POST", "/echo/", strings.NewReader("OPEN\r\n"),
			[]string{"Content-Type: application/websocket-events", "Connection-Id: x"}))
		if a.head.Get("Sec-WebSocket-Extensions") != "" && !onPushpin() {
			t.Errorf("%d %v %q: a client spoke for the server", a.status, a.head, short(a.body))
		}
	}},
	{name: "websockets-of-python", run: func(t *testing.T, s *site) {
		s.run(t, "testdata/websockets_client.py", channelOf(t))
	}},
}

// An order is one thing that the view of /driven/ does.
type order struct {
	what  string
	value any
}

func (s *site) driven(t *testing.T, topic string) *socket {
	t.Helper()
	return s.dial(t, "/driven/?topic="+topic)
}

// order has the view do things, all in one answer.
func (w *socket) order(t *testing.T, orders ...order) {
	t.Helper()
	list := []map[string]any{}
	for _, o := range orders {
		list = append(list, map[string]any{"do": o.what, "value": o.value})
	}
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	w.send(opText, string(text))
}

// ended waits until the connection is over, with or without a close frame.
func (w *socket) ended(t *testing.T) {
	t.Helper()
	if _, err := io.Copy(io.Discard, w.r); err != nil && strings.Contains(err.Error(), "timeout") {
		t.Fatalf("the connection has not ended: %v", err)
	}
}

// A socket that was detached hears what is published, and its own messages reach
// nobody.
func socketDetach(t *testing.T, s *site) {
	c, topic := channelOf(t), channelOf(t)
	w := s.driven(t, topic)
	w.order(t, order{"subscribe", c}, order{"send", "going"}, order{"detach", nil})
	w.wants(t, "going")
	s.posted(t, "/publish/", "channel", c, "message", "detached")
	w.wants(t, "detached")
	w.order(t, order{"send", "not any more"})
	s.posted(t, "/publish/", "channel", c, "message", "heard")
	w.wants(t, "heard")
	w.still(t)
	// pushpin tells the view of a close, since the two have parted.
	got := slices.DeleteFunc(s.notes(t, topic), func(n string) bool { return n == "closed None" })
	if len(got) != 1 {
		t.Errorf("the view noted %q, want the first order alone", got)
	}
}
