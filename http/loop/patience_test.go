// SPDX-License-Identifier: MIT

package loop

import (
	"testing"

	"m0serve.dev/http/wire"
)

// a deafSeat is idle and hears nothing.
type deafSeat struct{ Seat }

func (deafSeat) Rouse() {}

// TestLateHandlerStaysWhereNobodyWaits: a handler that is late keeps its loop for some
// steps of the watchdog more, unless the loop has something to do that needs no seat, or
// another seat is free.
func TestLateHandlerStaysWhereNobodyWaits(t *testing.T) {
	for _, c := range []struct {
		name  string
		set   func(l *Loop, t *Turn)
		looks int
	}{
		{"nobody", func(*Loop, *Turn) {}, 1 + patience},
		{"a stream", func(l *Loop, _ *Turn) { l.nheld = 1 }, 1},
		{"a slow client", func(l *Loop, _ *Turn) { l.npending = 1 }, 1},
		{"an answer", func(_ *Loop, t *Turn) {
			t.waiting = []reply{{&conn{state: stateClosed}, 0}}
		}, 1},
		{"an answer of the same connection", func(_ *Loop, t *Turn) { t.out = []byte("x") }, 1},
		{"what needs no seat", func(_ *Loop, t *Turn) { t.x.seated = false }, 1},
		{"a note", func(l *Loop, _ *Turn) { l.posted.Store(true) }, 1},
		{"a drain", func(l *Loop, _ *Turn) { l.g.draining.Store(true) }, 1},
		{"a free seat", func(l *Loop, _ *Turn) {
			s := l.g.seats
			s.idle = append(s.idle, &seat{Seat: deafSeat{}})
			s.idlers.Store(1)
		}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := looksUntilTaken(t, c.set, false); got != c.looks {
				t.Errorf("the loop is taken by look %d, want %d", got, c.looks)
			}
		})
	}
	if got := looksUntilTaken(t, func(*Loop, *Turn) {}, true); got != 1 {
		t.Errorf("a handler that offers a piece loses the loop by look %d, want 1", got)
	}
}

// looksUntilTaken counts looks of the watchdog at one handler.
func looksUntilTaken(t *testing.T, set func(*Loop, *Turn), offers bool) (looks int) {
	t.Helper()
	k := newSimKernel(1)
	k.idle = func() {}
	g, err := newGroup(Config{Handler: &simRun{}, Kernel: k,
		Seated: func(*wire.Request) bool { return true }})
	if err != nil {
		t.Fatal(err)
	}
	l := g.loops[0]
	turn := newTurn()
	turn.x.l, turn.x.seated = l, true
	l.cur = turn
	l.leader.Store(&seat{})
	set(l, turn)
	l.noteAwaited(turn)
	turn.x.word = l.enterState(inHandler)
	if offers {
		turn.x.out = []byte("a piece")
		turn.x.Offer()
	}
	l.mark.Store(turn.x.word)
	g.ended.Add(1)
	l.stopped = true // who takes it ends
	for l.taken == 0 && looks < 100 {
		looks++
		l.look()
	}
	g.ended.Wait()
	return looks
}
