// SPDX-License-Identifier: MIT

package sse_test

import (
	"testing"
	"time"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/loop"
	"m0serve.dev/http/sse"
)

// A stalled is a connection that takes nothing until it is told to.
type stalled struct{ endings []loop.Ending }

func (s *stalled) Wake()                { /* it does not read */ }
func (s *stalled) Close(as loop.Ending) { s.endings = append(s.endings, as) }

// stall opens a stream whose client does not read.
func stall(t *testing.T, h *sse.Hub, o sse.HoldOptions) (*sse.Slot, *stalled) {
	t.Helper()
	slot, err := h.Attach(o)
	if err != nil {
		t.Fatal(err)
	}
	s := &stalled{}
	slot.Park(s, false)
	t.Cleanup(func() { slot.Closed(loop.ClosedByPeer) })
	return slot, s
}

// TestFinishIsBehindWhatWaits: a stream that is finished is written to its end first.
func TestFinishIsBehindWhatWaits(t *testing.T) {
	h := sse.NewHub(sse.HubConfig{Bus: bus.Local()})
	slot, conn := stall(t, h, sse.HoldOptions{Channels: []string{"a"}})
	deliver(h, "a", "last")
	slot.Finish(loop.EndClean)
	if n := deliver(h, "a", "late"); n != 0 || len(conn.endings) != 0 {
		t.Errorf("a finished stream took %d frames, endings %v before it was read", n, conn.endings)
	}
	if f := slot.NextFrame(); f == nil || string(f.Body()) != "last" {
		t.Fatalf("got %v, want what waited", f)
	}
	if f := slot.NextFrame(); f != nil || len(conn.endings) != 1 || conn.endings[0] != loop.EndClean {
		t.Errorf("got %v, endings %v; want the end", f, conn.endings)
	}
}

// TestRawStreamGetsNoFarewell: what is no event stream is not written into.
func TestRawStreamGetsNoFarewell(t *testing.T) {
	h := sse.NewHub(sse.HubConfig{Bus: bus.Local()})
	raw, rawConn := stall(t, h, sse.HoldOptions{Channels: []string{"a"}, Raw: true})
	events, _ := stall(t, h, sse.HoldOptions{Channels: []string{"a"}})
	h.Drain(time.Second, 0)
	if f := raw.NextFrame(); f != nil || len(rawConn.endings) != 1 {
		t.Errorf("the raw stream got %v, endings %v; want only the end", f, rawConn.endings)
	}
	if f := events.NextFrame(); f == nil || string(f.Body()) != "retry: 1000\n\n" {
		t.Errorf("the event stream got %v, want a time to wait", f)
	}
}

// TestCutIsTold: who opened a stream hears that it is cut for what it has missed.
func TestCutIsTold(t *testing.T) {
	h := sse.NewHub(sse.HubConfig{Bus: bus.Local()})
	cuts := 0
	_, conn := stall(t, h, sse.HoldOptions{Channels: []string{"a"}, OnCut: func() { cuts++ },
		Limits: &sse.Limits{Frames: 2}})
	for range 2 {
		deliver(h, "a", "x")
	}
	if cuts != 0 {
		t.Fatalf("%d cuts of a stream that keeps up", cuts)
	}
	for range 2 {
		deliver(h, "a", "too much")
	}
	if cuts != 1 || len(conn.endings) != 1 || conn.endings[0] != loop.EndCut {
		t.Errorf("%d cuts, endings %v; want one", cuts, conn.endings)
	}
	_, lost := stall(t, h, sse.HoldOptions{Channels: []string{"a"}, OnCut: func() { cuts++ }})
	h.Lost(1)
	if cuts != 2 || len(lost.endings) != 1 {
		t.Errorf("%d cuts, endings %v; want one for what the bus lost", cuts, lost.endings)
	}
}
