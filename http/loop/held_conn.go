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
	// pullMax frames are written to one connection before others have their turn.
	pullMax = 64
	// heldSliceTime ends a slice early when writes are slow.
	heldSliceTime = 8 * time.Millisecond
)

// A heldConn is the Held of one connection. The bits are everybody's, all else
// is the owner's.
type heldConn struct {
	l    *Loop
	src  Source
	c    *conn // nil before the answer's head is on its way
	bits atomic.Uint32
	// after Close, how many frames more are taken.
	lastFrames int
	chunked    bool
	upgraded   bool
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

// HoldConn implements Holder: it records that the connection is parked when the
// handler returns. A HEAD request and a status without a body have nothing to
// hold, except 101.
func (x *Exchange) HoldConn(src Source) (held Held, chunked bool, err error) {
	if x.status == 0 {
		x.status = 200
	}
	switch {
	case x.over != nil, x.started, x.hold != nil, x.hijacked, x.aborted, x.gone.Load(),
		x.isHead(), x.status != 101 && !bodyAllowed(x.status), x.length >= 0,
		x.pipe != nil && !x.pipe.isWhole():
		return nil, false, ErrNotHoldable
	}
	x.hold = &heldConn{l: x.l, src: src, lastFrames: 1024}
	x.hold.upgraded = x.status == 101
	x.hold.chunked = x.req.Minor >= 1 && !x.hold.upgraded
	return x.hold, x.hold.chunked, nil
}

// hold parks c as x has asked. The head is sent by the caller.
func (l *Loop) hold(c *conn, x *Exchange) {
	h := x.hold
	h.c = c
	c.held, c.state = h, stateHeld
	l.nheld++
	l.setRead(c, 0)
	l.k.Hold(int(c.fd), heldLowat, l.g.cfg.WriteTimeout)
	if len(c.in) > 0 {
		early := c.in
		c.in = nil
		l.received(c, early)
	}
}

// received gives the source what the peer sent.
func (l *Loop) received(c *conn, b []byte) {
	if !c.held.src.Received(b) {
		c.held.bits.Or(heldClosing | heldCut)
		c.held.lastFrames = 0
	}
}

// feedReady feeds the held connections that were woken, in slices: between two
// slices everything else has its turn.
func (l *Loop) feedReady() {
	start := l.k.Now()
	for i := 0; i < heldSliceMax && l.ready.len() > 0; i++ {
		h, _ := l.ready.pop()
		h.bits.And(^uint32(heldQueued)) // before Next, so that no wake is lost
		if c := h.c; c != nil && c.held == h && !c.pending() {
			l.pull(c)
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

// heldEvent acts on an event of a held connection.
func (l *Loop) heldEvent(t *Turn, c *conn, bits uint32) {
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

// cutHeld cuts every held connection, for a drain.
func (l *Loop) cutHeld() {
	for _, c := range l.table {
		if c != nil && c.held != nil {
			c.held.Close(EndCut)
		}
	}
}
