// SPDX-License-Identifier: MIT

package loop

import "net/netip"

// A note is a message to the owner of a loop.
type note struct {
	kind noteKind
	fd   int
	peer netip.AddrPort
	c    *conn
	x    *Exchange
	h    *heldConn
}

type noteKind uint8

const (
	noteDone     noteKind = iota // x is answered
	noteChunk                    // x.flight is to be sent
	noteContinue                 // x wants its body
	noteResume                   // x has room for more of its body
	noteHijack                   // x wants its connection
	noteOpen                     // take fd in
	noteRefuse                   // take fd in and say 503
	noteServe                    // c has input and may be served again
	noteStream                   // c has waited long enough for its body
	noteListen                   // accept from fd
	noteDrain                    // accept no more, finish what was begun
	noteCutHeld                  // cut the held connections
	noteHear                     // c's conversation may receive
	noteHeard                    // h's has received, off the loop
	noteStop                     // close everything
)

// post gives n to the owner of l. false: there is none any more.
func (l *Loop) post(n note) bool {
	l.mu.Lock()
	if l.dead {
		l.mu.Unlock()
		return false
	}
	l.inbox = append(l.inbox, n)
	l.posted.Store(true)
	l.mu.Unlock()
	l.rouse()
	return true
}

// wake asks the owner to feed h.
func (l *Loop) wake(h *heldConn) {
	l.mu.Lock()
	if !l.dead {
		l.wakes = append(l.wakes, h)
		l.posted.Store(true)
	}
	l.mu.Unlock()
	l.rouse()
}

// rouse ends the owner's sleep. An owner that is awake looks at posted before
// it sleeps, so it need not be told.
func (l *Loop) rouse() {
	if l.asleep.CompareAndSwap(true, false) {
		l.k.Notify(l.notifier)
	}
}

// collect moves what was posted into the owner's lists.
func (l *Loop) collect() {
	l.mu.Lock()
	l.posted.Store(false)
	for _, n := range l.inbox {
		l.todo.push(n)
	}
	clear(l.inbox)
	l.inbox = l.inbox[:0]
	for _, h := range l.wakes {
		l.ready.push(h)
	}
	clear(l.wakes)
	l.wakes = l.wakes[:0]
	l.turns = append(l.turns, l.freed...)
	clear(l.freed)
	l.freed = l.freed[:0]
	l.mu.Unlock()
}

// work does what is in todo. Each note is popped before it is worked on: it may
// lose the loop, and the next owner goes on with the rest.
func (l *Loop) work(t *Turn) (lost bool) {
	for left := l.todo.len(); left > 0; left-- {
		n, ok := l.todo.pop()
		if !ok {
			return false
		}
		if l.do(t, n) {
			return true
		}
	}
	return false
}

func (l *Loop) do(t *Turn, n note) (lost bool) {
	switch n.kind {
	case noteDone:
		return l.done(t, n.x)
	case noteChunk:
		l.sendFlight(n.x)
	case noteContinue:
		l.sendContinue(n.x)
	case noteResume:
		l.resumeBody(n.x)
	case noteHijack:
		l.beginHijack(n.x)
	case noteOpen:
		l.open(n.fd, n.peer, false)
	case noteRefuse:
		l.open(n.fd, n.peer, true)
	case noteServe:
		return l.serveKept(t, n.c)
	case noteStream:
		return l.streamKept(t, n.c)
	case noteListen:
		l.listen(n.fd)
	case noteDrain:
		l.beginDrain()
	case noteCutHeld:
		l.cutHeld()
	case noteHear:
		return l.hear(t, n.c)
	case noteHeard:
		l.heardLate(n)
	case noteStop:
		l.stopped = true
	}
	return false
}

// abandon settles a note that nobody will work on.
func (l *Loop) abandon(n note) {
	switch n.kind {
	case noteOpen, noteRefuse:
		l.g.leave()
		_ = l.k.Close(n.fd)
	case noteListen:
		_ = l.k.Close(n.fd)
	case noteDrain:
		l.g.doors.Add(-1)
	case noteChunk, noteHijack:
		n.x.reply(ErrGone)
	case noteDone:
		if h := n.x.hold; h != nil {
			h.src.Closed(ClosedByServer)
		}
	}
}
