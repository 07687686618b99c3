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
//	word seen      take the loop
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

// canBeLate reports whether the owner is at something that the watchdog bounds.
func canBeLate(w uint64) bool {
	s := w & stateBits
	return s == inHandler || s == locking
}
