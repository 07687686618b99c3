// SPDX-License-Identifier: MIT

package loop

import (
	"errors"
	"net/http"
)

// ErrNotHoldable is returned by HoldConn when the response can no longer be
// parked: it is complete, hijacked, or its connection is gone.
var ErrNotHoldable = errors.New("loop: this response can no longer be held")

// A Source feeds one held connection: the seam between the loop and whatever
// keeps the bytes (package sse, package ws). The loop pulls; nothing is ever
// pushed into it, so the bound on a slow peer is the source's own queue.
//
// The loop calls the methods of one Source one at a time, from whichever
// goroutine owns the loop at that moment. They must not block.
type Source interface {
	// Next returns the next bytes to write, whole (chunk framing included when
	// the response is chunked, which HoldConn told), or nil when nothing waits.
	// The bytes stay unchanged until the following call of Next or Closed: one
	// frame may be in the hands of ten thousand connections. The loop calls Next
	// after a Wake and again whenever the bytes before are written.
	Next() []byte
	// Received gets bytes the peer sent after the hold (valid during the call).
	// false asks the loop to cut the connection. A source that has to act on them
	// is a Conversation.
	Received(b []byte) bool
	// Closed is called exactly once, when the connection is gone or given up.
	Closed(why Reason)
}

// A Held is the loop's side of a held connection. Its methods may be called
// from any goroutine, at any time, any number of times, and never block.
type Held interface {
	// Wake says that Next has something to give.
	Wake()
	// Close ends the connection once the bytes in hand are written whole.
	Close(how Ending)
}

// An Ending is the way in which a held response ends on the wire.
type Ending uint8

const (
	// EndClean finishes the response: last chunk, or FIN when close-delimited. A bare
	// one may leave the connection to the next request (HoldBare).
	// A Datastar client takes it for the end of the stream, for good.
	EndClean Ending = iota
	// EndCut breaks the response off after the frame in hand, so that clients
	// come back: FIN without the last chunk, RST when close-delimited.
	EndCut
)

// A Reason says why a held connection closed.
type Reason uint8

const (
	ClosedByServer  Reason = iota // Close was called, or the server drained
	ClosedByPeer                  // FIN, RST, RDHUP
	ClosedByTimeout               // the peer took no byte within the write limit
	ClosedByError                 // anything else the kernel said
)

// A Holder is a response whose connection can be parked on the loop. The
// status and the header must have been set; they are sent as soon as the
// handler returns. chunked tells which framing Next has to produce.
type Holder interface {
	HoldConn(src Source) (held Held, chunked bool, err error)
}

// HolderOf finds the Holder under w, through any number of middleware writers
// that have an Unwrap method, as http.ResponseController does. false means
// that w belongs to another server, where a held response costs a goroutine.
func HolderOf(w http.ResponseWriter) (Holder, bool) {
	for {
		if h, ok := w.(Holder); ok {
			return h, true
		}
		u, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return nil, false
		}
		w = u.Unwrap()
	}
}
