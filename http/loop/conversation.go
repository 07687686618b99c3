// SPDX-License-Identifier: MIT

package loop

import (
	"bytes"
	"runtime/debug"
	"time"

	"m0serve.dev/http/internal/sys"
)

// A Conversation is a Source whose peer has something to say, as a WebSocket
// has. Its Received is called like a handler: on the loop while it is quick, and
// when it is not it loses the loop, or is not given it in the first place. So it
// may block; no further bytes are read meanwhile. Its own calls are in order and
// one at a time, but they may overlap with those of every other method. The
// bytes are Received's to change until it returns.
//
// The Held of a Conversation is an Alarm.
type Conversation interface {
	Source
	// Paused reports whether the peer's bytes are to be left in the kernel. It is
	// asked before every read and after every Wake. When a pause is over Received
	// is called with no bytes first, for what it kept.
	Paused() bool
	// Kept reports whether Received has left bytes for its next call, because it
	// was paused. It is asked behind Received.
	Kept() bool
	// Late is called when the time of the last Alarm is over.
	Late()
	// Drain asks the conversation to end soon, by its own rules, because the
	// server stops. It is repeated until the connection is gone.
	Drain()
}

// An Alarm calls Late of its Conversation once, about d from now. The last call
// counts.
type Alarm interface {
	Alarm(d time.Duration)
}

// Alarm implements Alarm.
func (h *heldConn) Alarm(d time.Duration) {
	h.alarm.Store(int64(max(d, 1)))
	h.Wake()
}

// converse is heldEvent for a conversation. Nothing is read before the loop is
// where it may be lost.
func (l *Loop) converse(c *conn, bits uint32) {
	h := c.held
	switch {
	case h.listens():
		l.hearSoon(c)
	case bits&evGone != 0:
		l.close(c, ClosedByPeer)
	default:
		c.rdhup = c.rdhup || bits&evPeer != 0
		l.rearm(c)
	}
}

// listens reports whether bytes of the peer may be read.
func (h *heldConn) listens() bool {
	return !h.keeps && (h.talk == nil || !h.busy && !h.paused && h.retryAt == 0)
}

// heldEvents is what a held connection waits for. A FIN is told of as long as
// it is not read, so one that cannot be read yet is waited for only once.
func (c *conn) heldEvents() uint32 {
	switch {
	case c.held == nil || c.held.listens():
		return evRead | evPeer
	case c.rdhup:
		return 0
	}
	return evPeer
}

func (l *Loop) hearSoon(c *conn) {
	if h := c.held; !h.noted {
		h.noted = true
		l.todo.push(note{kind: noteHear, c: c})
	}
}

// hear reads once and lets the conversation receive it.
func (l *Loop) hear(t *Turn, c *conn) (lost bool) {
	h := c.held
	if h == nil || c.state != stateHeld {
		return false
	}
	h.noted, h.retryAt = false, 0
	if h.conv.Paused() {
		h.paused = true
		l.rearm(c)
		return false
	}
	offLoop := l.g.cfg.Poll < 0 || l.routes.pooled(h.route, l.now)
	offLoop = offLoop && !l.g.cfg.NeverPool
	if offLoop && l.g.gate.full.Load() {
		h.retryAt = l.now + wheelTick
		l.scheduleHeld(c)
		l.rearm(c)
		return false
	}
	data, ok := l.hearBytes(t, c)
	switch {
	case !ok:
		return false
	case offLoop:
		l.receiveOffLoop(c, bytes.Clone(data))
		return false
	}
	return l.receiveInline(t, c, data)
}

// hearBytes is what Received is to be given: nothing behind a pause, then what
// came with the request, then what is in the kernel.
func (l *Loop) hearBytes(t *Turn, c *conn) (data []byte, ok bool) {
	if c.held.paused {
		c.held.paused = false
		return nil, true
	}
	if len(c.in) > 0 {
		data, c.in = c.in, nil
		return data, true
	}
	n, err := l.read(c, t.in)
	switch {
	case err == errWait:
		l.rearm(c)
		return nil, false
	case err == sys.ETIMEDOUT:
		l.drops.write++
		l.close(c, ClosedByTimeout)
		return nil, false
	case err != nil, n == 0:
		l.close(c, ClosedByPeer)
		return nil, false
	}
	return t.in[:n], true
}

// receiveInline is enter for the Received of a conversation: the Exchange of the
// turn stands for it, so that the loop can be taken and the turn comes back.
func (l *Loop) receiveInline(t *Turn, c *conn, data []byte) (lost bool) {
	h, x := c.held, t.x
	x.reset(l, c, t)
	x.tick, x.route, l.readAt = true, h.route, -1
	h.busy = true
	l.cur = t
	w := l.enterState(inHandler)
	l.arm(w)
	l.receive(note{kind: noteHeard, c: c, x: x, h: h}, data, w)
	if l.word.CompareAndSwap(w, follow(w, atWork)) {
		l.routes.quick(h.route)
		l.heard(c, h)
		return false
	}
	l.post(note{kind: noteHeard, c: c, x: x, h: h})
	l.g.leftLate(false)
	return true
}

// receiveOffLoop runs Received on a goroutine of its own.
func (l *Loop) receiveOffLoop(c *conn, data []byte) {
	h := c.held
	h.busy = true
	l.rearm(c)
	l.g.handedOver.Add(1)
	l.g.gate.force()
	go func() {
		began := l.k.Now()
		n := note{kind: noteHeard, c: c, h: h}
		l.receive(n, data, 0)
		h.took = l.k.Now().Sub(began)
		l.post(n)
		l.g.leftLate(false)
	}()
}

// receive calls Received; w is the word it runs under, 0 off the loop. A panic
// ends the connection behind what waits to be written. n is for a Received that
// ends its goroutine.
func (l *Loop) receive(n note, data []byte, w uint64) {
	h, returned := n.h, false
	defer func() {
		if returned {
			return
		}
		h.refused = false
		h.Close(EndCut)
		if v := recover(); v != nil {
			l.g.panics.Add(1)
			l.g.cfg.Log.Error("loop: held connection panicked", "panic", v,
				"stack", string(debug.Stack()))
			return
		}
		l.receiveExited(n, w)
	}()
	h.refused = !h.src.Received(data)
	returned = true
}

// receiveExited gives the loop to somebody else, unless that was done, before the
// goroutine is gone.
func (l *Loop) receiveExited(n note, w uint64) {
	if w != 0 && l.word.CompareAndSwap(w, follow(w, atWork)) {
		l.g.detached.Add(1)
		l.countLate(l.cur)
		l.succeed(l.cur)
	}
	l.post(n)
	go l.g.leftLate(false)
}

// heardLate takes back what Received had off the loop.
func (l *Loop) heardLate(n note) {
	if n.x != nil {
		l.freeExchange(n.x)
	} else {
		l.routes.took(n.h.route, n.h.took)
	}
	l.heard(n.c, n.h)
}

// heard goes on when Received has returned.
func (l *Loop) heard(c *conn, h *heldConn) {
	h.busy = false
	if c.held != h || c.state != stateHeld {
		return
	}
	if h.refused {
		l.refuseHeld(h)
		if !c.pending() {
			l.pull(c)
		}
		return
	}
	if l.posted.Load() {
		l.collect() // what it woke is fed in this turn
	}
	// A pause may have ended since Received has seen it.
	paused := h.conv.Paused()
	h.paused = h.paused || paused || h.conv.Kept()
	if h.paused && !paused || len(c.in) > 0 && h.listens() {
		l.hearSoon(c)
	}
	l.rearm(c)
}

// tend does what a Wake of a conversation may have asked for beside feeding.
func (l *Loop) tend(c *conn) {
	h := c.held
	if d := h.alarm.Swap(0); d != 0 {
		h.lateAt = l.now + time.Duration(d)
		l.scheduleHeld(c)
	}
	if h.paused && !h.busy && !h.conv.Paused() {
		l.hearSoon(c)
	}
}

// scheduleHeld sets the read deadline of a conversation.
func (l *Loop) scheduleHeld(c *conn) {
	at := c.held.lateAt
	if retry := c.held.retryAt; retry != 0 && (at == 0 || retry < at) {
		at = retry
	}
	l.setRead(c, at)
}

// heldLate acts on the read deadline of a conversation.
func (l *Loop) heldLate(c *conn) {
	h := c.held
	if h == nil || h.talk == nil {
		return
	}
	if h.retryAt != 0 && h.retryAt <= l.now {
		h.retryAt = 0
		l.hearSoon(c)
	}
	if h.lateAt != 0 && h.lateAt <= l.now {
		h.lateAt = 0
		h.conv.Late()
	}
	l.scheduleHeld(c)
}
