// SPDX-License-Identifier: MIT

package sse

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"m0serve.dev/http/loop"
)

// HoldOptions describe one stream.
type HoldOptions struct {
	// Channels are what the stream listens to. An untrusted name is refused.
	Channels []string
	// Since stands in for a missing Last-Event-ID: the id (Hub.LastID) of the
	// state that the page was rendered from. 0: a new stream, without history.
	Since uint64
	// Hello is sent first, before any frame. It carries no id.
	Hello []byte
	// Snapshot makes the whole state for a client that cannot be caught up, and
	// the id that it is up to: take Hub.LastID before reading the state. It has
	// 30 s. Callers that ask at the same moment share one call, by SnapshotKey.
	// After an error the stream is cut, so that its client asks again later.
	// nil: Reset is sent instead.
	Snapshot func(context.Context) (body []byte, id uint64, err error)
	// SnapshotKey tells snapshots apart. "": by the channels alone; a snapshot
	// that depends on anything else, such as the user, needs a key that does.
	SnapshotKey string
	// Reset is sent to a client that cannot be caught up and for which there is
	// no snapshot; a block with the current id follows it. nil: an event called
	// "reset".
	Reset []byte
	// OnClose is called once when the stream is over, or was never opened; it
	// must not block.
	OnClose func(loop.Reason)
	// OnCut is called when a stream is cut because it has missed something: its queue
	// was full (Policy Disconnect), or frames were lost ahead of it. It may be called
	// with locks held: it must not block, nor call the hub or the slot.
	OnCut func()
	// Limits replace the hub's for this stream. They are not copied.
	Limits *Limits
	// Pass is asked for every frame of this stream, and what it returns is sent in
	// its place; nil: nothing is. It may be called from any goroutine, with locks
	// held: it must not block, nor call the hub or the slot.
	Pass func(*Frame) *Frame
	// Codings are what the stream may be coded in, best first; the client's
	// Accept-Encoding decides. A frame is coded once, whatever the number of streams,
	// and a stream keeps no memory for it. The bounds of queues and journals count
	// plain bytes; the coded ones are kept beside them. nil: none.
	Codings []Coding
	// Quiet streams get no heartbeats.
	Quiet bool
	// Raw streams are no event streams: a farewell (Drain) is not written into them.
	Raw bool
}

// Hold opens a stream: it is registered, caught up, and live from then on,
// without a gap and without a frame twice. It is the last thing a handler does,
// see the function Hold. The error is that of a refused channel name or of the
// hold; nothing was written then.
func (h *Hub) Hold(w http.ResponseWriter, r *http.Request, o HoldOptions) error {
	slot := h.newSlot(&o)
	coding := choose(w, r, o.Codings)
	if coding != nil {
		slot.code(&h.codings, coding)
	}
	at, err := h.open(slot, r.Header.Get("Last-Event-ID"), &o)
	if err != nil {
		return err
	}
	history := at.missed
	if !at.known && r.Method != http.MethodHead {
		if history, err = h.fresh(r.Context(), at.floor, &o); err != nil {
			// An error status would keep its client away for good.
			h.cfg.log().Error("sse: no snapshot, stream cut", "channels", o.Channels, "err", err)
			slot.closeWith(retryFrame(troubled), loop.EndCut)
		}
	}
	if len(o.Hello) == 0 {
		o.Hello = []byte(":\n\n") // the first bytes open the stream for its client
	}
	slot.begin(&o, history)
	if coding != nil {
		w.Header().Set("Content-Encoding", coding.Name())
	}
	if err := Hold(w, r, slot); err != nil {
		w.Header().Del("Content-Encoding") // what is answered instead is plain
		return err
	}
	return nil
}

// HoldExchange is Hold for a native handler, which sets status and fields before,
// and makes the fields those of whatever kind of stream it is. lastID stands for
// the header Last-Event-ID; nothing is asked for a snapshot. Without an error the
// slot is returned.
func (h *Hub) HoldExchange(x *loop.Exchange, lastID string, o HoldOptions) (*Slot, error) {
	slot, err := h.resume(lastID, &o)
	if err != nil {
		return nil, err
	}
	held, chunked, err := x.HoldConn(slot)
	if err != nil {
		slot.Closed(loop.ClosedByError)
		return nil, fmt.Errorf("sse: hold: %w", err)
	}
	slot.Park(held, chunked)
	return slot, nil
}

// resume makes a slot that is caught up, or told that it cannot be.
func (h *Hub) resume(lastID string, o *HoldOptions) (*Slot, error) {
	slot := h.newSlot(o)
	at, err := h.open(slot, lastID, o)
	if err != nil {
		return nil, err
	}
	history := at.missed
	if !at.known {
		h.resets.Add(1)
		history = []*Frame{resetFrame(o.Reset, at.floor)}
	}
	slot.begin(o, history)
	return slot, nil
}

// Attach registers a slot that feeds something else than a response: it gets what
// comes from now on. Its user parks it, and tells it when it is Closed.
func (h *Hub) Attach(o HoldOptions) (*Slot, error) {
	slot := h.newSlot(&o)
	if slot.calls == nil {
		slot.calls = &calls{}
	}
	slot.calls.attached = true
	if _, err := h.open(slot, "", &o); err != nil {
		return nil, err
	}
	slot.begin(&o, nil)
	return slot, nil
}

// Subscribe adds a channel to those of a slot, see Registry.Subscribe.
func (h *Hub) Subscribe(s *Slot, channel string) error { return h.registry.Subscribe(s, channel) }

// Unsubscribe takes one from it.
func (h *Hub) Unsubscribe(s *Slot, channel string) { h.registry.Unsubscribe(s, channel) }

// Deliver pushes a frame to this process's streams of its channel, beside the bus
// and the journals, and returns how many took it.
func (h *Hub) Deliver(f *Frame) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.registry.Deliver(f)
}

// newSlot makes a slot as its user wants it.
func (h *Hub) newSlot(o *HoldOptions) *Slot {
	limits := o.Limits
	if limits == nil {
		limits = &h.cfg.Limits
	}
	slot := NewSlot(limits, 0, o.OnClose)
	if slot.quiet = o.Quiet; o.Pass != nil || o.OnCut != nil || o.Raw {
		slot.calls = &calls{closed: o.OnClose, pass: o.Pass, cut: o.OnCut, raw: o.Raw}
	}
	return slot
}

// open begins the stream of a slot. Nothing leaves it before it is primed.
func (h *Hub) open(slot *Slot, lastID string, o *HoldOptions) (beginning, error) {
	at, err := h.begin(slot, lastID, o)
	if err != nil {
		slot.Closed(loop.ClosedByError)
	}
	return at, err
}

// begin lets the stream begin with its hello and what it has missed.
func (s *Slot) begin(o *HoldOptions, history []*Frame) {
	first := []*Frame{NewFrame(0, "", "", o.Hello)}
	for _, f := range history {
		if f = s.pass(f); f != nil {
			first = append(first, f)
		}
	}
	s.prepare(first)
	s.prime(first...)
}

// A beginning is where a stream stands when it is registered.
type beginning struct {
	floor  uint64   // frames up to it are behind the stream, or in missed
	missed []*Frame // what its client lacks
	known  bool     // false: nobody can tell what it lacks
}

// begin finds what the stream has missed and registers its slot, in one step.
// Nothing leaves the slot before prime.
func (h *Hub) begin(slot *Slot, header string, o *HoldOptions) (at beginning, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	at = beginning{floor: h.delivered, known: true}
	if header != "" || o.Since != 0 {
		var id uint64
		if id, at.known = h.positionLocked(header, o.Since); at.known {
			at.missed, at.known = h.missedLocked(o.Channels, id)
			at.floor = max(at.floor, id) // a sibling may be ahead of this worker
		}
	}
	slot.paused, slot.last = true, at.floor
	if err := h.registry.Add(slot, o.Channels...); err != nil {
		return beginning{}, err
	}
	if h.dismissal != nil {
		slot.closeWith(retryFrame(*h.dismissal), loop.EndCut)
	}
	return at, nil
}

// positionLocked is the id that a client has. The header wins over what the
// page knew; an id from the future becomes the present.
func (h *Hub) positionLocked(header string, since uint64) (id uint64, known bool) {
	id = since
	if header != "" {
		if id, known = parseID(header); !known {
			return 0, false
		}
	}
	if id > max(h.delivered, h.bus.CurrentID()) {
		id = h.delivered
	}
	return id, true
}

// missedLocked gives the frames of the channels above id, in order.
func (h *Hub) missedLocked(channels []string, id uint64) (missed []*Frame, known bool) {
	for i, name := range channels {
		if slices.Contains(channels[:i], name) {
			continue
		}
		frames, known := h.sinceLocked(name, id)
		if !known {
			return nil, false
		}
		missed = append(missed, frames...)
	}
	slices.SortStableFunc(missed, func(a, b *Frame) int { return cmp.Compare(a.id, b.id) })
	return missed, true
}

// fresh is what a client gets that cannot be caught up: the whole state and what
// came after it, or the news that there is none. floor is the id that its stream
// was registered at.
func (h *Hub) fresh(ctx context.Context, floor uint64, o *HoldOptions) ([]*Frame, error) {
	if o.Snapshot == nil {
		h.resets.Add(1)
		return []*Frame{resetFrame(o.Reset, floor)}, nil
	}
	key := o.SnapshotKey
	if key == "" {
		key = strings.Join(slices.Compact(slices.Sorted(slices.Values(o.Channels))), "\x00")
	}
	for {
		f, joined, err := h.snapshots.do(ctx, key, h.believable(o.Snapshot))
		if err != nil {
			return nil, err
		}
		h.mu.Lock()
		missed, known := h.missedLocked(o.Channels, f.id)
		h.mu.Unlock()
		// Where the journal cannot tell, a snapshot begun after this stream was
		// registered will do, since all that came after that waits in its queue.
		// One begun before leaves a gap: the next one is ours.
		if known || !joined {
			return append([]*Frame{f}, missed...), nil
		}
	}
}

// believable bounds the id of a snapshot: one from the future would silence the
// stream until it is reached.
func (h *Hub) believable(
	snapshot func(context.Context) ([]byte, uint64, error),
) func(context.Context) ([]byte, uint64, error) {
	return func(ctx context.Context) ([]byte, uint64, error) {
		body, id, err := snapshot(ctx)
		return body, min(id, max(h.LastID(), h.bus.CurrentID())), err
	}
}

func resetFrame(body []byte, id uint64) *Frame {
	if body == nil {
		body, _ = Append(nil, Event{ID: formatID(id), Name: "reset", Empty: true})
	} else {
		body = AppendID(slices.Clip(body), id)
	}
	return NewFrame(id, "", "", body)
}

// A farewell says how long clients are told to stay away.
type farewell struct{ base, jitter time.Duration }

// troubled is for a client whose snapshot failed.
var troubled = farewell{base: time.Second, jitter: 2 * time.Second}

func retryFrame(f farewell) *Frame {
	wait := max(f.base, time.Millisecond)
	if f.jitter > 0 {
		wait += rand.N(f.jitter)
	}
	body, _ := Append(nil, Event{Retry: min(wait, retryMax)})
	return NewFrame(0, "", "", body)
}

// Drain ends every stream, and every one that is still to come, so that its
// client comes back: it is told to wait for base and a random part of jitter on
// top, lest all come at once, and then the stream is cut.
func (h *Hub) Drain(base, jitter time.Duration) {
	d := farewell{base, jitter}
	h.mu.Lock()
	h.dismissal = &d
	h.mu.Unlock()
	h.registry.Each(func(s *Slot) { s.closeWith(retryFrame(d), loop.EndCut) })
}

func formatID(id uint64) string { return strconv.FormatUint(id, 10) }
