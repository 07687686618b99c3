// SPDX-License-Identifier: MIT

package loop

import (
	"net/netip"
	"time"

	"m0serve.dev/http/wire"
)

// A connState is what a connection waits for.
//
//	idle ⇄ head → ahead → busy → idle | held
//	any → linger | cut → closed
type connState uint8

const (
	stateIdle   connState = iota // nothing of the next request has arrived
	stateHead                    // part of a head has arrived
	stateAhead                   // the head is whole, its body is read ahead
	stateBusy                    // a handler has the request
	stateHeld                    // a Source feeds it
	stateLinger                  // our FIN is sent, the peer's bytes are dropped
	stateCut                     // the kernel sends what it has, then an RST
	stateClosed                  // the descriptor is gone
)

// A conn is one connection. It is owner state of its loop: a handler that runs
// off the loop compares the pointer and reads peer, nothing else.
type conn struct {
	fd     int32
	gen    int32 // tells events of an earlier connection with this descriptor
	served int32 // requests begun
	state  connState

	eof       bool // the peer's FIN was read
	rdhup     bool // the peer's FIN was reported; no longer waited for
	closing   bool // hang up when everything is written
	cut       bool // … without a clean end where the framing would give one
	peerClose bool // the peer said that it sends nothing more
	lent      bool // out belongs to a Source or an Exchange
	hijack    bool // leave the loop when everything is written
	chunked   bool // the body read ahead is chunked
	broken    bool // the request body was: nothing behind it can be read

	slot    int16  // the wheel's; 0: not in it
	events  uint32 // what the poller waits for
	dropped int32  // input bytes dropped while lingering

	parser wire.RequestParser
	in     []byte // input not served yet, own memory; nil while idle
	need   int    // length of in before it is worth looking at again
	long   int    // of the loop's budget for long bodies
	kept   int    // bytes of out that Group.kept counts
	out    []byte // what the kernel did not take, from outAt on
	outAt  int
	x      *Exchange // while busy
	body   *bodyPipe // while a request body is streamed
	held   *heldConn // while held

	readBy     time.Duration // deadline for input; 0: none
	writeBy    time.Duration // deadline for output; 0: none
	writeSince time.Duration // when output began to wait
	wrote      int64         // bytes taken since then

	deadline      time.Duration // the wheel's: the earlier of both
	later, sooner *conn         // neighbours in the wheel's slot

	peer netip.AddrPort // never changes
}

// pending reports whether bytes wait for the peer to take them.
func (c *conn) pending() bool { return c.outAt < len(c.out) }

// reads reports whether c waits for a request.
func (c *conn) reads() bool { return c.state <= stateAhead }

// open takes a fresh descriptor in. A refused one gets 503 and nothing else.
func (l *Loop) open(fd int, peer netip.AddrPort, refused bool) {
	l.gen++
	c := &conn{fd: int32(fd), gen: l.gen, peer: peer, events: evRead}
	c.parser.Limits = &l.g.cfg.Limits
	if err := l.k.Watch(l.poller, fd, c.gen, evRead); err != nil {
		l.g.cfg.Log.Error("loop: connection not watched", "error", err)
		l.count.Add(-1)
		l.g.leave()
		_ = l.k.Close(fd)
		return
	}
	for fd >= len(l.table) {
		l.table = append(l.table, make([]*conn, max(64, len(l.table)))...)
	}
	l.table[fd] = c
	if refused {
		l.scratch = appendProblem(l.scratch[:0], 503, "too many connections", l.date)
		if answered := l.g.cfg.Answered; answered != nil {
			answered(Answer{Status: 503})
		}
		c.closing = true
		l.send(c, l.scratch)
		return
	}
	if l.draining {
		l.setRead(c, l.now+drainNew)
		return
	}
	l.setRead(c, l.after(l.g.cfg.HeadTimeout))
}

// close ends c at once. What was not written is lost, so this is for peers that
// are gone or out of time, and for connections with nothing left to write.
func (l *Loop) close(c *conn, why Reason) {
	if c.state == stateClosed {
		return
	}
	fd := int(c.fd)
	l.detachConn(c)
	_ = l.k.Close(fd) // the descriptor is gone whatever it says
	l.settle(c, why)
}

// reset ends c with an RST.
func (l *Loop) reset(c *conn, why Reason) {
	if c.state == stateClosed {
		return
	}
	fd := int(c.fd)
	l.detachConn(c)
	_ = l.k.Reset(fd)
	l.settle(c, why)
}

// detachConn takes c out of everything but its descriptor.
func (l *Loop) detachConn(c *conn) {
	l.wheel.remove(c)
	l.table[c.fd] = nil
	c.state = stateClosed
	l.count.Add(-1)
}

// settle tells everybody who had to do with c that it is gone. It is counted as
// open until they all know.
func (l *Loop) settle(c *conn, why Reason) {
	defer l.g.leave()
	l.settleLong(c)
	c.in, c.out, c.outAt = nil, nil, 0
	l.countKept(c, 0)
	if c.body != nil {
		c.body.fail(ErrGone)
		c.body = nil
	}
	if c.x != nil {
		c.x.peerGone()
		c.x = nil
	}
	if h := c.held; h != nil {
		c.held = nil
		l.nheld--
		h.src.Closed(why)
	}
}

// hangUp ends c in an orderly way, now that everything is written. A peer that
// may still be sending is read from for a while: closing on unread input sends
// an RST, which can take the answer away from under a peer that is reading it.
func (l *Loop) hangUp(c *conn) {
	switch {
	case c.cut:
		l.beginCut(c)
		return
	case c.eof, c.peerClose && len(c.in) == 0:
		l.close(c, ClosedByServer)
		return
	}
	if err := l.k.CloseWrite(int(c.fd)); err != nil {
		l.close(c, ClosedByPeer)
		return
	}
	l.endHeldOf(c)
	c.state, c.in = stateLinger, nil
	if l.watch(c, evRead); c.state == stateClosed {
		return // lost from the poller
	}
	l.setRead(c, l.after(l.linger()))
}

// linger is how long a peer may take to read what it was sent.
func (l *Loop) linger() time.Duration {
	limit := l.g.cfg.LingerTimeout
	if l.draining && (limit < 0 || limit > drainLinger) {
		return drainLinger
	}
	return limit
}

// discard drops what a lingering peer sends, up to a bound.
func (l *Loop) discard(t *Turn, c *conn) {
	n, err := l.read(c, t.in)
	switch {
	case err == errWait:
	case err != nil || n == 0:
		l.close(c, ClosedByServer)
	default:
		if c.dropped += int32(n); c.dropped > lingerBytesMax {
			l.close(c, ClosedByServer)
		}
	}
}

// beginCut waits for the peer's kernel to have all bytes and resets then.
func (l *Loop) beginCut(c *conn) {
	l.endHeldOf(c)
	c.state, c.in = stateCut, nil
	if l.watch(c, 0); c.state == stateClosed {
		return // lost from the poller
	}
	c.writeBy = l.after(l.g.cfg.LingerTimeout)
	l.pollCut(c)
}

func (l *Loop) pollCut(c *conn) {
	unsent, err := l.k.Unsent(int(c.fd))
	if err != nil || unsent == 0 || l.now >= c.writeBy {
		l.reset(c, ClosedByServer)
		return
	}
	l.wheel.set(c, l.now+wheelTick)
}

// endHeldOf parts c from its Source, if it has one.
func (l *Loop) endHeldOf(c *conn) {
	if h := c.held; h != nil {
		c.held = nil
		l.nheld--
		h.src.Closed(ClosedByServer)
	}
}

// watch changes what the poller waits for.
func (l *Loop) watch(c *conn, events uint32) {
	if c.events == events || c.state == stateClosed {
		return
	}
	c.events = events
	if err := l.k.Rewatch(l.poller, int(c.fd), c.gen, events); err != nil {
		l.g.cfg.Log.Error("loop: connection lost from the poller", "error", err)
		l.close(c, ClosedByError)
	}
}

// rearm sets what c waits for from its state.
func (l *Loop) rearm(c *conn) {
	var want uint32
	switch {
	case c.state == stateClosed || c.state == stateCut:
		return
	case c.state == stateHeld:
		want = c.heldEvents()
	case c.state == stateLinger:
		want = evRead
	case c.state == stateBusy && c.body != nil && !c.body.stopped:
		want = evRead
	case c.state == stateBusy && !c.rdhup:
		want = evPeer
	case c.reads() && !c.pending() && !c.closing:
		want = evRead
	}
	if c.pending() {
		want |= evWrite
	}
	l.watch(c, want)
}

func (l *Loop) setRead(c *conn, at time.Duration) {
	c.readBy = at
	l.schedule(c)
}

// schedule tells the wheel the earlier of both deadlines.
func (l *Loop) schedule(c *conn) {
	at := c.readBy
	if c.writeBy != 0 && (at == 0 || c.writeBy < at) {
		at = c.writeBy
	}
	l.wheel.set(c, at)
}

// after is the time d from now, or 0 when d lifts the limit.
func (l *Loop) after(d time.Duration) time.Duration {
	if d < 0 {
		return 0
	}
	return l.now + d
}

// late is called by the wheel when a deadline of c has passed.
func (l *Loop) late(c *conn) {
	switch {
	case c.state == stateCut:
		l.pollCut(c)
	case c.writeBy != 0 && c.writeBy <= l.now:
		l.drops.write++
		l.close(c, ClosedByTimeout)
	case c.readBy != 0 && c.readBy <= l.now:
		c.readBy = 0
		l.readLate(c)
	}
	if c.state != stateClosed && c.state != stateCut {
		l.schedule(c)
	}
}

// readLate acts on input that did not come in time.
func (l *Loop) readLate(c *conn) {
	switch {
	case c.state == stateHead, c.state == stateAhead && !c.chunked:
		l.drops.read++
		l.refuseLate(c)
	case c.state == stateAhead:
		l.todo.push(note{kind: noteStream, c: c})
	case c.state == stateBusy && c.body != nil:
		l.drops.read++
		l.poison(c, ErrBodyTimeout)
	case c.state == stateHeld:
		l.heldLate(c)
	case c.state == stateIdle:
		l.endIdle(c)
	case c.state == stateLinger:
		l.close(c, ClosedByServer)
	}
}
