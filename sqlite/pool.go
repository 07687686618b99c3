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

// Close ends what runs with ErrClosed, waits for the connections to come back and closes them. It
// waits no longer than PoolOptions.Wait, and says so; a connection that comes back later is closed
// then.
func (p *Pool) Close() error {
	var err error
	p.once.Do(func() {
		close(p.closed)
		p.read.stop()
		p.write.stop()
		late, cancel := context.WithTimeout(context.Background(), p.o.wait())
		defer cancel()
		err = errors.Join(p.read.close(late.Done()), p.write.close(late.Done()))
		if n := p.read.size() + p.write.size(); n > 0 {
			err = errors.Join(err, fmt.Errorf("sqlite: pool of %q: connections still in use after %v: %d",
				p.path, p.o.wait(), n))
		}
	})
	return err
}

func (p *Pool) isClosed() bool {
	select {
	case <-p.closed:
		return true
	default:
		return false
	}
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

// WithReader lends fn a reader, for what is a matter of a connection: Backup, OpenBlob, a passive
// Checkpoint. What fn leaves open is undone.
func (p *Pool) WithReader(ctx context.Context, fn func(*Conn) error) error {
	c, err := p.source(ctx, false)
	if err != nil {
		return err
	}
	defer p.giveBack(&p.read, c)
	return fn(c)
}

// WithWriter lends fn the writer, as WithReader does a reader: for migrations, a blob to write, a
// Checkpoint that truncates.
func (p *Pool) WithWriter(ctx context.Context, fn func(*Conn) error) error {
	c, err := p.source(ctx, true)
	if err != nil {
		return err
	}
	defer p.giveBack(&p.write, c)
	return fn(c)
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

// counters are what Stats reports of connections that are not at work.
type counters struct {
	waits, waitNs            atomic.Int64
	repaired, replaced       atomic.Int64
	retries, lockWaits       atomic.Int64
	cacheHits, cacheMisses   atomic.Int64
	refusedFull, refusedWait atomic.Int64
	commits, changesLost     atomic.Int64
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
	Commits     int64         // handed to Options.OnCommit
	ChangesLost int64         // changes that these did not list, see Commit.Lost
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
		Commits: k.commits.Load(), ChangesLost: k.changesLost.Load(),
	}
}
