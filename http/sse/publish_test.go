// SPDX-License-Identifier: MIT

package sse

import (
	"errors"
	"strings"
	"testing"
	"time"

	"m0serve.dev/http/bus"
)

// published returns what a worker gets of an event.
func published(t *testing.T, b *bus.Bus, got <-chan bus.Frame, e Event) bus.Frame {
	t.Helper()
	id, err := PublishEvent(b, "c", e)
	if err != nil {
		t.Fatalf("PublishEvent(%+v): %v", e, err)
	}
	f := <-got
	if f.ID != id || f.Channel != "c" || f.Kind != e.Name {
		t.Errorf("PublishEvent(%+v) = %d, frame %d on %q of kind %q; want the same id, c and the name",
			e, id, f.ID, f.Channel, f.Kind)
	}
	return f
}

func TestPublishedEventsAreWhatTheEncoderMakes(t *testing.T) {
	b := bus.Local()
	defer b.Close()
	got := make(chan bus.Frame, 1)
	b.Receive(func(f bus.Frame) { got <- f })
	for _, e := range []Event{
		{}, {Empty: true}, {Data: "a"}, {Name: "n", Data: "a\nb\r\nc"}, {Name: "n"},
		{ID: "mine", Data: "x"}, {Retry: time.Second}, {Name: "ä", Data: "\xff", ID: "é"},
		{ID: strings.Repeat("9", 40), Name: "n", Data: "y"},
	} {
		f := published(t, b, got, e)
		if e.ID == "" {
			e.ID = formatID(f.ID)
		}
		want, err := Append(nil, e)
		if err != nil || string(f.Body) != string(want) {
			t.Errorf("PublishEvent(%+v) sends %q, want %q (%v)", e, f.Body, want, err)
		}
	}
}

func TestPublishEventTakesNoIDForWhatItRefuses(t *testing.T) {
	b := bus.Local()
	defer b.Close()
	before := b.CurrentID()
	for name, c := range map[string]struct {
		channel string
		event   Event
		want    error
	}{
		"reserved":        {"\x01x", Event{}, bus.ErrReserved},
		"no name":         {"", Event{}, bus.ErrName},
		"bad kind":        {"c", Event{Name: "a\nb"}, bus.ErrKind},
		"long kind":       {"c", Event{Name: strings.Repeat("k", 256)}, bus.ErrKind},
		"line in the id":  {"c", Event{ID: "a\nb"}, ErrField},
		"id is not UTF-8": {"c", Event{ID: "\xff"}, ErrField},
		"retry":           {"c", Event{Retry: -1}, ErrRetry},
		"large":           {"c", Event{Data: strings.Repeat("x", bus.MaxBody)}, bus.ErrTooLarge},
		"grows too large": {"c", Event{Data: strings.Repeat("\n", bus.MaxBody/4)}, bus.ErrTooLarge},
	} {
		if _, err := PublishEvent(b, c.channel, c.event); !errors.Is(err, c.want) {
			t.Errorf("%s: PublishEvent = %v, want %v", name, err, c.want)
		}
	}
	if taken := b.CurrentID() - before; taken != 0 {
		t.Errorf("%d ids were taken for refused events, want none: others would wait for them", taken)
	}
}
