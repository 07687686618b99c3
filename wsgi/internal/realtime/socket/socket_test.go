// SPDX-License-Identifier: MIT

//go:build linux

package socket

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"m0serve.dev/http/loop"
	"m0serve.dev/http/sse"
)

// TestNobodyIsAsked: why a message reached nobody is what its socket is closed with.
func TestNobodyIsAsked(t *testing.T) {
	s := serve(t, application{fields: ours(), answer: echo})
	for want, err := range map[string]error{
		"close 1013 the server is busy": loop.ErrBusy,
		"close 1012":                    loop.ErrClosed,
		"close 1011 the message could not be handed over": errors.New("head too long"),
	} {
		s.askWith(func(loop.Asking) error { return err })
		c := s.open(t)
		c.send("a")
		c.want(want)
	}
	s.askWith(nil)
	c := s.open(t)
	c.send("a")
	c.want("a")
	if got := s.busy.Load(); got != 1 {
		t.Errorf("%d sockets were closed as the server was busy, want 1", got)
	}
}

// TestHubEndsSlot: what the hub cannot deliver closes the socket, with 1012 in a drain.
func TestHubEndsSlot(t *testing.T) {
	s := serve(t, application{fields: on("a"), answer: echo})
	c := s.open(t)
	if _, err := s.hub.PublishEvent("a", sse.Event{Name: "n", Data: "one\ntwo"}); err != nil {
		t.Fatal(err)
	}
	c.want("one\ntwo")
	s.hub.Lost(1)
	c.want("close 1013 messages were missed")
	c = s.open(t)
	s.Drain()
	s.hub.Drain(time.Millisecond, 0)
	c.want("close 1012")
	s.open(t).want("close 1012") // one that comes late
}

// TestQueueIsBounded: a client that says more than the application takes is not read,
// and everything that it has said is asked in order.
func TestQueueIsBounded(t *testing.T) {
	release := make(chan struct{})
	var asked atomic.Int32
	s := serve(t, application{fields: ours(), answer: func(x *loop.Exchange) {
		if asked.Add(1) == 1 {
			<-release
		}
		echo(x)
	}})
	c := s.open(t)
	const long, enough = 100 << 10, 200
	for i := range enough {
		text := fmt.Sprintf("%03d", i) + strings.Repeat("x", long)
		done := make(chan struct{})
		go func() { defer close(done); c.send(text) }()
		select {
		case <-done:
			continue
		case <-time.After(200 * time.Millisecond):
		}
		close(release)
		for n := range i + 1 {
			if got := c.next(); got[:3] != fmt.Sprintf("%03d", n) || len(got) != long+3 {
				t.Fatalf("reply %d is %.10q of %d bytes", n, got, len(got))
			}
		}
		<-done
		return
	}
	t.Errorf("the server took %d messages of %d bytes that nobody was asked", enough, long)
}

// TestCrowdWaits: at most askingMax requests are out, and who waits longest is next.
func TestCrowdWaits(t *testing.T) {
	var out []loop.Asking
	s := New(Config{Ask: func(a loop.Asking) error { out = append(out, a); return nil }})
	for i := range askingMax + 3 {
		s.enter(&socket{s: s, opening: &Opening{target: fmt.Sprint("/", i)}, talk: silent{},
			asking: true})
	}
	if len(out) != askingMax {
		t.Fatalf("%d requests are out, want %d", len(out), askingMax)
	}
	for i := range 3 {
		out[i].Done(nil)
		want := fmt.Sprint("/", askingMax+i)
		if got := string(out[len(out)-1].Raw); len(out) != askingMax+i+1 || got != want {
			t.Errorf("behind an answer %d requests are out, the last for %s; want %s", len(out), got, want)
		}
	}
	for _, a := range out[3:] {
		a.Done(nil)
	}
	if s.asking != 0 || len(s.queue) != 0 {
		t.Errorf("behind all answers %d are out and %d wait", s.asking, len(s.queue))
	}
}

// silent is a talk whose requests are the target alone.
type silent struct{}

func (silent) requestLocked(k *socket) []byte   { return []byte(k.opening.target) }
func (silent) answered(*socket, *loop.Exchange) {}
func (silent) closedLocked() bool               { return false }

// TestIsForged: what poses as the server's own request is known by its type alone.
func TestIsForged(t *testing.T) {
	const events = "application/websocket-events"
	for lines, want := range map[string]bool{
		"POST /a HTTP/1.1\r\nContent-Type: " + events + "\r\nContent-Length: 1":         true,
		"POST /a HTTP/1.1\r\nContent-Type: APPLICATION/WebSocket-Events;a=b":            true,
		"POST /a HTTP/1.1\r\nContent-Type: text/plain\r\nAccept: " + events:             false,
		"GET /a HTTP/1.1\r\nContent-Type: " + events:                                    false,
		"GET /a HTTP/1.1\r\nContent-Type: " + events + "\r\nTransfer-Encoding: chunked": true,
	} {
		r := parse(t, lines)
		if got := (&Sockets{cfg: Config{Grip: true}}).IsForged(r); got != want {
			t.Errorf("IsForged(%q) = %v, want %v", lines, got, want)
		}
		if new(Sockets).IsForged(r) {
			t.Errorf("IsForged(%q) without GRIP", lines)
		}
	}
}

// TestFieldsOfTheOpening: requests on behalf of a socket have the client's fields, but
// for those of the handshake and those that are the server's.
func TestFieldsOfTheOpening(t *testing.T) {
	r := parse(t, "GET /a HTTP/1.1\r\nHost: h\r\nCookie: a=b\r\nUpgrade: websocket\r\n"+
		"Connection: Upgrade\r\nSec-WebSocket-Key: x\r\nSec-WebSocket-Extensions: y\r\nOrigin: o\r\n"+
		"If-None-Match: z\r\nContent-Type: t\r\nExpect: 100-continue\r\nMeta-User: m\r\n"+
		"Set-Meta-User: m\r\nM0-Slot: s\r\nGrip-Sig: g\r\nConnection-Id: c\r\nTE: trailers\r\nX-Y: z")
	const want = "Cookie: a=b\r\nOrigin: o\r\nX-Y: z\r\n"
	if got := appendFields(nil, r); !bytes.Equal(got, []byte(want)) {
		t.Errorf("appendFields gave %q, want %q", got, want)
	}
}
