// SPDX-License-Identifier: MIT

package loop

import (
	"sync/atomic"
	"time"

	"m0serve.dev/http/internal/sys"
	"m0serve.dev/http/wire"
)

const (
	// heldLowat bounds what the kernel keeps for a peer that does not read, so
	// that the source's own queue is the bound.
	heldLowat = 16 << 10
	// framesAfterClose bounds what is still written when Close was called.
	framesAfterClose = 1024
	// pullMax frames are written to one connection before others have their turn.
	pullMax = 64
	// heldSliceTime ends a slice early when writes are slow. By the clock, so that a loop
	// that was kept from its core for a while gives way, too.
	heldSliceTime = 4 * time.Millisecond
)

// A heldConn is the Held of one connection. The bits are everybody's, all else
// is the owner's.
type heldConn struct {
	l    *Loop
	src  Source
	c    *conn // nil before the answer's head is on its way
	bits atomic.Uint32
	// after Close, how many frames more are taken.
	lastFrames int32
	chunked    bool
	upgraded   bool
	bare       bool // src writes the head, too
	keeps      bool // … and behind it the connection serves its next request

	*talk // nil: no conversation. There are many streams, and this is of no use to them
}

// A talk is what a conversation's heldConn has more; see conversation.go.
type talk struct {
	conv    Conversation // src
	alarm   atomic.Int64 // asked for and not seen yet; 0: none
	lateAt  time.Duration
	retryAt time.Duration // when a place off the loop is looked for again
	took    time.Duration // Received's, off the loop
	route   uint16
	busy    bool // Received runs
	refused bool // … and has returned false; written by it
	paused  bool // Paused was true when it was last asked
	noted   bool // a noteHear is on its way
}

const (
	heldQueued  = 1 << iota // in wakes or ready
	heldClosing             // Close was called
	heldCut                 // … with EndCut
)

// Wake implements Held.
func (h *heldConn) Wake() {
	if h.bits.Or(heldQueued)&heldQueued == 0 {
		h.l.wake(h)
	}
}

// Close implements Held. The first call decides how the response ends.
func (h *heldConn) Close(how Ending) {
	bits := uint32(heldClosing)
	if how == EndCut {
		bits |= heldCut
	}
	for old := h.bits.Load(); old&heldClosing == 0; old = h.bits.Load() {
		if h.bits.CompareAndSwap(old, old|bits) {
			break
		}
	}
	h.Wake()
}

func newHeld(l *Loop, src Source) *heldConn {
	conv, ok := src.(Conversation)
	if !ok {
		return &heldConn{l: l, src: src, lastFrames: framesAfterClose}
	}
	both := &struct { // one piece of memory
		heldConn
		more talk
	}{heldConn{l: l, src: src, lastFrames: framesAfterClose}, talk{conv: conv}}
	both.talk = &both.more
	return &both.heldConn
}

// HoldConn implements Holder: it records that the connection is parked when the
// handler returns. A HEAD request and a status without a body have nothing to
// hold, except 101.
func (x *Exchange) HoldConn(src Source) (held Held, chunked bool, err error) {
	if x.status == 0 {
		x.status = 200
	}
	switch {
	case x.over != nil, x.asking != nil, x.started, x.hold != nil, x.hijacked, x.aborted,
		x.gone.Load(), x.isHead(), x.status != 101 && !bodyAllowed(x.status), x.length >= 0,
		x.pipe != nil && !x.pipe.isWhole():
		return nil, false, ErrNotHoldable
	}
	x.hold = newHeld(x.l, src)
	x.hold.upgraded = x.status == 101
	x.hold.chunked = x.req.Minor >= 1 && !x.hold.upgraded
	return x.hold, x.hold.chunked, nil
}

// HoldBare is HoldConn for an answer of which nothing is known yet: src gives all of
// it, head and body. Behind EndClean the connection ends; where src is of an exchange
// that Keeps, its answer can be told apart from the next, and keeps says so, it goes on.
func (x *Exchange) HoldBare(src Source, keeps bool) (Held, error) {
	held, _, err := x.HoldConn(src)
	if err != nil {
		return nil, err
	}
	x.hold.bare, x.hold.chunked = true, false
	x.hold.keeps = keeps && x.Keeps()
	return held, nil
}

// Keeps reports whether the connection may serve another request behind the answer, as
// far as that is known. Within HTTP/1.0 the answer has to say so.
func (x *Exchange) Keeps() bool {
	return !x.close && x.pipe == nil && x.over == nil && x.asking == nil
}

// hold parks c as x has asked. The head is sent by the caller.
func (l *Loop) hold(c *conn, x *Exchange) {
	h := x.hold
	h.c = c
	c.held, c.state = h, stateHeld
	l.nheld++
	l.setRead(c, 0)
	if h.keeps {
		return // nothing of it is a stream, and what c has of the next request waits
	}
	l.k.Hold(int(c.fd), heldLowat, l.g.cfg.WriteTimeout)
	if h.talk != nil {
		h.route = x.route ^ 1 // its own score, not that of the handshake
		l.tend(c)
	}
	if len(c.in) > 0 {
		if h.talk != nil {
			l.hearSoon(c)
			return
		}
		early := c.in
		c.in = nil
		l.received(c, early)
	}
}

// received gives the source what the peer sent.
func (l *Loop) received(c *conn, b []byte) {
	if !c.held.src.Received(b) {
		l.refuseHeld(c.held)
	}
}

// refuseHeld makes the next pull of h the end.
func (l *Loop) refuseHeld(h *heldConn) {
	h.bits.Or(heldClosing | heldCut)
	h.lastFrames = 0
}

// feedReady feeds the held connections that were woken, in slices: between two
// slices everything else has its turn.
func (l *Loop) feedReady() {
	start := l.k.Now()
	for i := 0; i < heldSliceMax && l.ready.len() > 0; i++ {
		h, _ := l.ready.pop()
		h.bits.And(^uint32(heldQueued)) // before Next, so that no wake is lost
		if c := h.c; c != nil && c.held == h {
			if h.talk != nil {
				l.tend(c)
			}
			if !c.pending() {
				l.pull(c)
			}
		}
		if i%16 == 15 && l.k.Now().Sub(start) > heldSliceTime {
			return
		}
	}
}

// pull writes what c's source has, until the source has nothing or the peer
// takes nothing.
func (l *Loop) pull(c *conn) {
	h := c.held
	for n := 0; ; n++ {
		closing := h.bits.Load()&heldClosing != 0
		if closing && h.lastFrames <= 0 {
			l.endHeld(c)
			return
		}
		if n == pullMax {
			h.Wake()
			return
		}
		frame := h.src.Next()
		switch {
		case len(frame) == 0 && closing:
			l.endHeld(c)
			return
		case len(frame) == 0:
			if c.writeBy != 0 {
				c.writeBy = 0
				l.schedule(c)
			}
			if h.talk != nil && h.paused {
				l.tend(c)
			}
			l.rearm(c)
			return
		case closing:
			h.lastFrames--
		}
		l.lend(c, frame)
		if c.state != stateHeld || c.pending() {
			return
		}
	}
}

// endHeld ends the response as Close has said; see Ending.
func (l *Loop) endHeld(c *conn) {
	h := c.held
	cut := h.bits.Load()&heldCut != 0
	switch {
	case !cut && h.keeps:
		l.goOn(c)
		return
	case !cut && h.chunked:
		c.closing = true
		l.send(c, []byte(wire.LastChunk))
	case cut && !h.chunked && !h.upgraded:
		c.cut = true
	}
	c.closing = true
	if c.state != stateClosed && !c.pending() {
		l.hangUp(c)
	}
}

// goOn lets a connection go on to its next request.
func (l *Loop) goOn(c *conn) {
	l.endHeldOf(c)
	c.state = stateIdle
	l.awaitNext(c)
	l.next(c)
}

// heldEvent acts on an event of a held connection.
func (l *Loop) heldEvent(t *Turn, c *conn, bits uint32) {
	switch {
	case c.held.talk != nil:
		l.converse(c, bits)
		return
	case c.held.keeps: // its next request is not read yet
		if bits&(evPeer|evGone) != 0 {
			l.close(c, ClosedByPeer)
		}
		return
	}
	n, err := l.read(c, t.in)
	switch {
	case err == errWait && bits&(evPeer|evGone) == 0:
		return
	case err == sys.ETIMEDOUT:
		l.drops.write++
		l.close(c, ClosedByTimeout)
		return
	case err != nil, n == 0:
		l.close(c, ClosedByPeer)
		return
	}
	l.received(c, t.in[:n])
	if !c.pending() {
		l.pull(c)
	}
}

// cutHeld cuts every held connection, for a drain. A conversation ends itself.
func (l *Loop) cutHeld() {
	for _, c := range l.table {
		switch {
		case c == nil || c.held == nil:
		case c.held.talk != nil:
			c.held.conv.Drain()
		default:
			c.held.Close(EndCut)
		}
	}
}
