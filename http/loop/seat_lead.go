// SPDX-License-Identifier: MIT

package loop

import "time"

// clock is l.now for others than the owner.
func (l *Loop) clock() time.Duration { return l.k.Now().Sub(l.start) }

// claimable reports whether a goroutine leads the loop and has nothing to do.
func (l *Loop) claimable() bool {
	return l.word.Load()&stateBits == dozing && l.leader.Load() == nil &&
		l.g.seats.mayLead(l.clock())
}

// claim makes me the owner, if the loop is to be had: from a goroutine that has
// nothing to do, or from a seat whose handler has let go of the lock, which is
// late. The caller has the lock.
func (l *Loop) claim(me *seat) (late *Turn, got bool) {
	// Nobody but the owner changes leader, and not in these states: it is still
	// right when the word is.
	s, w := l.g.seats, l.word.Load()
	leader := l.leader.Load()
	switch {
	case w&stateBits == dozing && leader == nil && s.mayLead(l.clock()):
		if !l.word.CompareAndSwap(w, follow(w, atWork)) {
			return nil, false
		}
		l.asleep.Store(false)
		l.sendAway()
		return nil, true
	case w&stateBits == inHandler && leader != nil && leader != me && me.waited < askedAfter &&
		s.standsBy(me, l.clock()):
		if late, got = l.take(w); got {
			s.standing.CompareAndSwap(me, nil)
			s.standBy(l.now)
		}
		return late, got
	}
	return nil, false
}

// leadSeated is the life of a seat as the owner, until the loop is lost or
// given away.
func (l *Loop) leadSeated(me *seat, late *Turn) {
	l.leader.Store(me)
	t := l.newTurn()
	t.seat = me
	l.takeOver(late)
	yielded := l.now
	for {
		n, lost := l.wait(t)
		if lost || l.turn(t, t.events[:n]) {
			return
		}
		if l.stopped {
			l.end()
			return
		}
		l.publish()
		s := l.g.seats
		if s.waiting.Load() > 0 && l.runQueued(t, me) {
			return
		}
		if s.late.Load() > 0 && l.now-yielded >= yieldEvery {
			if yielded = l.now; l.yield(t) {
				return
			}
		}
	}
}

// runQueued runs on the loop what waited for a seat while none led. true: the
// loop is lost, or was given away.
func (l *Loop) runQueued(t *Turn, me *seat) (gone bool) {
	s := l.g.seats
	for left := s.waiting.Load(); left > 0; left-- {
		x := s.pop()
		switch {
		case x == nil:
			return false
		case x.pipe != nil || x.l != l:
			// It will wait for a loop, this one or another, and so cannot hold one up.
			me.job = x
			l.standUp(t)
			return true
		case l.enterQueued(t, me, x):
			return true
		}
	}
	return false
}

// enterQueued is enter for an Exchange that started off the loop. t stays the
// leader's, unless the loop is lost.
func (l *Loop) enterQueued(t *Turn, me *seat, x *Exchange) (lost bool) {
	x.on = me.Seat
	if x.gone.Load() {
		x.runOffLoop() // which asks the handler for nothing
		return false
	}
	x.began = l.k.Now()
	if l.enter(&Turn{x: x}) {
		l.free(t)
		return true
	}
	if x.asking != nil {
		x.answered()
		return false
	}
	x.final = x.appendAnswer(x.final[:0])
	return l.done(t, x)
}

// free gives the turn of an owner that has lost the loop back to it.
func (l *Loop) free(t *Turn) {
	l.mu.Lock()
	l.freed = append(l.freed, t)
	l.mu.Unlock()
}

// standUp makes a goroutine the owner, so that the seat can do something else.
func (l *Loop) standUp(t *Turn) {
	l.turns = append(l.turns, t)
	l.leader.Store(nil)
	go l.run(l.newTurn())
}

// yield lets other threads have the lock for a moment.
func (l *Loop) yield(t *Turn) (lost bool) {
	w := l.enterState(locking)
	l.arm(w)
	t.seat.Unlock()
	t.seat.Nap()
	t.seat.Lock()
	return l.resume(t, w)
}

// resume is the way back from a state in which the loop could be taken.
func (l *Loop) resume(t *Turn, w uint64) (lost bool) {
	if l.word.CompareAndSwap(w, follow(w, atWork)) {
		return false
	}
	l.free(t)
	return true
}

// waitShared is wait where seats and goroutines lead by turns.
func (l *Loop) waitShared(t *Turn, ms int) (n int, lost bool) {
	if t.seat != nil {
		// While there is something to do, the lock is kept.
		if n = l.poll(t, 0); n > 0 {
			return n, false
		}
	}
	l.asleep.Store(true)
	if l.posted.Load() {
		l.asleep.Store(false)
		return 0, false
	}
	now := l.now // a seat may take the loop from here on
	w := l.enterState(dozing)
	var err error
	seated := t.seat != nil // t is the loop's once it is lost
	if !seated {
		s := l.g.seats
		if g := s.guest.Load(); g != nil && l.index == 0 && g.wants.CompareAndSwap(true, false) {
			g.Rouse()
		}
		if l.index == 0 && s.idlers.Load() > 0 && s.mayLead(now) {
			s.rouse()
		}
		n, err = l.k.Wait(l.poller, t.events, ms)
	} else {
		t.seat.Unlock()
		n, err = l.k.Wait(l.poller, t.events, ms)
		locking := follow(w, locking)
		if !l.word.CompareAndSwap(w, locking) {
			t.seat.Lock()
			return 0, l.resume(t, w)
		}
		l.arm(locking)
		t.seat.Lock()
		w = locking
	}
	if l.resume(t, w) {
		if !seated {
			l.leaving.Add(-1)
		}
		return 0, true
	}
	l.asleep.Store(false)
	return l.polled(n, err), false
}

// sendAway ends the wait of the goroutine that the caller took the loop from. The
// notifier stays readable until it has left, or the caller's own look at the poller
// could be what its wait ended for.
func (l *Loop) sendAway() {
	l.leaving.Add(1)
	l.k.Notify(l.notifier)
}
