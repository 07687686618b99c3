// SPDX-License-Identifier: MIT

//go:build linux

package heldsite

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"m0serve.dev/apps/internal/smoketest"
)

// TestStalledClientsHarmNobody has five clients that never read beside one that does.
func TestStalledClientsHarmNobody(t *testing.T) {
	s := start(t, 1, metrics(t))
	for range 5 {
		c := s.send("GET", say("M0-Channel: a"))
		if err := c.Conn.(*net.TCPConn).SetReadBuffer(8 << 10); err != nil {
			t.Fatal(err)
		}
	}
	smoketest.Until(t, "five streams", func() bool { return s.held() == 5 })
	c, _, _ := s.open(say("M0-Channel: a"))
	const rounds, events, size = 60, 25, 20_000
	data := "data: " + strings.Repeat("x", size) + "\n\n"
	for i := range rounds {
		s.publish("a", "", fmt.Sprint("size=", size), fmt.Sprint("times=", events))
		for range events {
			if text := s.piece(c); !strings.HasSuffix(text, data) {
				t.Fatalf("round %d: got %d bytes: %.60q", i, len(text), text)
			}
		}
	}
	if n := s.figure("m0_streams_cut_total"); n != 5 {
		t.Errorf("%d streams are cut as slow, want the five that do not read", n)
	}
	if !strings.Contains(s.Log(), "does not keep up") {
		t.Errorf("the log does not say that streams are cut")
	}
	for _, c := range s.conns {
		c.Close()
	}
	s.nothingHeld()
}

// TestBusyViewLeavesStreamsAlone has a view hold the only thread, and the GIL.
func TestBusyViewLeavesStreamsAlone(t *testing.T) {
	s := startGrip(t, 1)
	c, _, _ := s.open(stream("Grip-Channel: a"))
	busy := s.send("GET", "/busy?seconds=2")
	if err := busy.Silent(100 * time.Millisecond); err != nil {
		t.Fatal(err)
	}
	s.items(streamed("a", "meanwhile"))
	s.wantPiece(c, "meanwhile")
	if err := busy.Silent(time.Millisecond); err != nil {
		t.Errorf("the view was over before the stream got its item: %v", err)
	}
	s.read(busy, "200 OK", "/busy")
}

// TestBusyViewsLoseNothing publishes to a thousand streams of a worker whose only thread
// computes. What it costs in time, and in memory, is a matter of `go run ./tools bench
// realtime --only busy`.
func TestBusyViewsLoseNothing(t *testing.T) {
	const streams, views, items = 1000, 5, 12
	s := startGrip(t, 1)
	held := make([]*rawConn, streams)
	for i := range held {
		held[i], _, _ = s.open(stream("Grip-Channel: a"))
	}
	want, beside := "", 0
	for v := range views {
		busy := s.send("GET", "/busy?seconds=0.2")
		for i := range items {
			text := fmt.Sprint(v, ".", i, ";")
			s.items(streamed("a", text))
			want += text
		}
		if busy.Silent(time.Millisecond) == nil {
			beside++
		}
		s.read(busy, "200 OK", "/busy")
	}
	if beside == 0 {
		t.Error("no view was still computing when its items were published")
	}
	for i, c := range held {
		got := ""
		for len(got) < len(want) {
			text, err := c.Piece()
			if got += text; err != nil {
				t.Fatalf("stream %d got %q, %v; want %q in order", i, got, err, want)
			}
		}
		if got != want {
			t.Fatalf("stream %d got %q, want %q", i, got, want)
		}
	}
}
