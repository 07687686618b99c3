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
//	word even      nobody is in a handler: stand down, then look once more
//	word new       remember it
//	word seen      take the loop
func (l *Loop) look() {
	w := l.word.Load()
	switch {
	case w&1 == 0:
		// Stand down first and look again then: the owner stores the word first
		// and looks at armed then, so one of the two sees the other.
		l.armed.Store(0)
		w = l.word.Load()
		if w&1 == 0 || !l.armed.CompareAndSwap(0, 1) {
			return
		}
		l.mark.Store(w)
	case w != l.mark.Load():
		l.mark.Store(w)
	case l.take(w):
		l.armed.Store(0)
		l.succeed()
		return
	}
	l.timer.Arm(l.g.cfg.Poll)
}
