// SPDX-License-Identifier: MIT

package loop

import (
	"net/netip"
	"time"

	"m0serve.dev/http/internal/sys"
)

const (
	acceptBatch = 64 // connections taken in one turn
	// lastBatches bounds what a drain still takes: 4,096 connections, as many as
	// the kernel queues by default. They were connected before the stop.
	lastBatches = 64
	acceptPause = 100 * time.Millisecond
	complainGap = 5 * time.Second
	// refusedMax bounds the connections beyond MaxConns that are told so.
	refusedMax = 64
)

// An acceptor is the listener of a loop. Only the owner uses it.
type acceptor struct {
	listener   int           // -1: none
	reserve    int           // given up for one accept when the table is full
	resumeAt   time.Duration // 0: accepting
	complainAt time.Duration // the next complaint at the earliest
	batches    int           // taken since the drain began
}

// listen starts accepting from fd, which becomes the loop's.
func (l *Loop) listen(fd int) {
	if l.draining {
		_ = l.k.Close(fd)
		return
	}
	l.accept.listener = fd
	if l.accept.reserve < 0 {
		l.refillReserve()
	}
	if err := l.k.Watch(l.poller, fd, 0, evRead); err != nil {
		// Short of memory: a listener that nobody watches would be deaf for ever.
		l.complain("loop: listener not watched", err)
		l.accept.resumeAt = l.now + acceptPause
	}
}

// acceptReady takes what waits at the listener. more: there may be some left.
func (l *Loop) acceptReady() (more bool) {
	for i := 0; i < acceptBatch && l.accept.listener >= 0; i++ {
		fd, peer, err := l.k.Accept(l.accept.listener)
		switch err {
		case nil:
			l.accepted(fd, peer)
		case sys.EAGAIN:
			return false
		case sys.EINTR, sys.ECONNABORTED, sys.EPERM:
		case sys.EMFILE, sys.ENFILE:
			if !l.shed() {
				l.pauseAccept(err)
				return false
			}
		default:
			l.pauseAccept(err)
			return false
		}
	}
	return l.accept.listener >= 0
}

// acceptLast takes what a drain still finds at the listener, a batch a turn.
// more: the drain has to wait for another turn.
func (l *Loop) acceptLast() (more bool) {
	l.accept.batches++
	return l.acceptReady() && l.accept.batches < lastBatches
}

// accepted finds an owner for a new connection.
func (l *Loop) accepted(fd int, peer netip.AddrPort) {
	if keep := l.g.cfg.Accepted; keep != nil && !keep(fd) {
		return
	}
	l.g.adopt(fd, peer, l)
}

// shed refuses one connection although the descriptor table is full: with the
// reserve given up there is room to accept and close it. Otherwise the listener
// would stay readable and the loop spin.
func (l *Loop) shed() bool {
	if l.accept.reserve < 0 {
		l.refillReserve()
	}
	if l.accept.reserve < 0 {
		return false
	}
	_ = l.k.Close(l.accept.reserve)
	l.accept.reserve = -1
	fd, _, err := l.k.Accept(l.accept.listener)
	if err == nil {
		_ = l.k.Reset(fd)
		l.drops.descriptors++
		l.complain("loop: out of descriptors, connections are refused", sys.EMFILE)
	}
	l.refillReserve()
	return err == nil && l.accept.reserve >= 0
}

func (l *Loop) refillReserve() {
	fd, err := l.k.Reserve()
	if err != nil {
		fd = -1
	}
	l.accept.reserve = fd
}

// pauseAccept stops accepting for a moment: what is wrong does not go away by
// trying again at once.
func (l *Loop) pauseAccept(err error) {
	l.complain("loop: accept", err)
	if e := l.k.Unwatch(l.poller, l.accept.listener); e == nil {
		l.accept.resumeAt = l.now + acceptPause
	}
}

func (l *Loop) resumeAccept() {
	l.accept.resumeAt = 0
	if l.accept.listener >= 0 {
		l.listen(l.accept.listener)
	}
}

// complain logs at most every few seconds.
func (l *Loop) complain(text string, err error) {
	if l.now < l.accept.complainAt {
		return
	}
	l.accept.complainAt = l.now + complainGap
	l.g.cfg.Log.Error(text, "error", err)
}

// adopt gives fd to the loop with the fewest connections. by is the loop whose
// owner calls, or nil.
func (g *Group) adopt(fd int, peer netip.AddrPort, by *Loop) {
	n := g.conns.Add(1)
	refuse := g.cfg.MaxConns >= 0 && n > int64(g.cfg.MaxConns)
	if refuse {
		g.dropsConns.Add(1)
		if n > int64(g.cfg.MaxConns)+refusedMax {
			g.leave()
			_ = g.cfg.Kernel.Close(fd)
			return
		}
	}
	to := g.loops[0]
	for _, l := range g.loops[1:] {
		if l.count.Load() < to.count.Load() {
			to = l
		}
	}
	to.count.Add(1) // now, so that a burst is spread
	if to == by {
		to.open(fd, peer, refuse)
		return
	}
	kind := noteOpen
	if refuse {
		kind = noteRefuse
	}
	if !to.post(note{kind: kind, fd: fd, peer: peer}) {
		to.count.Add(-1)
		g.leave()
		_ = g.cfg.Kernel.Close(fd)
	}
}

// leave uncounts a connection.
func (g *Group) leave() {
	g.conns.Add(-1)
	if closed := g.cfg.Closed; closed != nil {
		closed()
	}
}
