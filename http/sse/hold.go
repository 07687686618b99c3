// SPDX-License-Identifier: MIT

package sse

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"m0serve.dev/http/loop"
)

// writeTimeout bounds, over net/http, how long a peer may take no byte. On the
// server of this module its own limit holds.
const writeTimeout = 30 * time.Second

// errNoFlush refuses a writer that would keep events to itself.
var errNoFlush = errors.New("sse: hold: the response writer cannot flush")

// Hold turns the response into the stream of slot; it is the last thing a
// handler does. On the server of this module it parks the connection and
// returns; what comes after the stream belongs into the slot's closed function,
// which runs once in any case. Over net/http it returns when the stream is
// over, and ends one that was cut by http.ErrAbortHandler, which breaks the
// response off: middleware that recovers from panics has to let it pass.
//
// The header gets the fields of an event stream; set others before. A HEAD
// request gets the header alone. An error means that nothing was held and
// nothing written.
func Hold(w http.ResponseWriter, r *http.Request, slot *Slot) error {
	holder, parks := loop.HolderOf(w)
	if !parks && !canFlush(w) {
		slot.Closed(loop.ClosedByError)
		return errNoFlush
	}
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
	if parks {
		held, chunked, err := holder.HoldConn(slot)
		if err != nil {
			slot.Closed(loop.ClosedByError)
			return fmt.Errorf("sse: hold: %w", err)
		}
		slot.Park(held, chunked)
		return nil
	}
	holdHere(w, r, slot)
	return nil
}

// canFlush looks where http.ResponseController looks.
func canFlush(w http.ResponseWriter) bool {
	for {
		switch t := w.(type) {
		case interface{ FlushError() error }, http.Flusher:
			return true
		case interface{ Unwrap() http.ResponseWriter }:
			w = t.Unwrap()
		default:
			return false
		}
	}
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

// holdHere serves the stream on the handler's goroutine. The write deadline that
// the server set for an ordinary request does not hold for a stream; its read
// deadline net/http lifts itself.
func holdHere(w http.ResponseWriter, r *http.Request, slot *Slot) {
	rc := http.NewResponseController(w)
	why := loop.ClosedByError // should a write panic
	defer func() { slot.Closed(why) }()
	extendWrite(rc)
	w.WriteHeader(http.StatusOK)
	if err := rc.Flush(); err != nil {
		why = reasonOf(err)
		return
	}
	h := &here{wake: make(chan struct{}, 1)}
	slot.Park(h, false)
	for {
		select {
		case <-h.wake:
			if err := writeWaiting(w, rc, slot); err != nil {
				why = reasonOf(err)
				panic(http.ErrAbortHandler) // a frame may be half written
			}
			if ending := h.ending.Load(); ending != 0 {
				why = loop.ClosedByServer
				endHere(r, rc, loop.Ending(ending-1))
				return
			}
		case <-r.Context().Done():
			why = loop.ClosedByPeer
			return
		}
	}
}

// writeWaiting writes what waits, each frame within its own time.
func writeWaiting(w http.ResponseWriter, rc *http.ResponseController, slot *Slot) error {
	wrote := false
	for b := slot.Next(); b != nil; b = slot.Next() {
		extendWrite(rc)
		if _, err := w.Write(b); err != nil {
			return err
		}
		wrote = true
	}
	if !wrote {
		return nil
	}
	extendWrite(rc)
	return rc.Flush()
}

// extendWrite is in vain where the writer has no deadlines (HTTP/2 proxies,
// recorders): the peer is bounded by the server then.
func extendWrite(rc *http.ResponseController) {
	_ = rc.SetWriteDeadline(time.Now().Add(writeTimeout))
}

// endHere ends the response. Without chunks a plain end of the connection would
// be a clean one, so a cut resets it.
func endHere(r *http.Request, rc *http.ResponseController, how loop.Ending) {
	if how == loop.EndClean {
		_ = rc.SetWriteDeadline(time.Time{}) // the connection may live on
		return
	}
	if !r.ProtoAtLeast(1, 1) {
		if conn, _, err := rc.Hijack(); err == nil {
			if secure, ok := conn.(interface{ NetConn() net.Conn }); ok {
				conn = secure.NetConn() // TLS would say goodbye, which is a clean end
			}
			if tcp, ok := conn.(interface{ SetLinger(int) error }); ok {
				_ = tcp.SetLinger(0)
			}
			_ = conn.Close()
			return
		}
	}
	panic(http.ErrAbortHandler)
}

func reasonOf(err error) loop.Reason {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return loop.ClosedByTimeout
	}
	return loop.ClosedByPeer
}
