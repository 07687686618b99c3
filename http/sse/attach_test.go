// SPDX-License-Identifier: MIT

package sse_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/loop"
	"m0serve.dev/http/sse"
)

// A tap is what a slot without a connection feeds.
type tap struct {
	mu     sync.Mutex
	slot   *sse.Slot
	got    []string
	notes  []any
	closed bool
}

func (p *tap) Wake() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for f := p.slot.NextFrame(); f != nil; f = p.slot.NextFrame() {
		p.got = append(p.got, string(f.Body()))
		p.notes = append(p.notes, f.Note())
	}
}

func (p *tap) Close(loop.Ending) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
}

func (p *tap) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.got, "|")
}

// attach opens a tap.
func attach(t *testing.T, h *sse.Hub, o sse.HoldOptions) *tap {
	t.Helper()
	slot, err := h.Attach(o)
	if err != nil {
		t.Fatal(err)
	}
	p := &tap{slot: slot}
	slot.Park(p, false)
	t.Cleanup(func() { slot.Closed(loop.ClosedByPeer) })
	return p
}

func deliver(h *sse.Hub, channel, body string) int {
	return h.Deliver(sse.NewFrame(0, channel, "", []byte(body)))
}

// TestAttachedSlotChangesChannels: a slot that feeds no response gets the frames of
// the channels that it has at the moment, and leaves like any other.
func TestAttachedSlotChangesChannels(t *testing.T) {
	h := sse.NewHub(sse.HubConfig{Bus: bus.Local()})
	p := attach(t, h, sse.HoldOptions{Channels: []string{"a"}})
	other := attach(t, h, sse.HoldOptions{Channels: []string{"b", "a"}})
	for range 2 {
		if err := h.Subscribe(p.slot, "b"); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Subscribe(p.slot, "\x01b"); err == nil {
		t.Error("Subscribe to a name of the server: no error")
	}
	deliver(h, "a", "1")
	deliver(h, "b", "2")
	h.Unsubscribe(p.slot, "a")
	h.Unsubscribe(p.slot, "never")
	deliver(h, "a", "3")
	deliver(h, "b", "4")
	if got := p.text(); got != "1|2|4" {
		t.Errorf("the slot got %q, want 1|2|4", got)
	}
	if got := other.text(); got != "1|2|3|4" {
		t.Errorf("the other got %q, want 1|2|3|4", got)
	}
	p.slot.Closed(loop.ClosedByPeer)
	if n := deliver(h, "b", "5"); n != 1 {
		t.Errorf("Deliver reached %d slots after one has left, want 1", n)
	}
}

// TestStreamsAreCountedOnce: a stream counts as one however many channels it has, and
// what feeds no response is not among them.
func TestStreamsAreCountedOnce(t *testing.T) {
	h := sse.NewHub(sse.HubConfig{Bus: bus.Local()})
	want := func(streams, attached int, opened uint64) {
		t.Helper()
		got := h.Stats()
		if got.Streams != streams || got.Attached != attached || got.Opened != opened {
			t.Errorf("%d streams, %d attached, %d opened; want %d, %d, %d",
				got.Streams, got.Attached, got.Opened, streams, attached, opened)
		}
	}
	three := []string{"a", "b", "c"}
	p := attach(t, h, sse.HoldOptions{Channels: three})
	attach(t, h, sse.HoldOptions{Channels: three, OnCut: func() {}})
	want(0, 2, 0)
	ctx, leave := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- h.Hold(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "GET", "/", nil),
			sse.HoldOptions{Channels: three})
	}()
	for deadline := time.Now().Add(10 * time.Second); h.Stats().Streams == 0; {
		if time.Now().After(deadline) {
			t.Fatal("the stream does not begin")
		}
		time.Sleep(time.Millisecond)
	}
	want(1, 2, 1)
	leave()
	if err := <-done; err != nil {
		t.Error(err)
	}
	p.slot.Closed(loop.ClosedByPeer)
	want(0, 1, 1)
}

// TestPassDecides: what Pass returns is what a stream gets, frame by frame, with
// notes; other streams get the frames as they are.
func TestPassDecides(t *testing.T) {
	h := sse.NewHub(sse.HubConfig{Bus: bus.Local()})
	all := attach(t, h, sse.HoldOptions{Channels: []string{"a"}})
	some := attach(t, h, sse.HoldOptions{Channels: []string{"a"}, Pass: func(f *sse.Frame) *sse.Frame {
		switch string(f.Body()) {
		case "not you":
			return nil
		case "changed":
			return sse.NewFrame(0, "a", "", []byte("CHANGED")).With(7)
		}
		return f
	}})
	for _, body := range []string{"one", "not you", "changed"} {
		deliver(h, "a", body)
	}
	if got := all.text(); got != "one|not you|changed" {
		t.Errorf("the plain stream got %q", got)
	}
	if got := some.text(); got != "one|CHANGED" || some.notes[1] != 7 || some.notes[0] != nil {
		t.Errorf("the other got %q with notes %v", got, some.notes)
	}
}

// TestReservedFramesGoToTheServer: frames under names of the server reach whoever
// the hub was told of, and no stream.
func TestReservedFramesGoToTheServer(t *testing.T) {
	b := bus.Local()
	got := make(chan bus.Frame, 1)
	h := sse.NewHub(sse.HubConfig{Bus: b, Reserved: func(f bus.Frame) { got <- f }})
	h.Start()
	if err := b.SendTo(0, bus.Frame{Channel: "\x01test", Kind: "k", Body: []byte("b")}); err != nil {
		t.Fatal(err)
	}
	if f := <-got; f.Channel != "\x01test" || f.Kind != "k" || string(f.Body) != "b" {
		t.Errorf("got %+v", f)
	}
}
