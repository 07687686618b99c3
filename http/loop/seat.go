// SPDX-License-Identifier: MIT

package loop

import (
	"sync"
	"sync/atomic"
	"time"

	"m0serve.dev/http/wire"
)

// A Seat is a thread that runs the handlers of Config.Seated, under a lock that
// all seats of a process share: a Python thread, and the interpreter's lock. All
// methods but Rouse are called by the thread itself.
type Seat interface {
	// Lock waits for the lock.
	Lock()
	// Unlock gives the lock back, before the thread waits for something else.
	Unlock()
	// Sleep waits, without the lock, for Rouse. A Rouse that comes first is kept.
	Sleep()
	// Rouse ends Sleep. Any goroutine may call it.
	Rouse()
	// Nap gives the other threads a moment, without the lock.
	Nap()
}

const (
	// standbyFor is how long after a late call one idle seat waits for the lock:
	// it gets it in the moment in which the leader's handler blocks.
	standbyFor = 200 * time.Millisecond
	// contendedFor is how long seats do not lead after one had to wait for the
	// lock with events in hand.
	contendedFor = 100 * time.Millisecond
	// askedAfter is how long CPython lets a thread wait for the lock before it takes it
	// from the one that computes (sys.getswitchinterval): a handler that is done in no time
	// has lost the lock then, not one that blocks. Whoever took the loop from it would wait
	// for the lock in turn, and the loop would change hands for ever.
	askedAfter = 5 * time.Millisecond
	// yieldEvery is how often a leader lets go of the lock while others need it.
	yieldEvery = time.Millisecond
)

// A seat is a Seat in its group.
type seat struct {
	Seat
	job    *Exchange     // handed to it while it was idle; guarded by seats.mu
	waited time.Duration // for the lock, the last time
}

func (me *seat) lock(l *Loop) {
	asked := l.clock()
	me.Lock()
	me.waited = l.clock() - asked
}

// seats are the seats of one Group, and what waits for one. The first loop may
// be led by a seat, which then runs handlers inline; on all others, and while
// none is free, requests wait here in order.
type seats struct {
	max      int64                 // requests that run or wait; 0: no bound
	queueMax int                   // of those that wait; negative: no bound
	guest    atomic.Pointer[guest] // has all requests; nil: the seats have

	mu      sync.Mutex
	queue   queue[*Exchange] // guarded by mu
	idle    []*seat          // guarded by mu
	stopped bool             // guarded by mu

	inside    atomic.Int64         // requests that run or wait
	waiting   atomic.Int64         // queue.len
	idlers    atomic.Int64         // len(idle)
	late      atomic.Int64         // handlers that lost the loop and run still
	standing  atomic.Pointer[seat] // the one that stands by
	standby   atomic.Int64         // until then, on the first loop's clock
	contended atomic.Int64         // until then
}

// seated reports whether a request is for a seat.
func (l *Loop) seated(r *wire.Request) bool {
	return l.g.seats != nil && l.g.cfg.Seated(r)
}

// Sit makes the caller, a thread that has s's lock, serve the Group's requests
// until the Group closes. It may block like a handler.
func (g *Group) Sit(s Seat) {
	me, l := &seat{Seat: s}, g.loops[0]
	for {
		// Leading comes first: a leader runs what waits on the loop, while a queue
		// that a goroutine fills may never become empty.
		if me.job == nil {
			if late, got := l.claim(me); got {
				l.leadSeated(me, late)
				continue
			}
		}
		x, stopped := g.seats.next(me)
		switch {
		case stopped:
			return
		case x != nil:
			g.seats.standing.CompareAndSwap(me, nil)
			x.on = s
			x.runOffLoop()
		case g.seats.standsBy(me, l.clock()):
			me.Unlock()
			me.Nap()
			me.lock(l)
		default:
			g.seats.sleep(me, l)
		}
	}
}

// isFull reports that one request more is too many.
func (s *seats) isFull() bool { return s.max > 0 && s.inside.Load() >= s.max }

// enter counts a request that push takes, until Exchange.endHandler.
func (s *seats) enter(x *Exchange) verdict {
	if n := s.inside.Add(1); s.max > 0 && n > s.max {
		s.inside.Add(-1)
		return refused
	}
	v := s.push(x)
	if v == refused {
		s.inside.Add(-1)
	}
	return v
}

// push hands x to an idle seat, or lets it wait for one.
func (s *seats) push(x *Exchange) verdict {
	s.mu.Lock()
	defer s.mu.Unlock()
	if me := s.guest.Load(); me != nil {
		me.begin(x)
		return queued
	}
	if n := len(s.idle); n > 0 {
		me := s.take(n - 1)
		me.job = x
		me.Rouse()
		return queued
	}
	if s.queueMax >= 0 && s.queue.len() >= s.queueMax {
		return refused
	}
	s.queue.push(x)
	s.waiting.Add(1)
	return queued
}

// take takes an idle seat out. mu is held.
func (s *seats) take(i int) *seat {
	me := s.idle[i]
	s.idle = append(s.idle[:i], s.idle[i+1:]...)
	s.idlers.Store(int64(len(s.idle)))
	return me
}

// next is what a seat is to run, if anything waits.
func (s *seats) next(me *seat) (x *Exchange, stopped bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x = me.job; x != nil {
		me.job = nil
		return x, false
	}
	x = s.popLocked()
	return x, s.stopped && x == nil
}

// pop takes the first that waits, nil when none does.
func (s *seats) pop() *Exchange {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.popLocked()
}

func (s *seats) popLocked() *Exchange {
	x, ok := s.queue.pop()
	if ok {
		s.waiting.Add(-1)
	}
	return x
}

// sleep waits for something to do, or for the loop to be free.
func (s *seats) sleep(me *seat, l *Loop) {
	s.mu.Lock()
	if s.stopped || s.queue.len() > 0 {
		s.mu.Unlock()
		return
	}
	s.idle = append(s.idle, me)
	s.idlers.Store(int64(len(s.idle)))
	s.mu.Unlock()
	// An owner that goes to sleep says so before it looks for idle seats; this
	// one is in the list before it looks at the owner.
	if l.claimable() && s.leave(me) {
		return
	}
	me.Unlock()
	me.Sleep()
	me.lock(l)
	s.leave(me)
}

// leave takes me out of the list; false: somebody else did, and has roused it.
func (s *seats) leave(me *seat) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, other := range s.idle {
		if other == me {
			s.take(i)
			return true
		}
	}
	return false
}

// rouse wakes an idle seat.
func (s *seats) rouse() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.idle); n > 0 {
		s.take(n - 1).Rouse()
	}
}

// stop ends Sit.
func (s *seats) stop() {
	s.mu.Lock()
	s.stopped = true
	s.mu.Unlock()
	for s.idlers.Load() > 0 {
		s.rouse()
	}
	if me := s.guest.Load(); me != nil {
		me.Rouse()
	}
}

// standBy asks for a seat that waits for the lock, from now on for a while.
func (s *seats) standBy(now time.Duration) {
	s.standby.Store(int64(now + standbyFor))
	s.rouse()
}

// standsBy reports whether me, which is idle, is the one that waits for the lock.
func (s *seats) standsBy(me *seat, now time.Duration) bool {
	if now >= time.Duration(s.standby.Load()) {
		s.standing.CompareAndSwap(me, nil)
		return false
	}
	return s.standing.CompareAndSwap(nil, me) || s.standing.Load() == me
}

// contend keeps seats from leading for a while.
func (s *seats) contend(now time.Duration) {
	s.contended.Store(int64(now + contendedFor))
}

// mayLead reports whether that while is over.
func (s *seats) mayLead(now time.Duration) bool {
	return now >= time.Duration(s.contended.Load())
}
