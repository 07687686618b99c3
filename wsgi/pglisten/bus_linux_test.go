// SPDX-License-Identifier: MIT

package pglisten

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/sse"
)

// fill publishes until the last worker, which does not receive, takes no more.
func fill(t *testing.T, b *bus.Bus) {
	t.Helper()
	for range 1 << 16 {
		_, err := sse.PublishEvent(b, "a", large())
		var dropped *bus.RefusedError
		if errors.As(err, &dropped) && slices.Contains(dropped.Channels, b.Channels()-1) {
			return
		}
	}
	t.Fatal("65,536 events are waiting and nothing is full")
}

// large is an event of which few fill a channel.
func large() sse.Event { return sse.Event{Data: strings.Repeat("x", 32<<10)} }

func openBus(t *testing.T, workers int) *bus.Bus {
	t.Helper()
	page, _, err := bus.NewPage(workers) // its descriptor goes with the process
	if err != nil {
		t.Fatal(err)
	}
	for i := range workers {
		page.Worker(i).SetState(bus.Starting)
	}
	channels, err := bus.NewChannels(workers)
	if err != nil {
		t.Fatal(err)
	}
	b, err := bus.Open(bus.Config{
		Page: page, Read: channels.Read[0], Write: channels.Write, QueueFrames: 8,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// An event that one of two workers has is published; one that nobody has is not.
func TestEventThatSomeWorkersHaveIsPublished(t *testing.T) {
	b := openBus(t, 2)
	b.Receive(func(bus.Frame) {})
	fill(t, b)
	if err := ToBus(b)("a", large()); err != nil {
		t.Errorf("publish with one full worker of two = %v, want nil", err)
	}
	alone := openBus(t, 1)
	fill(t, alone)
	if err := ToBus(alone)("a", large()); !errors.Is(err, bus.ErrRefused) {
		t.Errorf("publish that nobody takes = %v, want ErrRefused", err)
	}
}
