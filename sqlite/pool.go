// SPDX-License-Identifier: MIT

package sqlite

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// PoolOptions of OpenPool. The zero value is right for an application.
type PoolOptions struct {
	Options
	Readers    int           // connections for reading; 0: GOMAXPROCS, at least 4
	Wait       time.Duration // for a free connection; 0: 30 s
	WaitersMax int           // goroutines that may wait at once; 0: 4096; above it ErrPoolFull
}

const (
	readersMin        = 4
	waitDefault       = 30 * time.Second
	waitersMaxDefault = 4096
)

func (o PoolOptions) readers() int {
	if o.Readers <= 0 {
		return max(readersMin, runtime.GOMAXPROCS(0))
	}
	return o.Readers
}

func (o PoolOptions) wait() time.Duration {
	if o.Wait <= 0 {
		return waitDefault
	}
	return o.Wait
}

func (o PoolOptions) waitersMax() int64 {
	if o.WaitersMax <= 0 {
		return waitersMaxDefault
	}
	return int64(o.WaitersMax)
}

// Errors of a pool.
var (
	// ErrPoolFull is returned when too many goroutines wait for a connection already.
	ErrPoolFull = errors.New("sqlite: pool: too many waiting for a connection")
	// ErrPoolWait is returned when no connection came free within PoolOptions.Wait. A goroutine
	// that asks for a second connection while it holds the only one waits for itself.
	ErrPoolWait = errors.New("sqlite: pool: no connection came free in time")
)

// Pool is one writing connection and several reading ones on a file. Its methods may be called by
// any goroutine. Writers queue in the process, where waiting is fair and cheap, and meet the
// writers of other processes one at a time.
type Pool struct {
	path   string
	o      PoolOptions
	read   lane
	write  lane // no slots when the pool is read-only
	closed chan struct{}
	once   sync.Once // closes closed

	waiting atomic.Int64
	count   counters
}

// counters are what Stats reports of connections that are not at work.
type counters struct {
	waits, waitNs            atomic.Int64
	repaired, replaced       atomic.Int64
	retries, lockWaits       atomic.Int64
	cacheHits, cacheMisses   atomic.Int64
	refusedFull, refusedWait atomic.Int64
}

// lane is a bounded set of equal connections. A slot is held by whoever uses one; the connection
// used last is used first, because its cache is warm.
type lane struct {
	slots chan struct{}
	o     Options
	mu    sync.Mutex
	idle  []*Conn
	all   map[*Conn]struct{}
}

// OpenPool opens the writer, which creates the file, and gets ready to open readers when they are
// needed. A database in memory has no second connection: it is refused.
func OpenPool(path string, o PoolOptions) (*Pool, error) {
	if path == memoryPath {
		return nil, fmt.Errorf("sqlite: pool of %q: every connection would have a database of its own; "+
			"use a file", path)
	}
	p := &Pool{path: path, o: o, closed: make(chan struct{})}
	p.read = lane{slots: make(chan struct{}, o.readers()), o: o.Options}
	p.read.o.QueryOnly = true
	p.write = lane{o: o.Options}
	first := &p.read
	if !o.ReadOnly && !o.QueryOnly {
		p.write.slots = make(chan struct{}, 1)
		first = &p.write
	}
	c, err := p.open(first)
	if err != nil {
		return nil, err
	}
	first.idle = append(first.idle, c)
	return p, nil
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
	return c, nil
}

// Close ends what runs with ErrClosed, waits for every connection to come back and closes it.
func (p *Pool) Close() error {
	var err error
	p.once.Do(func() {
		close(p.closed)
		err = errors.Join(p.read.close(), p.write.close())
	})
	return err
}

// close stops the connections of the lane, takes every slot and closes what is idle.
func (l *lane) close() error {
	l.mu.Lock()
	for c := range l.all {
		c.call.stop.Store(true)
	}
	l.mu.Unlock()
	for range cap(l.slots) {
		l.slots <- struct{}{}
	}
	var errs []error
	for _, c := range l.idle {
		errs = append(errs, c.Close())
	}
	l.idle, l.all = nil, nil
	return errors.Join(errs...)
}

// acquire lends a connection of the lane.
func (p *Pool) acquire(ctx context.Context, l *lane) (*Conn, error) {
	if err := p.takeSlot(ctx, l); err != nil {
		return nil, err
	}
	select {
	case <-p.closed:
		<-l.slots
		return nil, ErrClosed
	default:
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
	if !p.repair(c) {
		p.count.replaced.Add(1)
		l.mu.Lock()
		delete(l.all, c)
		l.mu.Unlock()
		_ = c.Close() // it is broken already; the error that broke it was returned
	} else {
		l.mu.Lock()
		l.idle = append(l.idle, c)
		l.mu.Unlock()
	}
	<-l.slots
}

// repair undoes what the borrower left behind. It reports false when another connection is safer.
func (p *Pool) repair(c *Conn) bool {
	if c.db == nil {
		return false
	}
	if c.out == 0 && !c.InTx() && !c.broken {
		return true
	}
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
	c.again, c.cache.hits, c.cache.misses = 0, 0, 0
}

// Read runs fn in a read transaction on a reader, see Conn.Read.
func (p *Pool) Read(ctx context.Context, fn func(*Tx) error) error {
	c, err := p.acquire(ctx, &p.read)
	if err != nil {
		return err
	}
	defer p.giveBack(&p.read, c)
	return c.Read(ctx, fn)
}

// Write runs fn in a write transaction on the writer, see Conn.Write. Inside fn use the Tx: a
// second Write on the pool would wait for the first.
func (p *Pool) Write(ctx context.Context, fn func(*Tx) error) error {
	c, err := p.source(ctx, true)
	if err != nil {
		return err
	}
	defer p.giveBack(&p.write, c)
	return c.Write(ctx, fn)
}

// Exec runs one statement on the writer.
func (p *Pool) Exec(ctx context.Context, sql string, args ...any) (Result, error) {
	return Exec(ctx, p, sql, args...)
}

// source lends the writer or a reader.
func (p *Pool) source(ctx context.Context, write bool) (*Conn, error) {
	if !write {
		return p.acquire(ctx, &p.read)
	}
	if p.write.slots == nil {
		return nil, fmt.Errorf("sqlite: pool of %q: opened for reading only", p.path)
	}
	return p.acquire(ctx, &p.write)
}

func (p *Pool) release(c *Conn) {
	if c.reader {
		p.giveBack(&p.read, c)
		return
	}
	p.giveBack(&p.write, c)
}

// Stats is a moment of a pool.
type Stats struct {
	Open, InUse int           // connections
	Waiting     int           // goroutines waiting for one
	Waits       int64         // times a goroutine had to wait
	WaitTime    time.Duration // in all
	Full, Late  int64         // refused: ErrPoolFull, ErrPoolWait
	Repaired    int64         // connections that came back with a transaction or statements open
	Replaced    int64         // connections closed because an error broke them
	Retries     int64         // transactions that Write ran again
	LockWaits   int64         // pauses while another connection held a lock
	CacheHits   int64         // statements found prepared
	CacheMisses int64         // statements prepared
}

// Stats counts; a connection's own counts are added when it comes back.
func (p *Pool) Stats() Stats {
	k := &p.count
	return Stats{
		Open:    p.read.size() + p.write.size(),
		InUse:   len(p.read.slots) + len(p.write.slots),
		Waiting: int(p.waiting.Load()),
		Waits:   k.waits.Load(), WaitTime: time.Duration(k.waitNs.Load()),
		Full: k.refusedFull.Load(), Late: k.refusedWait.Load(),
		Repaired: k.repaired.Load(), Replaced: k.replaced.Load(),
		Retries: k.retries.Load(), LockWaits: k.lockWaits.Load(),
		CacheHits: k.cacheHits.Load(), CacheMisses: k.cacheMisses.Load(),
	}
}

func (l *lane) size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.all)
}
