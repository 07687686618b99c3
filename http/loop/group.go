// SPDX-License-Identifier: MIT

package loop

import (
	"errors"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"m0serve.dev/http/internal/sys"
)

// ErrClosed says that the Group no longer serves.
var ErrClosed = errors.New("loop: closed")

// A Group is the loops of one server, with what they share.
type Group struct {
	cfg   Config
	loops []*Loop
	gate  gate
	seats *seats // nil: handlers run on goroutines

	conns    atomic.Int64
	draining atomic.Bool
	doors    atomic.Int32  // loops that may still accept
	quiet    chan struct{} // a value when a draining loop has become empty
	ended    sync.WaitGroup
	watchers sync.WaitGroup

	kept atomic.Int64 // bytes of answers that clients do not take

	keptFull      atomic.Uint64
	panics        atomic.Uint64
	detached      atomic.Uint64
	handedOver    atomic.Uint64
	dropsBlocking atomic.Uint64
	dropsConns    atomic.Uint64
}

// New makes the loops and starts them. They serve nothing until Listen or Adopt.
func New(cfg Config) (*Group, error) {
	g, err := newGroup(cfg)
	if err != nil {
		return nil, err
	}
	g.start()
	return g, nil
}

func newGroup(cfg Config) (*Group, error) {
	cfg = cfg.withDefaults()
	if cfg.Handler == nil {
		return nil, errors.New("loop: no handler")
	}
	if cfg.Kernel == nil {
		k, err := sys.Linux()
		if err != nil {
			return nil, err
		}
		cfg.Kernel = k
	}
	g := &Group{cfg: cfg, quiet: make(chan struct{}, 1)}
	g.gate.max, g.gate.queueMax = cfg.BlockingMax, cfg.BlockingQueue
	g.doors.Store(int32(cfg.Loops))
	if cfg.Seated != nil {
		g.seats = &seats{queueMax: cfg.BlockingQueue, max: int64(cfg.SeatedMax)}
	}
	for i := range cfg.Loops {
		l, err := newLoop(g, i)
		if l != nil {
			g.loops = append(g.loops, l)
		}
		if err != nil {
			for _, l := range g.loops {
				l.release()
			}
			return nil, err
		}
	}
	if cfg.Tick != nil && cfg.TickEvery > 0 {
		g.loops[0].tickAt = cfg.TickEvery
	}
	return g, nil
}

func (g *Group) start() {
	for _, l := range g.loops {
		g.ended.Add(1)
		g.watchers.Add(1)
		go l.run(l.newTurn())
		go func() {
			defer g.watchers.Done()
			l.watchOffLoop()
		}()
	}
}

// Listen accepts from fd, a listening socket, which becomes the Group's. The
// first loop accepts and gives each connection to the loop with the fewest.
func (g *Group) Listen(fd int) error {
	if g.draining.Load() || !g.loops[0].post(note{kind: noteListen, fd: fd}) {
		return errors.Join(ErrClosed, g.cfg.Kernel.Close(fd))
	}
	return nil
}

// Adopt takes over a connection that somebody else has accepted, also while the
// group drains: it was connected before the stop and has nobody else left. It
// must not block.
func (g *Group) Adopt(fd int, peer netip.AddrPort) error {
	g.adopt(fd, peer, nil)
	return nil
}

// Drain closes the listener once what waits at it is accepted, ends idle
// connections, and lets those with a request end behind its answer. It returns
// at once; see Wait.
func (g *Group) Drain() {
	if g.draining.Swap(true) {
		return
	}
	for _, l := range g.loops {
		if !l.post(note{kind: noteDrain}) {
			g.doors.Add(-1)
		}
	}
}

// Empty reports whether a group that drains has nothing left. One that has no
// connection, but has not looked at its listener for the last time, is not
// empty: it is about to accept what waits there.
func (g *Group) Empty() bool { return g.doors.Load() <= 0 && g.conns.Load() == 0 }

// CutHeld cuts every held connection behind the frame in hand, see EndCut.
func (g *Group) CutHeld() {
	for _, l := range g.loops {
		l.post(note{kind: noteCutHeld})
	}
}

// Quiet gets a value, now and then, when connections have ended during a drain.
func (g *Group) Quiet() <-chan struct{} { return g.quiet }

// Close ends every connection and the loops. Handlers that are off their loop
// are not waited for; their answers are dropped.
func (g *Group) Close() {
	g.draining.Store(true)
	for _, l := range g.loops {
		l.post(note{kind: noteStop})
	}
	g.ended.Wait()
	g.watchers.Wait()
}

// drainNew is how long a connection that never sent anything may still begin
// when the drain starts.
const drainNew = 500 * time.Millisecond

// drainKept is the same for a connection that was answered before: its next
// request may be on its way, for as long as the answer and the request travel, and is
// answered as the last.
const drainKept = 500 * time.Millisecond

// drainLinger bounds LingerTimeout during a drain: what is left then has been
// answered, and a peer that does not hang up holds up the end of nobody.
const drainLinger = 500 * time.Millisecond

// beginDrain is the owner's part of Drain.
func (l *Loop) beginDrain() {
	if l.draining {
		return
	}
	if l.accept.listener >= 0 {
		if l.acceptLast() {
			l.todo.push(note{kind: noteDrain})
			return
		}
		_ = l.k.Unwatch(l.poller, l.accept.listener)
		_ = l.k.Close(l.accept.listener)
		l.accept.listener, l.accept.resumeAt = -1, 0
	}
	l.draining = true
	l.g.doors.Add(-1)
	l.tickAt = 0
	for _, c := range l.table {
		switch {
		case c != nil && c.state == stateLinger:
			l.setRead(c, l.after(l.linger()))
		case c == nil || c.state != stateIdle || c.pending() || len(c.in) > 0:
		case c.served == 0:
			l.setRead(c, l.now+drainNew)
		default:
			l.setRead(c, l.now+drainKept)
		}
	}
}

// endIdle ends a connection between requests, unless the next one is there:
// it is served by the turn that reads it, and is the last. A peer that still
// takes its answer is not idle: the write deadline bounds it.
func (l *Loop) endIdle(c *conn) {
	if c.pending() {
		l.awaitNext(c)
		return
	}
	if n, err := l.k.Unread(int(c.fd)); err == nil && n > 0 {
		return
	}
	l.close(c, ClosedByServer)
}

// drainStep tells who waits for the drain that there is news.
func (l *Loop) drainStep() {
	select {
	case l.g.quiet <- struct{}{}:
	default:
	}
}
