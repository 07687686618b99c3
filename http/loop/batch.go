// SPDX-License-Identifier: MIT

package loop

import "time"

// Answers of several connections are sent together: a peer that waits for many of them
// is woken once for a batch, and not for each.
const (
	batchMax  = 16               // answers that wait for others
	batchTime = time.Millisecond // how long the first one does, and one handler more
)

// A reply is an answer that waits in Turn.out, behind those before it.
type reply struct {
	c   *conn
	end int // of it in Turn.out
}

// batched is event, which ends a batch unless it adds to it: what else an event brings,
// a piece of a long body or of a stream, looks at no clock.
func (l *Loop) batched(t *Turn, c *conn, bits uint32) (lost bool) {
	n := len(t.waiting)
	if l.event(t, c, bits) {
		return true
	}
	if n > 0 && len(t.waiting) == n {
		l.sendWaiting(t)
	}
	return false
}

// mayWait reports whether what t has for c may wait for the answers of the events
// that follow: where handlers share a lock, and a turn is made of several of them.
func (l *Loop) mayWait(t *Turn, c *conn) bool {
	return t.more && t.seat != nil && c.state == stateIdle && !c.closing && !c.pending()
}

// putOff lets what t has for c wait.
func (l *Loop) putOff(t *Turn, c *conn) {
	now := l.clock()
	l.readAt = now
	if len(t.waiting) == 0 {
		t.since = now
	}
	t.waiting = append(t.waiting, reply{c, len(t.out)})
	t.put = len(t.out)
	if len(t.waiting) == batchMax || now-t.since >= batchTime || t.put >= outFlushBytes {
		l.sendWaiting(t)
	}
}

// sendOut sends what t has for c.
func (l *Loop) sendOut(t *Turn, c *conn) {
	if len(t.out) > t.put {
		l.send(c, t.out[t.put:])
		t.out = t.out[:t.put]
	}
}

// sendWaiting sends what waits. Nothing else is in t.out.
func (l *Loop) sendWaiting(t *Turn) {
	at := 0
	for _, r := range t.waiting {
		l.send(r.c, t.out[at:r.end])
		l.next(r.c)
		at = r.end
	}
	clear(t.waiting)
	t.waiting, t.out, t.put = t.waiting[:0], t.out[:0], 0
}
