// SPDX-License-Identifier: MIT

package loop

import (
	"sync/atomic"
	"time"
)

// A Guest is an event loop of another kind on a thread of its own, asyncio for
// one, that answers the requests of Config.Seated and leads the first loop in
// between. Its own poller watches the descriptor of Group.Invite, and calls
// Group.Turn when that is readable.
type Guest interface {
	// Post hands over news of x. Any goroutine may call it; it must not block.
	Post(x *Exchange, what News)
	// Rouse asks for a call of Turn soon. Any goroutine may call it.
	Rouse()
}

// News is what happened to a guest's Exchange.
type News uint8

const (
	Begins   News = iota // a request; it is the guest's until Exchange.End
	Written              // what was sent is written: Exchange.Sent
	Readable             // there may be more of the body: Exchange.ReadNow
	Gone                 // the peer is; comes once, End is still to be called
)

// The guest's watchdog: a step, and how many without a change make it sleep. It takes the
// loop from a guest that is due for a turn and does not come for one step, or for more, up to
// guestPatience, when the guest was only busy and came soon after the last time: what it is
// busy with are the requests of its last turn, and a loop that changes hands every time costs
// more than it gains.
const (
	guestStep     = 2 * time.Millisecond
	guestQuiet    = 10
	guestPatience = 3
	guestSoon     = 20 * time.Millisecond
)

// guestNotYet is how long Turn may be put off before it is asked for again.
const guestNotYet = time.Second

// guestRounds bounds how often Turn asks the kernel, so that a guest whose loop is
// kept busy by others comes to its own work.
const guestRounds = 16

// guest is a Guest in its group, as the seat that leads for it.
type guest struct {
	Guest
	seat  seat // stands for it as leader
	turn  *Turn
	wants atomic.Bool // Turn found a goroutine at work

	patience atomic.Int32 // in steps
	lostAt   atomic.Int64 // when the loop was taken from it, on the loop's clock
	seen     uint64       // the word at which a turn was due; the watchdog's
	steps    int32        // since then
}

// overdue is a step of the watchdog, which has found a turn due at the word w.
func (me *guest) overdue(w uint64) bool {
	if w != me.seen {
		me.seen, me.steps = w, 0
		return false
	}
	me.steps++
	return me.steps >= me.patience.Load()
}

// cameBack notes that the guest has the loop again.
func (me *guest) cameBack(now time.Duration) {
	if now-time.Duration(me.lostAt.Load()) > guestSoon {
		me.patience.Store(1)
	} else if n := me.patience.Load(); n < guestPatience {
		me.patience.Store(n + 1)
	}
}

// begin gives x to the guest.
func (me *guest) begin(x *Exchange) {
	x.guest, x.began = me, x.l.k.Now()
	me.Post(x, Begins)
}

// Invite makes who the one that requests of Config.Seated are for. It is called
// once, and Turn is called from then on. Requests that came before wait for it.
// poller is the descriptor to watch: readable when Turn has something to do. It
// stays open as long as the process does, since the loop may end behind the guest's
// back; -1 when it has ended already, which the first Turn says.
func (g *Group) Invite(who Guest) (poller int) {
	s, me := g.seats, &guest{Guest: who}
	me.patience.Store(1)
	s.mu.Lock()
	s.guest.Store(me)
	for x := s.popLocked(); x != nil; x = s.popLocked() {
		me.begin(x)
	}
	s.mu.Unlock()
	l := g.loops[0]
	l.mu.Lock()
	if poller = -1; !l.dead {
		poller, l.watched = l.poller, true
	}
	l.mu.Unlock()
	go l.watchGuest(me)
	return poller
}

// Turn does what is to be done on the first loop, on the guest's thread. more
// says that the caller promises to call again before it waits for anything; next
// is when it must call at the latest, negative for never.
func (g *Group) Turn(more func() bool) (next time.Duration, ended bool) {
	l, me := g.loops[0], g.seats.guest.Load()
	if !l.resumeGuest(me) {
		return guestNotYet, l.isDead()
	}
	if me.turn == nil {
		me.turn = l.newTurn()
		me.turn.seat = &me.seat
	}
	t := me.turn
	for round := 1; ; round++ {
		n := l.poll(t, 0)
		busy := n > 0 || l.posted.Load() || l.todo.len() > 0 || l.ready.len() > 0
		if l.turn(t, t.events[:n]) {
			me.turn = nil // a handler that needs no guest was late
			return guestNotYet, false
		}
		if l.stopped {
			l.leader.Store(nil)
			l.end()
			return -1, true
		}
		l.publish()
		promised := more()
		switch {
		case promised || !busy && !l.posted.Load():
		case round < guestRounds:
			continue
		default: // the guest has something to do, too
			l.enterState(dozing)
			return 0, false
		}
		ms := l.waitMs()
		l.asleep.Store(!promised)
		if !promised && l.posted.Load() {
			l.asleep.Store(false)
			continue
		}
		l.enterState(dozing)
		return time.Duration(ms) * time.Millisecond, false
	}
}

// resumeGuest makes the guest the owner, if the loop is its own or to be had.
func (l *Loop) resumeGuest(me *guest) bool {
	for range 2 {
		w := l.word.Load()
		leader := l.leader.Load()
		if w&stateBits == dozing && (leader == &me.seat || leader == nil) {
			if l.word.CompareAndSwap(w, follow(w, atWork)) {
				l.asleep.Store(false)
				if leader == nil {
					l.leader.Store(&me.seat)
					l.sendAway()
					me.cameBack(l.clock())
				}
				return true
			}
			continue
		}
		// The goroutine says that it dozes before it looks for this wish.
		me.wants.Store(true)
	}
	return false
}

// isDead reports whether the loop has ended.
func (l *Loop) isDead() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dead
}

// watchGuest takes the loop while the guest is busy with something else: when
// it is due for a turn and does not come.
func (l *Loop) watchGuest(me *guest) {
	timer, err := l.k.Timer()
	if err != nil {
		l.g.cfg.Log.Error("loop: no watchdog", "error", err)
		return
	}
	defer timer.Close()
	for quiet := 0; !l.isDead(); quiet++ {
		if quiet >= guestQuiet && l.asleep.Load() {
			l.k.Readable(l.poller, time.Second)
			quiet = 0
		} else {
			timer.Arm(guestStep)
			timer.Wait()
		}
		w := l.word.Load()
		if w&stateBits != dozing || l.leader.Load() != &me.seat ||
			!l.posted.Load() && !l.k.Readable(l.poller, 0) {
			continue
		}
		quiet = 0
		if !me.overdue(w) {
			continue
		}
		if _, taken := l.take(w); taken {
			me.lostAt.Store(int64(l.clock()))
			l.succeed(nil)
		}
	}
}
