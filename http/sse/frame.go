// SPDX-License-Identifier: MIT

package sse

import (
	"strconv"
	"sync/atomic"
)

// A Frame is one encoded event on its way to any number of streams. It never
// changes once made, so it needs no lock and no copy.
type Frame struct {
	id      uint64
	channel string
	kind    string
	wire    []byte // one chunk: size, CRLF, body, CRLF
	head    int    // where the body begins in wire
	note    any    // see With
	origin  *Frame // of With; it has the forms
	forms   atomic.Pointer[form]
}

// NewFrame makes a frame of body, which is copied. id 0 stands outside the
// order: the frame is delivered whatever the stream had last.
func NewFrame(id uint64, channel, kind string, body []byte) *Frame {
	wire := make([]byte, 0, len(body)+20)
	wire = strconv.AppendUint(wire, uint64(len(body)), 16)
	wire = append(wire, "\r\n"...)
	head := len(wire)
	wire = append(wire, body...)
	wire = append(wire, "\r\n"...)
	return &Frame{id: id, channel: channel, kind: kind, wire: wire, head: head}
}

// ID is the event id, 0 for a frame outside the order.
func (f *Frame) ID() uint64 { return f.id }

// Channel is the name it was published under.
func (f *Frame) Channel() string { return f.channel }

// Kind is the event's kind, which coalescing goes by.
func (f *Frame) Kind() string { return f.kind }

// Body is the encoded event. It must not be changed.
func (f *Frame) Body() []byte { return f.wire[f.head : len(f.wire)-2] }

// With is the frame with a note, for those that look at frames (HoldOptions.Pass,
// Slot.NextFrame).
func (f *Frame) With(note any) *Frame {
	g := &Frame{id: f.id, channel: f.channel, kind: f.kind, wire: f.wire, head: f.head, note: note}
	if g.origin = f.origin; g.origin == nil {
		g.origin = f
	}
	return g
}

// Note is what With gave, nil when nothing.
func (f *Frame) Note() any { return f.note }

// bytes is what a stream writes for the frame.
func (f *Frame) bytes(chunked bool) []byte {
	if chunked && len(f.wire) > f.head+2 {
		return f.wire
	}
	return f.Body()
}
