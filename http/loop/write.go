// SPDX-License-Identifier: MIT

package loop

import (
	"time"

	"m0serve.dev/http/internal/sys"
	"m0serve.dev/http/wire"
)

// send writes data behind what c still has to send. What the kernel does not
// take is copied; data stays the caller's.
func (l *Loop) send(c *conn, data []byte) {
	if c.state == stateClosed || len(data) == 0 {
		return
	}
	n := 0
	if !c.pending() {
		if n = l.write(c, data); c.state == stateClosed || n == len(data) {
			return
		}
		c.out, c.outAt, c.lent = nil, 0, false
		l.blocked(c)
	} else if c.lent {
		c.out, c.outAt, c.lent = append([]byte(nil), c.out[c.outAt:]...), 0, false
	}
	c.out = append(c.out, data[n:]...)
	l.countKept(c, len(c.out))
	l.rearm(c)
}

// lend writes data that stays as it is until it is written, so that nothing
// has to be copied. c has nothing else to send.
func (l *Loop) lend(c *conn, data []byte) {
	n := l.write(c, data)
	if c.state == stateClosed || n == len(data) {
		return
	}
	c.out, c.outAt, c.lent = data, n, true
	l.blocked(c)
	l.rearm(c)
}

// write gives data to the kernel and returns how much it took. A peer that is
// gone closes c.
func (l *Loop) write(c *conn, data []byte) (n int) {
	for n < len(data) {
		k, err := l.k.Write(int(c.fd), data[n:])
		switch err {
		case nil:
			n += k
		case sys.EINTR:
		case sys.EAGAIN:
			return n
		default:
			why := ClosedByPeer
			if err == sys.ETIMEDOUT { // the kernel's limit, see Kernel.Hold
				why = ClosedByTimeout
				l.drops.write++
			}
			l.close(c, why)
			return n
		}
	}
	return n
}

// blocked starts the write deadline.
func (l *Loop) blocked(c *conn) {
	c.writeSince, c.wrote = l.now, 0
	l.pushWriteDeadline(c)
}

// pushWriteDeadline sets the write deadline from what was written. A response
// has to keep up a rate; a held stream only has to move.
func (l *Loop) pushWriteDeadline(c *conn) {
	limit := l.g.cfg.WriteTimeout
	switch {
	case limit < 0:
		c.writeBy = 0
	case c.state == stateHeld:
		c.writeBy = l.now + limit
	default:
		c.writeBy = c.writeSince + limit + l.earned(c.wrote)
	}
	l.schedule(c)
}

// earned is how long n bytes may take at the least rate.
func (l *Loop) earned(n int64) time.Duration {
	if l.g.cfg.MinRate < 0 {
		return 0
	}
	return time.Duration(n) * time.Second / time.Duration(l.g.cfg.MinRate)
}

// flush goes on with what c has to send. It runs no application code.
func (l *Loop) flush(c *conn) {
	n := l.write(c, c.out[c.outAt:])
	if c.state == stateClosed || n == 0 {
		return
	}
	c.outAt += n
	c.wrote += int64(n)
	if c.pending() {
		l.pushWriteDeadline(c)
		return
	}
	c.out, c.outAt, c.lent = nil, 0, false
	l.countKept(c, 0)
	c.writeBy = 0
	l.schedule(c)
	l.next(c)
}

// next does what was to be done once everything is written.
func (l *Loop) next(c *conn) {
	if c.state == stateClosed || c.pending() {
		return
	}
	switch {
	case c.closing && c.state != stateLinger && c.state != stateCut:
		l.hangUp(c)
		return
	case c.state == stateHeld:
		l.pull(c)
		return
	case c.state == stateBusy && c.hijack:
		l.giveAway(c)
		return
	case c.state == stateBusy && c.x != nil && c.x.sending:
		c.x.sending = false
		c.x.reply(nil)
	case c.reads() && len(c.in) > 0 && len(c.in) >= c.need && c.state == stateIdle:
		// Serving may lose the loop, so it is not done in the middle of something.
		l.todo.push(note{kind: noteServe, c: c})
	}
	if c.events&evWrite != 0 || c.reads() {
		l.rearm(c)
	}
}

// sendFlight sends a piece of a streamed answer.
func (l *Loop) sendFlight(x *Exchange) {
	c := x.c
	if c.x != x || c.state == stateClosed {
		x.reply(ErrGone)
		return
	}
	x.sending = true
	if c.pending() {
		l.send(c, x.flight) // behind answers of earlier requests
		return
	}
	l.lend(c, x.flight)
	l.next(c)
}

// sendContinue asks the peer for the body it announced, unless the answer has
// begun.
func (l *Loop) sendContinue(x *Exchange) {
	if c := x.c; c != nil && c.x == x && !c.lent {
		l.send(c, []byte(wire.Continue))
	}
}

// busyEvent acts on an event of a connection whose handler runs off the loop.
func (l *Loop) busyEvent(t *Turn, c *conn, bits uint32) {
	switch {
	case bits&evGone != 0:
		l.close(c, ClosedByPeer)
	case c.body != nil && !c.body.stopped && bits&evRead != 0:
		l.readBody(t, c)
	default:
		if bits&evPeer != 0 && !c.rdhup {
			c.rdhup = true
			// A peer that sent more requests before its FIN waits for answers.
			if n, err := l.k.Unread(int(c.fd)); err == nil && n == 0 && c.x != nil {
				c.x.cancel()
			}
		}
		l.rearm(c)
	}
}
