// SPDX-License-Identifier: MIT

//go:build linux

package heldsite

import (
	"encoding/json"
	"strings"
	"testing"

	"m0serve.dev/apps/internal/rawhttp"
)

func TestStreamOfAView(t *testing.T) {
	s := start(t, 1, metrics(t))
	c, head, first := s.open(say("M0-Hold: stream", "M0-Channel: a, b", "X-Own: kept",
		"body=: hello\n\n"))
	for name, want := range map[string]int{"m0_streams": 1, "m0_listeners": 0, "m0_polls": 0} {
		if n := s.figure(name); n != want {
			t.Errorf("%s is %d with one stream of two channels, want %d", name, n, want)
		}
	}
	for name, want := range map[string]string{
		"Content-Type": "text/event-stream", "Cache-Control": "no-cache",
		"X-Accel-Buffering": "no", "X-Own": "kept",
	} {
		if got := head.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if first != ": hello\n\n" {
		t.Errorf("the stream begins with %q, want what the view answered", first)
	}
	for _, channel := range []string{"a", "b"} {
		id := s.publish(channel, "to "+channel, "event=note")
		s.wantPiece(c, event(id, "note", "to "+channel))
	}
	s.publish("c", "not for this one")
	s.silent(c)
}

func TestSpellingsOfAStream(t *testing.T) {
	s := start(t, 1)
	for name, c := range map[string]struct{ target, contentType string }{
		"channel alone": {say("M0-Channel: a"), "text/event-stream"},
		"html is what frameworks say": {
			say("M0-Channel: a", "Content-Type: text/html; charset=utf-8", "body=: hi"),
			"text/event-stream"},
		"own type": {say("M0-Channel: a", "Content-Type: text/plain", "body=hi"), "text/plain"},
		"grip": {say("Grip-Hold: stream", "Grip-Channel: a",
			"Content-Type: text/event-stream"), "text/event-stream"},
		"any case": {say("gRIP-hold: stream", "m0-CHANNEL: a"), "text/event-stream"},
		"length":   {say("M0-Channel: a", "Content-Length: 2", "body=hi"), "text/event-stream"},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.of(t)
			_, head, _ := s.open(c.target)
			if got := head.Get("Content-Type"); got != c.contentType {
				t.Errorf("Content-Type: %q, want %q", got, c.contentType)
			}
			for _, line := range head.Fields {
				if isOurs(line) || strings.HasPrefix(line, "Content-Length") {
					t.Errorf("the client got %q", line)
				}
			}
		})
	}
}

// isOurs reports whether a field line speaks to the server.
func isOurs(line string) bool {
	line = strings.ToLower(line)
	return strings.HasPrefix(line, "grip-") || strings.HasPrefix(line, "m0-")
}

// TestFieldsForTheServerReachNobodyElse looks both ways.
func TestFieldsForTheServerReachNobodyElse(t *testing.T) {
	s := start(t, 1)
	r := s.get("200 OK", "/seen", "X-Seen: yes", "Grip-Sig: forged", "grip-last: a; last-id=1",
		"M0-Channel: a", "m0-slot: 7", "Grip_Sig: forged")
	var saw map[string]string
	if err := json.Unmarshal(r.Body, &saw); err != nil {
		t.Fatal(err)
	}
	if saw["HTTP_X_SEEN"] != "yes" {
		t.Errorf("the application saw %v, want X-Seen among it", saw)
	}
	for name := range saw {
		if strings.HasPrefix(name, "HTTP_GRIP") || strings.HasPrefix(name, "HTTP_M0") {
			t.Errorf("the application saw %s of a client", name)
		}
	}
	r = s.get("200 OK", say("Grip-Unknown: 1", "M0-Unknown: 2", "X-Own: kept", "body=whole"))
	for _, line := range r.Fields {
		if isOurs(line) {
			t.Errorf("the client got %q", line)
		}
	}
	if string(r.Body) != "whole" || r.Get("X-Own") != "kept" {
		t.Errorf("%v %q, want the answer without what is for the server", r.Fields, r.Body)
	}
}

// TestWithoutRealtimeNothingIsHeld is the other side: the fields are the application's.
func TestWithoutRealtimeNothingIsHeld(t *testing.T) {
	s := start(t, 1, "--no-realtime")
	r := s.get("200 OK", say("M0-Channel: a", "body=whole"), "Grip-Thing: x")
	if got := r.Get("M0-Channel"); got != "a" || string(r.Body) != "whole" {
		t.Errorf("M0-Channel: %q and %q, want the answer as it was given", got, r.Body)
	}
}

func TestHeadOfAHeldAnswer(t *testing.T) {
	s := start(t, 1)
	for _, hold := range []string{"stream", "response"} {
		c := s.send("HEAD", say("M0-Hold: "+hold, "M0-Channel: a"))
		r, err := c.Read("HEAD")
		if err != nil || r.Status != "200 OK" {
			t.Fatalf("HEAD of a hold %s: %+v, %v", hold, r, err)
		}
		for _, line := range r.Fields {
			if isOurs(line) {
				t.Errorf("HEAD of a hold %s shows %q", hold, line)
			}
		}
		c.Send("GET /worker HTTP/1.1\r\nHost: a\r\n\r\n") // the connection is free again
		s.read(c, "200 OK", "/worker")
	}
}

func TestStreamOfHTTP10EndsWithItsConnection(t *testing.T) {
	s := start(t, 1)
	c := s.sendAs("HTTP/1.0", "GET", say("M0-Channel: a", "body=: hi\n\n"))
	head, err := c.ReadHead("GET")
	if err != nil || head.Framing != rawhttp.Close {
		t.Fatalf("head %+v, %v; want one that ends with its connection", head, err)
	}
	id := s.publish("a", "x")
	want := ": hi\n\n" + event(id, "", "x")
	if got := s.bytes(c, len(want)); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestStreamsOfTwoWorkersGetEveryEvent(t *testing.T) {
	s := start(t, 2)
	workers := s.eachWorker(2, say("M0-Channel: a"))
	for range 20 {
		id := s.publish("a", "x")
		for _, c := range workers {
			s.wantPiece(c, event(id, "", "x"))
		}
	}
}

// TestStreamsHoldNoThread opens more streams than any pool of threads could serve.
func TestStreamsHoldNoThread(t *testing.T) {
	s := start(t, 1)
	const streams = 2000
	conns := make([]*rawhttp.Conn, streams)
	for i := range conns {
		conns[i], _, _ = s.open(say("M0-Channel: a"))
	}
	s.get("200 OK", "/worker")
	id := s.publish("a", "to all")
	for _, c := range conns {
		s.wantPiece(c, event(id, "", "to all"))
	}
}
