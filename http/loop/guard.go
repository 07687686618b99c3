// SPDX-License-Identifier: MIT

package loop

import (
	"net/http"
	"runtime/debug"
)

// enter runs the handler of t.x on the loop. All of the owner's state is
// consistent here: whoever takes the loop goes on from it. true: it was lost,
// and nothing of the loop or the connection may be touched any more.
func (l *Loop) enter(t *Turn) (lost bool) {
	x := t.x
	l.cur = t
	x.entered, l.readAt = l.readAt, -1
	w := l.enterState(inHandler)
	x.word = w
	l.arm(w)
	x.call()
	if x.rest != nil {
		x.detach()
	}
	if x.word != 0 && l.word.CompareAndSwap(w, follow(w, atWork)) {
		x.word = 0
		return false
	}
	x.word = 0
	seated := x.seated // x is somebody else's once it is complete
	x.finish()
	l.g.leftLate(seated)
	return true
}

// finish ends x behind its handler, which has left the loop: now, or when the rest
// is done that the handler left to be done without it.
func (x *Exchange) finish() {
	if x.rest == nil {
		x.completeOffLoop()
		return
	}
	x.on = nil
	go func() {
		x.call()
		x.completeOffLoop()
	}()
}

// An ownerState is what the owner of a loop is at.
type ownerState = uint64

const (
	atWork    ownerState = iota // touches the loop: nobody may take it
	inHandler                   // may be taken, for being late
	locking                     // has events and waits for its seat: may be taken, for being late
	dozing                      // in the kernel, nothing to do: a seat may take it
	stateBits = 3
)

// follow is the word behind w, in a new state.
func follow(w uint64, s ownerState) uint64 { return (w | stateBits) + 1 + s }

// enterState leaves atWork. Only the owner may, so a store will do.
func (l *Loop) enterState(s ownerState) (w uint64) {
	w = follow(l.word.Load(), s)
	l.word.Store(w)
	return w
}

// arm starts the watchdog's timer, unless it runs.
func (l *Loop) arm(w uint64) {
	if l.armed.Load() == 0 && l.armed.CompareAndSwap(0, 1) {
		l.mark.Store(w)
		l.timer.Arm(l.g.cfg.Poll)
	}
}

// call runs the application and turns whatever happens into a return.
func (x *Exchange) call() {
	returned := false
	defer func() {
		if returned {
			return
		}
		if v := recover(); v != nil {
			x.rest = nil
			x.panicked(v)
			x.endHandler()
			return
		}
		x.exitedOffLoop()
	}()
	switch rest := x.rest; {
	case x.tick:
		x.l.g.cfg.Tick()
	case rest != nil:
		x.rest = nil
		rest(x)
	default:
		x.l.g.cfg.Handler.Serve(x)
	}
	if x.rest == nil {
		x.endHandler()
	}
	returned = true
}

// panicked makes the answer of a handler that panicked: 500 while nothing is
// sent, else a broken connection.
func (x *Exchange) panicked(v any) {
	x.dropHold()
	if v != http.ErrAbortHandler {
		x.l.g.panics.Add(1)
		x.l.g.cfg.Log.Error("loop: handler panicked", "target", string(x.req.Target),
			"panic", v, "stack", string(debug.Stack()))
	}
	if v == http.ErrAbortHandler || x.started || x.tick {
		x.aborted = true
		return
	}
	x.fail(500, "")
}

// exitedOffLoop is called when the handler ended its goroutine, which may be the
// loop's: the loop gets a new one and the connection is cut, as in net/http.
func (x *Exchange) exitedOffLoop() {
	x.dropHold()
	x.aborted = true
	x.endHandler()
	x.detach()
	g, seated := x.l.g, x.seated // x is somebody else's once it is complete
	x.completeOffLoop()
	go g.leftLate(seated)
}

// leftLate notes the end of a handler that lost its loop.
func (g *Group) leftLate(seated bool) {
	if seated {
		g.seats.late.Add(-1)
		return
	}
	g.runOffLoop(g.gate.leave())
}

// dropHold parts x from a source that was never fed.
func (x *Exchange) dropHold() {
	if h := x.hold; h != nil {
		x.hold = nil
		h.src.Closed(ClosedByError)
	}
}

// detach gives the loop away if x still has it, for what a handler must not do
// on it. What follows runs off the loop.
func (x *Exchange) detach() {
	w := x.word
	if w == 0 {
		return
	}
	x.word = 0
	if x.l.word.CompareAndSwap(w, follow(w, atWork)) {
		// The owner is whoever took the word: us, and now the new goroutine.
		x.offer.state.Store(offerNone)
		x.l.g.detached.Add(1)
		late := x.l.cur
		x.l.countLate(late)
		x.l.succeed(late)
		return
	}
	x.settleOffer()
}

// take makes the caller the loop's owner if the word is still w. late is the
// turn of the handler that loses the loop, nil when there is none.
func (l *Loop) take(w uint64) (late *Turn, taken bool) {
	if !l.word.CompareAndSwap(w, follow(w, atWork)) {
		return nil, false
	}
	l.asleep.Store(false)
	if w&stateBits != inHandler {
		return nil, true
	}
	late = l.cur
	l.taken++
	if late.x.c != nil {
		l.routes.late(late.x.route, l.now)
	}
	l.countLate(late)
	return late, true
}

// countLate counts a handler that is off its loop from now on.
func (l *Loop) countLate(late *Turn) {
	if late.x.seated {
		l.g.seats.late.Add(1)
		return
	}
	l.g.gate.force()
}

// succeed starts a goroutine as the new owner. The caller has the loop.
func (l *Loop) succeed(late *Turn) {
	l.leader.Store(nil)
	go l.lead(l.newTurn(), late)
}

// lead is the life of an owner that comes in the middle of a turn.
func (l *Loop) lead(t, late *Turn) {
	l.takeOver(late)
	l.run(t)
}

// takeOver goes on where a late handler was: it touches its own Exchange and
// input, the answers of earlier requests in the same batch are the new owner's
// to send.
func (l *Loop) takeOver(late *Turn) {
	if late == nil {
		return
	}
	if c := late.x.c; c != nil {
		l.sendOut(late, c)
		l.sendOffer(late.x)
	}
	l.sendWaiting(late)
}

// enterTick runs the application's tick as if it were a handler.
func (l *Loop) enterTick(t *Turn) (lost bool) {
	t.x.reset(l, nil, t)
	t.x.tick = true
	if l.enter(t) {
		return true
	}
	l.ticking.Store(false)
	return false
}

// newTurn returns a turn from the free list, or a new one.
func (l *Loop) newTurn() *Turn {
	if n := len(l.turns); n > 0 {
		t := l.turns[n-1]
		l.turns = l.turns[:n-1]
		t.seat = nil
		return t
	}
	return newTurn()
}
