// SPDX-License-Identifier: MIT

package loop

import (
	"net/netip"
	"testing"
	"time"

	"m0serve.dev/http/wire"
)

// simConn is a connection of peer on a loop that nobody runs.
func simConn(t *testing.T, peer *simPeer) (*Loop, *conn) {
	t.Helper()
	k := newSimKernel(1)
	k.idle = func() {}
	g, err := newGroup(Config{Handler: &simRun{}, Kernel: k})
	if err != nil {
		t.Fatal(err)
	}
	fd := k.open("conn")
	k.fds[fd].peer = peer
	l := g.loops[0]
	l.open(fd, netip.AddrPort{}, false)
	return l, l.table[fd]
}

// TestCutWaitsForTheKernel: an RST drops what the kernel has not sent, so it is
// held back until everything is, or the peer has had its time.
func TestCutWaitsForTheKernel(t *testing.T) {
	for _, slow := range []bool{false, true} {
		peer := &simPeer{window: 1000, fromServer: []byte("bytes the peer has not taken")}
		l, c := simConn(t, peer)
		c.cut = true
		l.hangUp(c)
		for step := 0; step < 20; step++ {
			l.now += wheelTick
			l.wheel.advance(l.now, l.late)
		}
		if peer.closed {
			t.Fatalf("reset with %d bytes left", len(peer.fromServer))
		}
		if slow {
			l.now += l.g.cfg.LingerTimeout
		} else {
			peer.fromServer = nil
			l.now += 2 * wheelTick
		}
		l.wheel.advance(l.now, l.late)
		if !peer.closed || !peer.harmed {
			t.Errorf("slow=%v: closed %v, by RST %v, want both", slow, peer.closed, peer.harmed)
		}
		l.release()
	}
}

// TestTickIsNotMadeUpFor: a loop that comes late ticks once, on the old grid.
func TestTickIsNotMadeUpFor(t *testing.T) {
	k := newSimKernel(1)
	ticks := 0
	g, err := newGroup(Config{
		Handler: &simRun{}, Kernel: k, Tick: func() { ticks++ }, TickEvery: 10 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	l := g.loops[0]
	turn := l.newTurn()
	for _, step := range []struct {
		now  time.Duration
		want int
	}{
		{9, 0}, {10, 1}, {15, 1}, {98, 2}, {98, 2}, {99, 2}, {100, 3}, {101, 3}, {110, 4},
	} {
		l.now = step.now * time.Millisecond
		l.tick(turn)
		l.tick(turn)
		if ticks != step.want {
			t.Errorf("at %d ms: %d ticks, want %d", step.now, ticks, step.want)
		}
	}
	l.release()
}

// TestBroadcastIsSliced: a wake of everybody takes several turns, and a slow
// kernel ends a slice early, so that no turn keeps the others waiting.
func TestBroadcastIsSliced(t *testing.T) {
	for _, slow := range []bool{false, true} {
		k := newSimKernel(1)
		g, err := newGroup(Config{Handler: &simRun{}, Kernel: k})
		if err != nil {
			t.Fatal(err)
		}
		l := g.loops[0]
		const streams = 1200
		woken := 0
		for range streams {
			h := &heldConn{l: l}
			h.src = sourceFunc(func() {
				if woken++; slow {
					k.now += 200 * time.Microsecond
				}
			})
			h.c = &conn{held: h, state: stateHeld, events: evRead | evPeer}
			h.Wake()
		}
		l.collect()
		turns, before := 0, k.now
		for ; l.ready.len() > 0; turns++ {
			l.feedReady()
			if took := k.now - before; took > heldSliceTime+4*time.Millisecond {
				t.Errorf("slow=%v: a turn of %v, want about %v", slow, took, heldSliceTime)
			}
			before = k.now
		}
		least := streams / heldSliceMax
		if slow {
			least = 20
		}
		if woken != streams || turns < least {
			t.Errorf("slow=%v: %d fed in %d turns, want %d in at least %d",
				slow, woken, turns, streams, least)
		}
		l.release()
	}
}

// A sourceFunc has nothing to send and says so.
type sourceFunc func()

func (f sourceFunc) Next() []byte         { f(); return nil }
func (f sourceFunc) Received([]byte) bool { return true }
func (f sourceFunc) Closed(Reason)        {}

// TestHeldStreamHasToMove: a peer that takes a byte now and then is kept, one
// that takes nothing for the limit is given up.
func TestHeldStreamHasToMove(t *testing.T) {
	k := newSimKernel(1)
	k.faults = 1 << 30
	g, err := newGroup(Config{
		Handler: &simRun{}, Kernel: k, WriteTimeout: time.Second, MinRate: 1 << 20,
	})
	if err != nil {
		t.Fatal(err)
	}
	l := g.loops[0]
	fd := k.open("conn")
	peer := &simPeer{window: 1}
	k.fds[fd].peer = peer
	l.open(fd, netip.AddrPort{}, false)
	c := l.table[fd]
	src := &simSource{frames: [][]byte{make([]byte, 100)}}
	h := &heldConn{l: l, c: c, src: src}
	src.held, c.held, c.state = h, h, stateHeld
	l.setRead(c, 0)
	l.pull(c)
	for step := range 50 {
		l.now += 900 * time.Millisecond
		l.wheel.advance(l.now, l.late)
		if src.closed != 0 {
			t.Fatalf("given up at step %d although the peer takes bytes", step)
		}
		peer.fromServer = nil
		l.event(nil, c, evWrite)
	}
	l.now += 1100 * time.Millisecond
	l.wheel.advance(l.now, l.late)
	if src.closed != 1 || !peer.closed || l.drops.write != 1 {
		t.Errorf("closed %d times, counted %d, want 1 and 1", src.closed, l.drops.write)
	}
	l.release()
}

// A lateSeat waits for its lock as long as wait says. It stands by from its first sleep on, and
// ends at the second.
type lateSeat struct {
	k     *simKernel
	g     *Group
	wait  time.Duration
	slept int
}

func (s *lateSeat) Lock()   { s.k.now += s.wait }
func (s *lateSeat) Unlock() {}
func (s *lateSeat) Nap()    {}
func (s *lateSeat) Rouse()  {}
func (s *lateSeat) Sleep() {
	if s.slept++; s.slept == 1 {
		s.g.seats.standBy(s.g.loops[0].clock())
		return
	}
	s.g.seats.stop()
}

// TestStandingByTakesTheLoopFromWhoBlocks: a seat that stands by has the lock as soon as a
// handler lets go of it, and takes the loop. One that was given the lock only because it had
// waited for long leaves the loop where it is: the handler that lost the lock is no slow one,
// and its seat would take the loop back in the same way, for ever.
func TestStandingByTakesTheLoopFromWhoBlocks(t *testing.T) {
	for _, c := range []struct {
		wait  time.Duration
		taken uint64
	}{{time.Millisecond, 1}, {5 * time.Millisecond, 0}, {20 * time.Millisecond, 0}} {
		k := newSimKernel(1)
		g, err := newGroup(Config{Handler: &simRun{}, Kernel: k,
			Seated: func(*wire.Request) bool { return true }})
		if err != nil {
			t.Fatal(err)
		}
		l := g.loops[0]
		l.cur = newTurn()
		l.cur.x.seated = true
		l.leader.Store(&seat{})
		l.enterState(inHandler)
		g.ended.Add(1)
		l.stopped = true // who takes it ends
		k.idle = func() {}
		g.Sit(&lateSeat{k: k, g: g, wait: c.wait})
		if l.taken != c.taken {
			t.Errorf("a seat that waited %v for the lock took the loop %d times, want %d",
				c.wait, l.taken, c.taken)
		}
	}
}

// TestAPeerThatTakesItsAnswerIsNotIdle: the time between requests, which is short in
// a drain, ends no answer that its peer is still taking.
func TestAPeerThatTakesItsAnswerIsNotIdle(t *testing.T) {
	for _, draining := range []bool{false, true} {
		peer := &simPeer{window: 100}
		l, c := simConn(t, peer)
		l.k.(*simKernel).calm, l.g.cfg.IdleTimeout = true, 5*time.Second
		l.draining, c.served, c.closing = draining, 1, draining
		l.send(c, make([]byte, 1000))
		l.awaitNext(c)
		for range 9 {
			l.now += l.g.cfg.IdleTimeout / 2
			l.wheel.advance(l.now, l.late)
			peer.got, peer.fromServer = append(peer.got, peer.fromServer...), nil
			l.event(nil, c, evWrite)
		}
		if peer.got = append(peer.got, peer.fromServer...); len(peer.got) != 1000 {
			t.Errorf("draining %v: peer got %d of 1000 bytes, want it whole", draining, len(peer.got))
		}
		l.close(c, ClosedByServer)
		l.release()
	}
}

// TestGuestThatIsOnlyBusyIsGivenTime: a guest that comes soon after it lost the loop was busy
// with what its last turn brought, and keeps the loop for longer from then on; one that was
// away for long loses it at once the next time.
func TestGuestThatIsOnlyBusyIsGivenTime(t *testing.T) {
	me := &guest{}
	me.patience.Store(1)
	word := uint64(0)
	late := func() (steps int) { // until the loop is taken
		for word++; !me.overdue(word); steps++ {
		}
		return steps
	}
	for i, c := range []struct {
		away  time.Duration
		steps int
	}{{0, 1}, {time.Millisecond, 2}, {19 * time.Millisecond, 3}, {time.Millisecond, 3},
		{time.Second, 1}, {time.Millisecond, 2}} {
		if c.away != 0 {
			lost := time.Duration(i) * time.Minute
			me.lostAt.Store(int64(lost))
			me.cameBack(lost + c.away)
		}
		if got := late(); got != c.steps {
			t.Errorf("turn %d, behind %v without the loop: taken after %d steps, want %d",
				i, c.away, got, c.steps)
		}
	}
}
