// SPDX-License-Identifier: MIT

package sqlite

import (
	"context"
	"errors"
	"sync"
	"time"
)

// lane is a bounded set of equal connections. A slot is held by whoever uses one; the connection
// used last is used first, because its cache is warm.
type lane struct {
	slots chan struct{}
	o     Options
	mu    sync.Mutex
	idle  []*Conn
	all   map[*Conn]struct{}
}

// open adds a connection to a lane.
func (p *Pool) open(l *lane) (*Conn, error) {
	c, err := Open(p.path, l.o)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = make(map[*Conn]struct{})
	}
	l.all[c] = struct{}{}
	c.call.stop.Store(p.isClosed()) // Close stops what is in all, before or after this
	return c, nil
}

// stop ends what runs on the connections of the lane.
func (l *lane) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.all {
		c.call.stop.Store(true)
	}
}

// close takes the slots as they come free, until it is late, and closes what is idle.
func (l *lane) close(late <-chan struct{}) error {
	for range cap(l.slots) {
		select {
		case l.slots <- struct{}{}:
		case <-late:
		}
	}
	var errs []error
	for c := l.pop(); c != nil; c = l.pop() {
		errs = append(errs, c.Close())
		l.forget(c)
	}
	return errors.Join(errs...)
}

func (l *lane) forget(c *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.all, c)
}

// acquire lends a connection of the lane.
func (p *Pool) acquire(ctx context.Context, l *lane) (*Conn, error) {
	if err := p.takeSlot(ctx, l); err != nil {
		return nil, err
	}
	if p.isClosed() {
		<-l.slots
		return nil, ErrClosed
	}
	if c := l.pop(); c != nil {
		return c, nil
	}
	c, err := p.open(l)
	if err != nil {
		<-l.slots
		return nil, err
	}
	return c, nil
}

func (l *lane) pop() *Conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.idle)
	if n == 0 {
		return nil
	}
	c := l.idle[n-1]
	l.idle = l.idle[:n-1]
	return c
}

// takeSlot waits for a slot of the lane. Waiters are served in their order.
func (p *Pool) takeSlot(ctx context.Context, l *lane) error {
	if err := ctx.Err(); err != nil {
		return wrapEnd("pool", context.Cause(ctx))
	}
	select {
	case l.slots <- struct{}{}:
		return nil
	default:
	}
	if p.waiting.Add(1) > p.o.waitersMax() {
		p.waiting.Add(-1)
		p.count.refusedFull.Add(1)
		return ErrPoolFull
	}
	defer p.waiting.Add(-1)
	defer func(from time.Time) {
		p.count.waits.Add(1)
		p.count.waitNs.Add(int64(time.Since(from)))
	}(time.Now())
	t := time.NewTimer(p.o.wait())
	defer t.Stop()
	select {
	case l.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return wrapEnd("pool", context.Cause(ctx))
	case <-p.closed:
		return ErrClosed
	case <-t.C:
		p.count.refusedWait.Add(1)
		return ErrPoolWait
	}
}

// giveBack takes a connection back into its lane: clean, or not at all.
func (p *Pool) giveBack(l *lane, c *Conn) {
	p.tally(c)
	whole := p.repair(c)
	if !whole {
		p.count.replaced.Add(1)
	}
	if !whole || !p.keep(l, c) {
		_ = c.Close() // broken: that error was returned; or late: Pool.Close said so
		l.forget(c)
	}
	<-l.slots
}

// keep makes c idle, unless the pool is closed.
func (p *Pool) keep(l *lane, c *Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.isClosed() {
		return false
	}
	l.idle = append(l.idle, c)
	return true
}

// repair undoes what the borrower left behind. It reports false when another connection is safer.
func (p *Pool) repair(c *Conn) bool {
	if c.db == nil {
		return false
	}
	if c.out == 0 && !c.InTx() && !c.broken && len(c.blobs) == 0 {
		return true
	}
	_ = c.closeBlobs(nil)
	c.closeStatements()
	if c.tx != nil {
		c.tx.end()
	}
	if err := c.rollBack(); err != nil || c.broken {
		return false
	}
	p.count.repaired.Add(1)
	return true
}

// closeStatements closes what Prepare gave and nobody closed.
func (c *Conn) closeStatements() {
	for s := c.first; s != nil && c.out > 0; {
		next := s.next
		if s.lent {
			s.Close()
			next = c.first // Close may have dropped others from the list
		}
		s = next
	}
}

// tally adds the connection's own counts to the pool's.
func (p *Pool) tally(c *Conn) {
	p.count.retries.Add(c.again)
	p.count.lockWaits.Add(c.call.waits.Swap(0))
	p.count.cacheHits.Add(c.cache.hits)
	p.count.cacheMisses.Add(c.cache.misses)
	p.count.commits.Add(c.log.told)
	p.count.changesLost.Add(c.log.lost)
	c.again, c.cache.hits, c.cache.misses = 0, 0, 0
	c.log.told, c.log.lost = 0, 0
}

func (l *lane) size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.all)
}
