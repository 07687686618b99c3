// SPDX-License-Identifier: MIT

package sse

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/loop"
)

// HoldOptions describe one stream.
type HoldOptions struct {
	// Channels are what the stream listens to. An untrusted name is refused.
	Channels []string
	// Since stands in for a missing Last-Event-ID: the id of the state that the
	// page was rendered from. 0: a new stream, which gets no history.
	Since uint64
	// Hello is sent first, before any frame. It carries no id.
	Hello []byte
	// Snapshot makes the whole state for a client that cannot be caught up, and
	// the id that it is up to. Callers that ask at the same moment share one
	// call, by SnapshotKey. nil: Reset is sent instead.
	Snapshot func(context.Context) (body []byte, id uint64, err error)
	// SnapshotKey tells snapshots apart; "" is the first channel's name.
	SnapshotKey string
	// Reset is sent to a client that cannot be caught up and for which there is
	// no snapshot. nil: an event called "reset" with the current id.
	Reset []byte
	// OnClose is called once when the stream is over; it must not block.
	OnClose func(loop.Reason)
	// Limits replace the hub's for this stream. They are not copied.
	Limits *Limits
}

// Hold opens a stream: it is registered, caught up, and live from then on,
// without a gap and without a frame twice. It is the last thing a handler does,
// see the function Hold. The error is that of a refused channel name, of the
// snapshot, or of the hold; nothing was written then.
func (h *Hub) Hold(w http.ResponseWriter, r *http.Request, o HoldOptions) error {
	limits := o.Limits
	if limits == nil {
		limits = &h.cfg.Limits
	}
	slot := NewSlot(limits, 0, o.OnClose)
	history, known, err := h.begin(slot, r.Header.Get("Last-Event-ID"), &o)
	if err != nil {
		return err
	}
	if !known {
		if history, err = h.fresh(r.Context(), &o); err != nil {
			slot.Closed(loop.ClosedByError)
			return err
		}
	}
	hello := o.Hello
	if len(hello) == 0 {
		hello = []byte(":\n\n") // the first bytes open the stream for its client
	}
	slot.prime(append([]*Frame{NewFrame(0, "", "", hello)}, history...)...)
	return Hold(w, r, slot)
}

// begin finds what the stream has missed and registers its slot, in one step.
// Nothing leaves the slot before prime.
func (h *Hub) begin(
	slot *Slot, header string, o *HoldOptions,
) (history []*Frame, known bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	id, known := h.positionLocked(header, o.Since)
	if known {
		history, known = h.missedLocked(o.Channels, id)
	}
	slot.paused = true
	if known {
		slot.last = h.delivered
	}
	return history, known, h.registry.Add(slot, o.Channels...)
}

// missedLocked gives the frames of the channels above id, in order.
func (h *Hub) missedLocked(channels []string, id uint64) (missed []*Frame, known bool) {
	for _, name := range channels {
		if bus.CheckName(name) != nil {
			continue // it is refused when the slot registers
		}
		frames, known := h.journalLocked(name).Since(id)
		if !known {
			return nil, false
		}
		missed = append(missed, frames...)
	}
	sortFrames(missed)
	return missed, true
}

// positionLocked is the id that a client has. The header wins over what the
// page knew; an id from the future becomes the present.
func (h *Hub) positionLocked(header string, since uint64) (id uint64, known bool) {
	switch {
	case header != "":
		if id, known = parseID(header); !known {
			return 0, false
		}
	case since != 0:
		id = since
	default:
		return h.delivered, true
	}
	return min(id, max(h.delivered, h.bus.CurrentID())), true
}

// fresh is the whole state for a client that cannot be caught up.
func (h *Hub) fresh(ctx context.Context, o *HoldOptions) ([]*Frame, error) {
	if o.Snapshot == nil {
		body := o.Reset
		if body == nil {
			h.mu.Lock()
			id := h.delivered
			h.mu.Unlock()
			body, _ = Append(nil, Event{ID: formatID(id), Name: "reset", Empty: true})
		}
		return []*Frame{NewFrame(0, "", "", body)}, nil
	}
	key := o.SnapshotKey
	if key == "" && len(o.Channels) > 0 {
		key = o.Channels[0]
	}
	for {
		f, joined, err := h.snapshots.do(ctx, key, o.Snapshot)
		if err != nil {
			return nil, err
		}
		if !joined {
			return []*Frame{f}, nil
		}
		// It began before this stream was registered: what came between the two
		// is in the journal, or the next one is ours.
		h.mu.Lock()
		missed, known := h.missedLocked(o.Channels, f.id)
		h.mu.Unlock()
		if known {
			return append([]*Frame{f}, missed...), nil
		}
	}
}

// Drain ends every stream so that its client comes back: it is told to wait for
// base and a random part of jitter on top, lest all come at once, and then the
// stream is cut.
func (h *Hub) Drain(base, jitter time.Duration) {
	h.registry.Each(func(s *Slot) {
		wait := base
		if jitter > 0 {
			wait += rand.N(jitter)
		}
		body, err := Append(nil, Event{Retry: max(wait, time.Millisecond)})
		if err != nil {
			body = nil // a wait of more than a day: the client uses its own
		}
		s.closeWith(NewFrame(0, "", "", body), loop.EndCut)
	})
}

func formatID(id uint64) string { return strconv.FormatUint(id, 10) }
