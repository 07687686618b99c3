// SPDX-License-Identifier: MIT

package stream

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"

	"m0serve.dev/datastar"
	"m0serve.dev/http/sse"
)

// ErrID refuses an event that carries an id of its own: a client would take it
// before it has the event, and lose the event when the connection breaks there.
var ErrID = errors.New("stream: an event of a frame has an id of its own")

// Options say what a stream carries. Only Channel is required.
type Options struct {
	// Channel is the name on the bus.
	Channel string
	// Snapshot encodes the whole state, as events without an id, for a page that
	// cannot be caught up, and says which id the state is up to. 0 stands for
	// all that was delivered here when Snapshot was called; what is newer comes
	// again then, so frames that add to the page need the true id. Pages that
	// ask at the same moment share a call. After an error the page is cut off
	// and asks again later. nil: such a page goes on with what comes next.
	Snapshot func(context.Context) (events []byte, id uint64, err error)
	// Since names the query parameter by which a page says which id it was
	// rendered from; "": "since".
	Since string
	// Limits bound what waits for one page; nil: the hub's. A policy other than
	// sse.Disconnect drops events, and no page is told: a Datastar client reads
	// over events that it does not know.
	Limits *sse.Limits
	// Codings are what frames may be coded in, once for all pages, as
	// compress.ZstdFrames and compress.GzipFrames do it; see sse.HoldOptions. nil:
	// none.
	Codings []sse.Coding
}

// A Stream is one live stream of any number of pages. Its methods may be called
// from any goroutine.
type Stream struct {
	hub *sse.Hub
	o   Options
}

// A Frame is one or more encoded events under one id. A page that lost its
// connection inside a frame gets all of it again.
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

// PatchElements sends html into every page. An id in o is passed over: the
// stream gives its own.
func (s *Stream) PatchElements(html []byte, o datastar.ElementsOptions) (id uint64, err error) {
	o.ID = ""
	return s.sendNumbered(func(dst []byte) ([]byte, error) {
		return datastar.AppendPatchElements(dst, html, o)
	})
}

// PatchSignals merges a JSON object into the signals of every page. An id in o
// is passed over: the stream gives its own.
func (s *Stream) PatchSignals(object []byte, o datastar.SignalsOptions) (id uint64, err error) {
	o.ID = ""
	return s.sendNumbered(func(dst []byte) ([]byte, error) {
		return datastar.AppendPatchSignals(dst, object, o)
	})
}

func (s *Stream) sendNumbered(encode func([]byte) ([]byte, error)) (id uint64, err error) {
	f, err := s.Number(encode)
	if err != nil {
		return 0, err
	}
	return f.ID, s.Send(f)
}

// Publish takes an id, has encode append events without one, and sends them.
// encode may read the state: it runs after the id was taken, so what it reads
// is not older than the id, and of two that run at once the one that pages get
// last has seen the changes of both. It has to be quick, since frames with
// higher ids wait for this one.
func (s *Stream) Publish(encode func(dst []byte) ([]byte, error)) (id uint64, err error) {
	f := Frame{ID: s.hub.NextID()}
	encoded := false
	defer func() {
		if !encoded { // a hole would hold up the frames behind it
			f.Body = sse.AppendID(nil, f.ID)
			_ = s.Send(f)
		}
	}()
	body, err := checked(encode)
	if err != nil {
		return 0, err
	}
	encoded = true
	f.Body = sse.AppendID(body, f.ID)
	return f.ID, s.Send(f)
}

// Number has encode append events without an id and takes the next id for
// them, for an application that stores what it sends. Send the frame soon,
// since frames with higher ids wait for it. Where the state is rendered and
// numbered under one lock, as in a transaction, a higher id is a newer state.
func (s *Stream) Number(encode func(dst []byte) ([]byte, error)) (Frame, error) {
	body, err := checked(encode) // first: an error takes no id
	if err != nil {
		return Frame{}, err
	}
	id := s.hub.NextID()
	return Frame{ID: id, Body: sse.AppendID(body, id)}, nil
}

// checked encodes events and refuses an id among them. No text that an event
// carries begins a line with "id:"; only the field does.
func checked(encode func([]byte) ([]byte, error)) ([]byte, error) {
	body, err := encode(nil)
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(body, []byte("id:")) || bytes.Contains(body, []byte("\nid:")) {
		return nil, ErrID
	}
	return body, nil
}

// Send sends a numbered frame to every page. The error is that of bus.Publish:
// the frame was refused, or some workers were too far behind to take it.
func (s *Stream) Send(f Frame) error { return s.hub.Send(s.o.Channel, "", f.ID, f.Body) }

// Restore puts a frame that an earlier process stored back into the journal, so
// that pages are caught up across a restart, and raises the ids above it. Call
// it while the application is built, for every frame since the oldest restored.
func (s *Stream) Restore(f Frame) { s.hub.Restore(s.o.Channel, "", f.ID, f.Body) }

// Serve opens the stream for the page that asks; it is the last thing a handler
// does (see sse.Hold). hello, when not empty, is sent first: encoded events
// without an id, for this page alone. An error means that nothing was written;
// any status but 200 makes a client of Datastar give up for good.
func (s *Stream) Serve(w http.ResponseWriter, r *http.Request, hello []byte) error {
	o := sse.HoldOptions{
		Channels: []string{s.o.Channel}, Since: s.since(r), Hello: hello, Limits: s.o.Limits,
		Codings: s.o.Codings,
		// Without a snapshot nothing can be said to the page that it understands.
		Reset: []byte(": the history does not reach back to this page\n\n"),
	}
	if s.o.Snapshot != nil {
		o.Snapshot = s.snapshot
	}
	return s.hub.Hold(w, r, o)
}

// ServeHTTP is Serve without a hello. An error is one of the program, such as a
// channel name that the bus refuses: it is answered with 500.
func (s *Stream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := s.Serve(w, r, nil); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// since is the id that the page was rendered from, 0 when it says nothing. What
// is no id counts as one from long ago: the page gets everything.
func (s *Stream) since(r *http.Request) uint64 {
	text := r.URL.Query().Get(s.o.Since)
	if text == "" {
		return 0
	}
	id, err := strconv.ParseUint(text, 10, 64)
	if err != nil || id == 0 {
		return 1
	}
	return id
}

func (s *Stream) snapshot(ctx context.Context) (body []byte, id uint64, err error) {
	at := s.hub.LastID() // before the state is read: the state has all up to it
	body, id, err = s.o.Snapshot(ctx)
	if err != nil {
		return nil, 0, err
	}
	if id == 0 {
		id = at
	}
	return sse.AppendID(slices.Clip(body), id), id, nil
}
