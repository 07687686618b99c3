// SPDX-License-Identifier: MIT

package loop

// watchOffLoop waits for the loop's timer and takes the loop from a handler
// that it finds twice. It sleeps while handlers are quick: the owner disarms the
// timer when it has been idle for a while.
func (l *Loop) watchOffLoop() {
	for l.timer.Wait() {
		l.look()
	}
}

// look is one step of the watchdog.
//
//	not takeable   nobody is in a handler: stand down, then look once more
//	word new       remember it
//	word seen      take the loop, or let the handler stay for a while
func (l *Loop) look() {
	w := l.word.Load()
	switch {
	case !canBeLate(w):
		// Stand down first and look again then: the owner stores the word first
		// and looks at armed then, so one of the two sees the other.
		l.armed.Store(0)
		w = l.word.Load()
		if !canBeLate(w) || !l.armed.CompareAndSwap(0, 1) {
			return
		}
		l.mark.Store(w)
	case w != l.mark.Load():
		l.mark.Store(w)
	case l.mayStay(w):
	default:
		late, taken := l.take(w)
		if !taken {
			break
		}
		l.armed.Store(0)
		if late == nil {
			l.g.seats.contend(l.now)
		} else if late.x.seated {
			l.g.seats.standBy(l.now)
		}
		l.succeed(late)
		return
	}
	l.timer.Arm(l.g.cfg.Poll)
}

// patience is for how many steps more a handler keeps a loop that nobody waits for. A view
// that computes for 10 ms would lose it each time, to a goroutine that finds requests for
// the same seat alone, and the two would share its core.
const patience = 4

// mayStay reports whether a late handler may keep the loop for one step more: it has a
// seat, none is free to go on in its place, and nothing waits for the loop, as far as can
// be known without it.
func (l *Loop) mayStay(w uint64) bool {
	if l.stays.word != w {
		l.stays.word, l.stays.n = w, 0
	}
	l.stays.n++
	return l.stays.n <= patience && w&stateBits == inHandler && !l.awaited.Load() &&
		!l.posted.Load() && !l.g.draining.Load() && l.g.seats.idlers.Load() == 0
}

// noteAwaited notes, before a handler runs, whether another owner of the loop would have
// something to do but to read more requests: streams, answers that are not sent, and
// what needs no seat.
func (l *Loop) noteAwaited(t *Turn) {
	awaited := !t.x.seated || l.nheld > 0 || l.npending > 0 || len(t.waiting) > 0 ||
		len(t.out) > t.put
	if l.awaited.Load() != awaited {
		l.awaited.Store(awaited)
	}
}

// canBeLate reports whether the owner is at something that the watchdog bounds.
func canBeLate(w uint64) bool {
	s := w & stateBits
	return s == inHandler || s == locking
}
