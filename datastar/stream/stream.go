// SPDX-License-Identifier: MIT

// Package stream keeps Datastar pages live: every event that one worker sends
// reaches every page on all workers, and a page that lost its connection is
// caught up when it comes back.
//
// The layer honours what the client does. It takes an id when it reads the id's
// line, whole event or not, so the id of an event follows it in a block of its
// own: a connection that breaks inside an event asks for that event again. It
// stops for good when a stream ends cleanly, so a drain cuts streams, after
// telling each client its own time to wait. It drops its stream while its tab
// is hidden and continues with the id it had; a page that was just loaded has no
// id and gets no history, unless it says since which one (see Options.Since).
package stream

import (
	"context"
	"net/http"
	"strconv"

	"m0serve.dev/datastar"
	"m0serve.dev/http/sse"
)

// Options say what a stream carries. Only Channel is required.
type Options struct {
	// Channel is the name on the bus.
	Channel string
	// Snapshot encodes the whole state, for a page that cannot be caught up, and
	// says which id it is up to. Pages that ask at the same moment share a call.
	Snapshot func(context.Context) (events []byte, id uint64, err error)
	// Since names the query parameter by which a page says which id it was
	// rendered from; "": "since".
	Since string
	// Limits bound what waits for one page; nil: the hub's.
	Limits *sse.Limits
}

// A Stream is one live stream of any number of pages. Its methods may be called
// from any goroutine.
type Stream struct {
	hub *sse.Hub
	o   Options
}

// A Frame is one or more encoded events under one id.
type Frame struct {
	ID   uint64
	Body []byte // the events, then the block with the id
}

// New makes a stream on the hub.
func New(hub *sse.Hub, o Options) *Stream {
	if o.Since == "" {
		o.Since = "since"
	}
	return &Stream{hub: hub, o: o}
}

// Number takes the next id and encodes a frame under it, for an application
// that stores what it sends. Send it soon. encode appends events and no id.
func (s *Stream) Number(encode func(dst []byte) ([]byte, error)) (Frame, error) {
	// Encoded first: an error takes no id.
	body, err := encode(nil)
	if err != nil {
		return Frame{}, err
	}
	id := s.hub.NextID()
	return Frame{ID: id, Body: sse.AppendID(body, id)}, nil
}

// Send sends a numbered frame to every page. The error is that of bus.Publish:
// the frame was refused, or some workers were too far behind to take it.
func (s *Stream) Send(f Frame) error { return s.hub.Send(s.o.Channel, "", f.ID, f.Body) }

// Restore puts a frame that an earlier process stored back into the journal, so
// that pages are caught up across a restart, and raises the ids above it. Call
// it while the application is built.
func (s *Stream) Restore(f Frame) { s.hub.Restore(s.o.Channel, "", f.ID, f.Body) }

// Publish encodes events and sends them. encode appends events and no id; it is
// called after the id was taken, so what it reads is not older than the id.
func (s *Stream) Publish(encode func(dst []byte) ([]byte, error)) (id uint64, err error) {
	id = s.hub.NextID()
	body, err := encode(nil)
	if err != nil {
		return 0, err
	}
	return id, s.Send(Frame{ID: id, Body: sse.AppendID(body, id)})
}

// PatchElements sends html into every page.
func (s *Stream) PatchElements(html []byte, o datastar.ElementsOptions) (id uint64, err error) {
	o.ID = "" // the id stands behind the event
	return s.Publish(func(dst []byte) ([]byte, error) {
		return datastar.AppendPatchElements(dst, html, o)
	})
}

// PatchSignals merges a JSON object into the signals of every page.
func (s *Stream) PatchSignals(object []byte, o datastar.SignalsOptions) (id uint64, err error) {
	o.ID = ""
	return s.Publish(func(dst []byte) ([]byte, error) {
		return datastar.AppendPatchSignals(dst, object, o)
	})
}

// Serve opens the stream for the page that asks; it is the last thing a handler
// does (see sse.Hold). hello, when not empty, is sent first: encoded events
// without an id, for this page alone. An error means that nothing was written.
func (s *Stream) Serve(w http.ResponseWriter, r *http.Request, hello []byte) error {
	// A number that is none counts as one that is too old: the page gets all.
	since, err := uint64(0), error(nil)
	if v := r.URL.Query().Get(s.o.Since); v != "" {
		if since, err = strconv.ParseUint(v, 10, 64); err != nil || since == 0 {
			since = 1
		}
	}
	o := sse.HoldOptions{
		Channels: []string{s.o.Channel}, Since: since, Hello: hello, Limits: s.o.Limits,
		// Without a snapshot nothing can be said to the page that it understands.
		Reset: []byte(": the history does not reach back to this page\n\n"),
	}
	if s.o.Snapshot != nil {
		o.Snapshot = s.snapshot
	}
	return s.hub.Hold(w, r, o)
}

// ServeHTTP is Serve without a hello; an error is answered with 503.
func (s *Stream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := s.Serve(w, r, nil); err != nil {
		http.Error(w, http.StatusText(http.StatusServiceUnavailable), http.StatusServiceUnavailable)
	}
}

func (s *Stream) snapshot(ctx context.Context) (body []byte, id uint64, err error) {
	body, id, err = s.o.Snapshot(ctx)
	if err != nil || id == 0 {
		return body, id, err
	}
	return sse.AppendID(body, id), id, nil
}
