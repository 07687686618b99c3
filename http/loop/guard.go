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
	w := l.word.Load() + 1
	x.word = w
	l.word.Store(w) // only the owner writes an even word
	if l.armed.Load() == 0 && l.armed.CompareAndSwap(0, 1) {
		l.mark.Store(w)
		l.timer.Arm(l.g.cfg.Poll)
	}
	x.call()
	if x.word != 0 && l.word.CompareAndSwap(w, w+1) {
		x.word = 0
		return false
	}
	x.word = 0
	x.completeOffLoop()
	l.g.runWaitingOffLoop()
	return true
}

// call runs the application and turns whatever happens into a return.
func (x *Exchange) call() {
	returned := false
	defer func() {
		if returned {
			return
		}
		if v := recover(); v != nil {
			x.panicked(v)
			x.endHandler()
			return
		}
		x.exitedOffLoop()
	}()
	if x.tick {
		x.l.g.cfg.Tick()
	} else {
		x.l.g.cfg.Handler.Serve(x)
	}
	x.endHandler()
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
	g := x.l.g // x is somebody else's once it is complete
	x.completeOffLoop()
	go g.runWaitingOffLoop()
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
	if x.l.word.CompareAndSwap(w, w+1) {
		// The owner is whoever took the even word: us, and now the new goroutine.
		x.l.g.detached.Add(1)
		x.l.succeed()
	}
}

// take makes the caller the loop's owner if the word is still w, an odd one.
func (l *Loop) take(w uint64) bool {
	if !l.word.CompareAndSwap(w, w+1) {
		return false
	}
	late := l.cur.x
	l.taken++
	if late.c != nil {
		l.routes.late(late.route, l.now)
	}
	return true
}

// succeed starts the new owner. The caller has just taken the word.
func (l *Loop) succeed() {
	late := l.cur
	l.g.gate.force()
	go l.lead(l.newTurn(), late)
}

// lead is the life of an owner that comes in the middle of a turn. The late
// handler touches its own Exchange and input; the answers of earlier requests
// in the same batch are the new owner's to send.
func (l *Loop) lead(t, late *Turn) {
	if c := late.x.c; c != nil && len(late.out) > 0 {
		l.send(c, late.out)
	}
	l.run(t)
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
		return t
	}
	return newTurn()
}
