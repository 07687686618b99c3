// SPDX-License-Identifier: MIT

package socket

import (
	"errors"
	"sync"

	"m0serve.dev/http/loop"
	"m0serve.dev/http/sse"
	"m0serve.dev/http/ws"
	"m0serve.dev/wsgi/internal/realtime/clock"
)

// Limits of what waits for the application, of one socket.
const (
	waitingMax      = 16
	waitingBytesMax = 256 << 10
)

// A note is what happened on a socket, for the application.
type note struct {
	op     ws.Op // OpClose: it is over
	data   []byte
	code   ws.Code // of OpClose
	reason string
}

// A talk is how a socket speaks with its application. A socket calls its methods with
// mu, but for answered.
type talk interface {
	// requestLocked takes what waits, or a part of it, and makes a request of it. nil:
	// nothing is to be asked.
	requestLocked(k *socket) []byte
	// answered does what the answer to the request says.
	answered(k *socket, x *loop.Exchange)
	// closedLocked is told that the connection is gone, and whether the application
	// wants to know.
	closedLocked() (tells bool)
}

// A socket is one WebSocket and what the application has to be asked because of it.
type socket struct {
	s        *Sockets
	opening  *Opening
	talk     talk
	conn     *ws.Conn
	slot     *sse.Slot
	feed     feed
	interest interest
	sentAt   clock.Stamp // when something was sent last

	mu      sync.Mutex
	waiting []note // guarded by mu
	bytes   int    // in waiting
	asking  bool   // guarded by mu: somebody works on waiting
	poked   bool   // guarded by mu: a request is due, if an empty one
	stalled bool   // guarded by mu: what waits has been refused, until there is news
	paused  bool   // guarded by mu
	deaf    bool   // guarded by mu: nothing more of the client is asked
	over    bool   // guarded by mu: the connection is gone
}

// received takes a message of the client. It does not block.
func (k *socket) received(op ws.Op, data []byte) {
	k.mu.Lock()
	if k.deaf {
		k.mu.Unlock()
		return
	}
	begins := k.pushLocked(note{op: op, data: append([]byte(nil), data...)})
	if len(k.waiting) >= waitingMax || k.bytes >= waitingBytesMax {
		k.paused = true
		k.conn.Pause()
	}
	k.mu.Unlock()
	if begins {
		k.s.enter(k)
	}
}

// pushLocked lets n wait, and reports whether the caller has to see to it.
func (k *socket) pushLocked(n note) (begins bool) {
	k.waiting = append(k.waiting, n)
	k.bytes += len(n.data)
	return k.newsLocked()
}

// newsLocked reports whether the caller has to see to what waits.
func (k *socket) newsLocked() (begins bool) {
	k.stalled = false
	begins = !k.asking
	k.asking = true
	return begins
}

// poke has the application asked, even if nothing waits.
func (k *socket) poke() {
	k.mu.Lock()
	k.poked = true
	begins := !k.over && k.newsLocked()
	k.mu.Unlock()
	if begins {
		k.s.enter(k)
	}
}

// closed takes the end of the connection. What was received before is still asked.
func (k *socket) closed(code ws.Code, reason string) {
	k.slot.Closed(loop.ClosedByPeer)
	k.mu.Lock()
	k.over = true
	begins := false
	if k.talk.closedLocked() {
		begins = k.pushLocked(note{op: ws.OpClose, code: code, reason: reason})
	}
	k.mu.Unlock()
	if begins {
		k.s.enter(k)
	}
}

// ask asks the application for what waits. The place at Sockets.enter is kept until
// Sockets.leave.
func (k *socket) ask() {
	k.mu.Lock()
	raw := k.talk.requestLocked(k)
	k.poked = false
	if raw == nil {
		k.asking = false
	}
	k.mu.Unlock()
	if raw == nil {
		k.s.leave()
		return
	}
	k.s.asked.Add(1)
	err := k.s.cfg.Ask(k.opening.asking(raw, func(x *loop.Exchange) {
		k.talk.answered(k, x)
		k.again()
	}))
	if err != nil {
		k.unasked(err)
		k.again()
	}
}

// again asks for the next that waits, behind the sockets that wait already.
func (k *socket) again() {
	k.mu.Lock()
	more := (len(k.waiting) > 0 || k.poked && !k.over) && !k.stalled
	k.asking = more
	k.mu.Unlock()
	if more {
		k.s.enter(k)
	}
	k.s.leave()
}

// popLocked takes the first that waits, and lets the client go on when there is room.
func (k *socket) popLocked() (n note, ok bool) {
	if len(k.waiting) == 0 {
		return note{}, false
	}
	n = k.waiting[0]
	k.waiting[0] = note{}
	if k.waiting = k.waiting[1:]; len(k.waiting) == 0 {
		k.waiting = nil // a socket at rest keeps nothing
	}
	k.bytes -= len(n.data)
	if k.paused && len(k.waiting) <= waitingMax/2 && k.bytes <= waitingBytesMax/2 {
		k.paused = false
		k.conn.Resume()
	}
	return n, true
}

// unasked closes a socket whose message reached nobody.
func (k *socket) unasked(err error) {
	code, reason := ws.CodeInternal, "the message could not be handed over"
	switch {
	case errors.Is(err, loop.ErrBusy):
		code, reason = ws.CodeOverload, "the server is busy"
		k.s.busy.Add(1)
	case errors.Is(err, loop.ErrClosed):
		code, reason = ws.CodeRestart, ""
	default:
		k.s.cfg.Log.Error("m0serve: a message of a WebSocket cannot be a request",
			"target", k.opening.target, "err", err)
	}
	k.end(code, reason)
}

// codeOf is what a socket is closed with for the status of an answer; 0: it is not.
func codeOf(status int) (code ws.Code, reason string) {
	switch {
	case status/100 == 2:
		return 0, ""
	case status == 503:
		return ws.CodeOverload, "the server is busy"
	case status >= 500:
		return ws.CodeInternal, "the application failed"
	}
	return ws.CodePolicy, "the application refused the message"
}

// invalid closes a socket whose application has said what cannot be done.
func (k *socket) invalid(err error) {
	k.s.wrong.Add(1)
	k.s.cfg.Log.Error("m0serve: an answer to a message of a WebSocket is not valid",
		"target", k.opening.target, "err", err)
	k.end(ws.CodeInternal, "the application failed")
}

// end closes the socket from our side: what waits is not asked any more.
func (k *socket) end(code ws.Code, reason string) {
	k.mu.Lock()
	k.deaf = true
	kept := k.waiting[:0]
	for _, n := range k.waiting {
		if n.op == ws.OpClose {
			kept = append(kept, n)
		}
	}
	if k.waiting, k.bytes = kept, 0; len(kept) == 0 {
		k.waiting = nil
	}
	k.mu.Unlock()
	_ = k.conn.Close(code, reason) // it may be closing already
}
