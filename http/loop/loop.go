// SPDX-License-Identifier: MIT

package loop

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"m0serve.dev/http/internal/sys"
	"m0serve.dev/http/wire"
)

// What connections wait for.
const (
	evRead  = sys.EventIn
	evWrite = sys.EventOut
	evPeer  = sys.EventRDHup
	evGone  = sys.EventErr | sys.EventHup
)

const (
	turnInBytes   = 64 << 10 // the read buffer of an owner
	turnEvents    = 256
	outFlushBytes = 64 << 10 // a batch of answers is sent when it is as long
	// lingerBytesMax bounds what a peer may still send after its answer, beside
	// LingerTimeout: enough for it to notice the answer before it is cut off.
	lingerBytesMax = 16 << 20
	heldSliceMax   = 512 // held connections fed in one turn: below 10 ms
	disarmEvery    = 4 * time.Millisecond
)

// A Loop is one epoll set and whatever lives in it. The owner's fields belong
// to the goroutine that owns the loop; see the package comment.
type Loop struct {
	g     *Group
	k     sys.Kernel
	index int

	// The guard: a sequence and what the owner is at, see ownerState. It only
	// grows. Entering stores, leaving and taking are the same compare-and-swap.
	word  atomic.Uint64
	armed atomic.Uint32 // 1: the watchdog's timer runs
	mark  atomic.Uint64 // the word that the watchdog saw last
	timer sys.Timer
	cur   *Turn // in a handler; written before word says so

	// The owner's.
	poller   int
	notifier int
	table    []*conn // by descriptor
	gen      int32
	nheld    int
	wheel    wheel
	start    time.Time
	now      time.Duration // since start, read once a turn
	readAt   time.Duration // the clock, and no handler has run since; negative: one has
	wallSec  int64
	date     []byte // of wallSec
	todo     queue[note]
	ready    queue[*heldConn]
	turns    []*Turn     // free
	spare    []*Exchange // free
	long     int         // bytes of long bodies that are awaited, or announced
	longIn   [][]byte    // of long bodies, free
	routes   routes
	accept   acceptor
	disarmed time.Duration
	tickAt   time.Duration
	ticking  atomic.Bool
	draining bool
	stopped  bool
	scratch  []byte
	drops    dropCounts
	requests uint64
	taken    uint64
	turned   uint64        // turns that ended here
	usedAt   time.Duration // CPU time of the process when the turn began, if it is measured

	// Shared.
	count    atomic.Int64 // connections
	dateText atomic.Pointer[[]byte]
	asleep   atomic.Bool
	posted   atomic.Bool          // something is in inbox or wakes
	leader   atomic.Pointer[seat] // nil: a goroutine leads
	leaving  atomic.Int32         // goroutines that lost the loop and are in its wait
	mu       sync.Mutex
	inbox    []note      // guarded by mu
	wakes    []*heldConn // guarded by mu
	freed    []*Turn     // guarded by mu: of owners that lost the loop asleep
	dead     bool        // guarded by mu: nobody will look again
	watched  bool        // guarded by mu until then: a guest watches poller, which stays open
	pub      published
}

// A Turn is what one owner works with. It stays with a handler that loses the
// loop, because the request points into it, and comes back with the answer.
type Turn struct {
	in     []byte
	out    []byte // answers not sent yet; a handler never touches it
	events []sys.Event
	x      *Exchange
	rest   []byte // input behind the request in the handler
	seat   *seat  // the thread that leads with it; nil: a goroutine
	own    bool   // the input served is the connection's own memory
	more   bool   // events follow the one at hand

	waiting []reply       // what is in out, but for the last connection's
	put     int           // where that begins
	since   time.Duration // the first of waiting waits
}

func newLoop(g *Group, index int) (*Loop, error) {
	l := &Loop{g: g, k: g.cfg.Kernel, index: index, poller: -1, notifier: -1}
	l.accept.listener, l.accept.reserve = -1, -1
	var err error
	if l.poller, err = l.k.Poller(); err != nil {
		return nil, err
	}
	if l.notifier, err = l.k.Notifier(); err != nil {
		return l, err
	}
	if l.timer, err = l.k.Timer(); err != nil {
		return l, err
	}
	l.start = l.k.Now()
	l.tellTime(l.start)
	return l, l.k.Watch(l.poller, l.notifier, 0, evRead)
}

// release closes what newLoop opened.
func (l *Loop) release() {
	if l.timer != nil {
		_ = l.timer.Close() // ends the watchdog
	}
	for _, fd := range []int{l.poller, l.notifier, l.accept.reserve, l.accept.listener} {
		if fd >= 0 && !(l.watched && fd == l.poller) {
			_ = l.k.Close(fd)
		}
	}
}

// run is a loop's life under one owner: until it stops, or is lost to another.
func (l *Loop) run(t *Turn) {
	for {
		n, lost := l.wait(t)
		if lost || l.turn(t, t.events[:n]) {
			return // somebody else runs the loop
		}
		if l.stopped {
			l.end()
			return
		}
		l.publish()
		runtime.Gosched()
	}
}

// wait sleeps until something is to be done and returns the number of events.
func (l *Loop) wait(t *Turn) (n int, lost bool) {
	ms := l.waitMs()
	if ms != 0 && l.armed.Load() != 0 && l.now-l.disarmed > disarmEvery {
		if n := l.poll(t, 0); n > 0 {
			return n, false
		}
		if l.armed.CompareAndSwap(1, 0) {
			l.timer.Disarm()
		}
		l.disarmed = l.now
	}
	if ms == 0 {
		return l.poll(t, 0), false
	}
	if l.g.seats != nil {
		return l.waitShared(t, ms)
	}
	l.asleep.Store(true)
	if l.posted.Load() {
		ms = 0
	}
	n = l.poll(t, ms)
	l.asleep.Store(false)
	return n, false
}

func (l *Loop) waitMs() int {
	if l.todo.len() > 0 || l.ready.len() > 0 || l.stopped {
		return 0
	}
	d := l.wheel.next(l.now)
	for _, at := range [...]time.Duration{l.tickAt, l.accept.resumeAt} {
		if at != 0 && (d < 0 || at-l.now < d) {
			d = max(at-l.now, 0)
		}
	}
	if d < 0 {
		return -1
	}
	return int((d + time.Millisecond - 1) / time.Millisecond)
}

// poll asks the kernel for events and for the time.
func (l *Loop) poll(t *Turn, ms int) int {
	n, err := l.k.Wait(l.poller, t.events, ms)
	return l.polled(n, err)
}

// polled reads the clock behind a wait.
func (l *Loop) polled(n int, err error) int {
	if err != nil {
		n = 0
		if err != sys.EINTR {
			l.g.cfg.Log.Error("loop: wait for events", "error", err)
			l.stopped = true
		}
	}
	l.tellTime(l.k.Now())
	l.readAt = l.now
	l.beginTurn()
	return n
}

func (l *Loop) tellTime(now time.Time) {
	l.now = now.Sub(l.start)
	if sec := now.Unix(); sec != l.wallSec {
		l.wallSec = sec
		// A late handler may still read the old one, so it is never overwritten.
		date := wire.AppendTime(make([]byte, 0, 32), now)
		l.date = date
		l.dateText.Store(&date)
	}
}

// turn does everything that is to be done now. true: the loop was lost.
func (l *Loop) turn(t *Turn, events []sys.Event) (lost bool) {
	for i := range events {
		ev := &events[i]
		t.more = i < len(events)-1
		switch fd := int(ev.Fd); fd {
		case l.notifier:
			if l.leaving.Load() == 0 {
				l.k.Quiet(fd)
			}
			continue
		case l.accept.listener:
			l.sendWaiting(t) // before connections make room for others
			l.acceptReady()
			continue
		default:
			if fd < len(l.table) && l.table[fd] != nil && l.table[fd].gen == ev.Pad {
				if l.batched(t, l.table[fd], ev.Events) {
					return true
				}
			}
		}
	}
	t.more = false
	l.sendWaiting(t)
	if l.posted.Load() {
		l.collect()
	}
	if l.work(t) {
		return true
	}
	l.feedReady()
	l.wheel.advance(l.now, l.late)
	if l.accept.resumeAt != 0 && l.now >= l.accept.resumeAt {
		l.resumeAccept()
	}
	if l.draining {
		l.drainStep()
	}
	return l.tick(t)
}

// event acts on what the kernel says of one connection.
func (l *Loop) event(t *Turn, c *conn, bits uint32) (lost bool) {
	if bits&(evWrite|evGone) != 0 && c.pending() {
		if l.flush(c); c.state == stateClosed {
			return false
		}
		if bits&evGone != 0 && c.pending() {
			l.close(c, ClosedByPeer)
			return false
		}
	}
	if bits&(evRead|evPeer|evGone) == 0 {
		return false
	}
	switch c.state {
	case stateBusy:
		l.busyEvent(t, c, bits)
	case stateHeld:
		l.heldEvent(t, c, bits)
	case stateLinger:
		l.discard(t, c)
	case stateCut:
		l.close(c, ClosedByPeer)
	default:
		if c.pending() || c.closing {
			l.rearm(c) // nothing is read before the peer has taken its answers
			return false
		}
		return l.readable(t, c)
	}
	return false
}

// tick runs the application's tick when it is due.
func (l *Loop) tick(t *Turn) (lost bool) {
	if l.tickAt == 0 || l.now < l.tickAt {
		return false
	}
	every := l.g.cfg.TickEvery
	l.tickAt += every
	if l.tickAt <= l.now { // no catch-up, but the rate's grid is kept
		l.tickAt += (l.now - l.tickAt + every) / every * every
	}
	if !l.ticking.CompareAndSwap(false, true) {
		return false // the last one still runs, off the loop
	}
	return l.enterTick(t)
}

// end closes everything; the owner is the last.
func (l *Loop) end() {
	for _, c := range l.table {
		if c != nil {
			l.close(c, ClosedByServer)
		}
	}
	l.mu.Lock()
	l.dead = true
	left := l.inbox
	l.inbox, l.wakes = nil, nil
	l.mu.Unlock()
	for _, n := range left {
		l.abandon(n)
	}
	for n, ok := l.todo.pop(); ok; n, ok = l.todo.pop() {
		l.abandon(n)
	}
	l.publish()
	for l.leaving.Load() > 0 {
		runtime.Gosched() // nobody waits for a descriptor that is closed
	}
	l.release()
	if s := l.g.seats; s != nil && l.index == 0 {
		s.stop()
	}
	l.g.ended.Done()
}
