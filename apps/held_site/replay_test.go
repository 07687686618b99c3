// SPDX-License-Identifier: MIT

//go:build linux

package heldsite

import (
	"strings"
	"testing"
	"time"

	"m0serve.dev/apps/internal/smoketest"
)

func TestLastEventIDIsCaughtUpFromTheJournal(t *testing.T) {
	s := start(t, 2, "--journal=10")
	var ids []string
	for _, data := range []string{"one", "two", "three"} {
		ids = append(ids, s.publish("a", data))
		s.publish("b", "of another channel")
	}
	missed := event(ids[1], "", "two") + event(ids[2], "", "three")
	for name, c := range map[string]struct{ target, line string }{
		"field":         {say("M0-Channel: a"), "Last-Event-ID: " + ids[0]},
		"query":         {say("M0-Channel: a", "lastEventId="+ids[0]), "X-None: 1"},
		"field is more": {say("M0-Channel: a", "lastEventId=1"), "Last-Event-ID: " + ids[0]},
		"grip": {say("Grip-Hold: stream", "Grip-Channel: a", "Content-Type: text/event-stream"),
			"Last-Event-ID: " + ids[0]},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.of(t)
			conn, _, got := s.open(c.target, c.line)
			for len(got) < len(":\n\n"+missed) {
				got += s.piece(conn)
			}
			if got != ":\n\n"+missed {
				t.Errorf("got %q, want what came behind the id: %q", got, missed)
			}
		})
	}
}

func TestUnknownIDGetsAReset(t *testing.T) {
	s := start(t, 1, "--journal=2")
	first := s.publish("a", "first")
	for range 5 {
		s.publish("a", "more")
	}
	for name, id := range map[string]string{
		"too old": first, "never was one": "abc", "long": strings.Repeat("9", 500),
	} {
		t.Run(name, func(t *testing.T) {
			s := s.of(t)
			c, _, got := s.open(say("M0-Channel: a"), "Last-Event-ID: "+id)
			if !strings.Contains(got, "event: reset\n") {
				got += s.piece(c)
			}
			if !strings.Contains(got, "event: reset\n") {
				t.Errorf("got %q, want a reset event", got)
			}
		})
	}
}

// TestIDOfTheApplicationIsItsOwn is a stream of GRIP with ids of its own.
func TestIDOfTheApplicationIsItsOwn(t *testing.T) {
	s := start(t, 1)
	c, _, _ := s.open(say("Grip-Hold: stream", "Grip-Channel: a", "Content-Type: text/event-stream"),
		"Last-Event-ID: test:5")
	s.silent(c)
}

func TestKeepAlive(t *testing.T) {
	s := start(t, 1)
	began := time.Now()
	idle, _, _ := s.open(say("Grip-Hold: stream", "Grip-Channel: a", "Content-Type: text/event-stream",
		`Grip-Keep-Alive: event: keep-alive\ndata:\n\n; format=cstring; timeout=2`))
	raw, _, _ := s.open(say("Grip-Hold: stream", "Grip-Channel: b", "Content-Type: text/plain",
		"body=hi", "Grip-Keep-Alive: AP8=; format=base64; timeout=1; mode=interval"))
	for range 3 {
		s.wantPiece(raw, "\x00\xff")
	}
	s.wantPiece(idle, "event: keep-alive\ndata:\n\n")
	if took := time.Since(began); took < 900*time.Millisecond || took > 4*time.Second {
		t.Errorf("four keep-alives of 1 and 2 s took %v", took)
	}
}

// TestKeepAliveOfABusyStream is sent only where nothing else is.
func TestKeepAliveOfABusyStream(t *testing.T) {
	s := start(t, 1)
	c, _, _ := s.open(say("Grip-Hold: stream", "Grip-Channel: a", "Content-Type: text/plain",
		"body=hi", "Grip-Keep-Alive: alive; timeout=2"))
	began := time.Now()
	smoketest.Until(t, "four busy seconds", func() bool {
		s.publish("a", "news")
		s.wantPiece(c, "news")
		time.Sleep(200 * time.Millisecond)
		return time.Since(began) > 4*time.Second
	})
	s.wantPiece(c, "alive")
}
