// SPDX-License-Identifier: MIT

package sse

import (
	"fmt"
	"unicode/utf8"

	"m0serve.dev/http/bus"
)

// PublishEvent is the one way to publish an event for plain EventSource
// clients: whoever publishes, in whichever process and through whichever door,
// a client sees the same bytes. The event's name is the kind of the frame. Its
// id is e.ID, or the id of the frame where that is "": a client then has in its
// Last-Event-ID what a Hub catches it up from.
//
// Everything is checked and encoded before the id is taken, since frames with
// higher ids wait for it.
func PublishEvent(b *bus.Bus, channel string, e Event) (id uint64, err error) {
	if err := checkEvent(channel, &e); err != nil {
		return 0, err
	}
	// Data first, behind room for the fields that come before it.
	room := len("event: \nid: \n") + len(e.Name) + max(len(e.ID), idDigits)
	buf, err := Append(make([]byte, room), Event{Data: e.Data, Retry: e.Retry, Empty: e.Empty})
	if err != nil {
		return 0, err
	}
	if len(buf) == room {
		buf = append(buf, '\n')
	}
	if len(buf) > bus.MaxBody {
		return 0, fmt.Errorf("%w: %d bytes when encoded, at most %d",
			bus.ErrTooLarge, len(buf), bus.MaxBody)
	}
	id = b.NextID()
	if e.ID == "" {
		e.ID = formatID(id)
	}
	head := make([]byte, 0, room)
	if e.Name != "" {
		head = appendField(head, "event: ", e.Name)
	}
	head = appendField(head, "id: ", e.ID)
	body := buf[room-len(head):]
	copy(body, head)
	return id, b.Publish(bus.Frame{ID: id, Channel: channel, Kind: e.Name, Body: body})
}

// idDigits is the length of the longest id.
const idDigits = len("18446744073709551615")

// checkEvent says why an event cannot be published.
func checkEvent(channel string, e *Event) error {
	if err := bus.CheckName(channel); err != nil {
		return err
	}
	if err := bus.CheckKind(e.Name); err != nil {
		return err
	}
	if !utf8.ValidString(e.ID) {
		return ErrField
	}
	return e.check()
}
