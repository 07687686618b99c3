// SPDX-License-Identifier: MIT

package sse

import (
	"fmt"
	"net/http"
	"sync/atomic"

	"m0serve.dev/http/loop"
)

// Hold turns the response into the stream of slot; it is the last thing a
// handler does. On the server of this module it parks the connection and
// returns; what comes after the stream belongs into the slot's closed function.
// Over net/http it returns when the stream is over, and ends a stream that was
// cut by http.ErrAbortHandler, which breaks the response off.
//
// The header gets the fields of an event stream; set others before. A HEAD
// request gets the header alone. An error means that nothing was held and
// nothing written.
func Hold(w http.ResponseWriter, r *http.Request, slot *Slot) error {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no") // nginx: pass every event on at once
	h.Del("Content-Length")
	if r.Method == http.MethodHead {
		w.WriteHeader(http.StatusOK)
		slot.Closed(loop.ClosedByServer)
		return nil
	}
	if holder, ok := loop.HolderOf(w); ok {
		held, chunked, err := holder.HoldConn(slot)
		if err != nil {
			slot.Closed(loop.ClosedByError)
			return fmt.Errorf("sse: hold: %w", err)
		}
		slot.park(held, chunked)
		return nil
	}
	return holdHere(w, r, slot)
}

// A here is the loop's side of a stream that its own goroutine serves.
type here struct {
	wake   chan struct{} // one place: a wake that waits is as good as ten
	ending atomic.Int32  // 0: none asked for, else the Ending plus one
}

// Wake implements loop.Held.
func (h *here) Wake() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// Close implements loop.Held.
func (h *here) Close(how loop.Ending) {
	h.ending.CompareAndSwap(0, int32(how)+1)
	h.Wake()
}

func holdHere(w http.ResponseWriter, r *http.Request, slot *Slot) error {
	rc := http.NewResponseController(w)
	w.WriteHeader(http.StatusOK)
	if err := rc.Flush(); err != nil {
		slot.Closed(loop.ClosedByError)
		return fmt.Errorf("sse: hold: %w", err)
	}
	h := &here{wake: make(chan struct{}, 1)}
	why := loop.ClosedByError // should a write panic
	defer func() { slot.Closed(why) }()
	slot.park(h, false)
	for {
		select {
		case <-h.wake:
			if !writeWaiting(w, rc, slot) {
				why = loop.ClosedByPeer
				return nil
			}
			if ending := h.ending.Load(); ending != 0 {
				why = loop.ClosedByServer
				if loop.Ending(ending-1) == loop.EndCut {
					panic(http.ErrAbortHandler)
				}
				return nil
			}
		case <-r.Context().Done():
			why = loop.ClosedByPeer
			return nil
		}
	}
}

// writeWaiting writes what waits; false when the peer is gone.
func writeWaiting(w http.ResponseWriter, rc *http.ResponseController, slot *Slot) bool {
	wrote := false
	for b := slot.Next(); b != nil; b = slot.Next() {
		if _, err := w.Write(b); err != nil {
			return false
		}
		wrote = true
	}
	return !wrote || rc.Flush() == nil
}
