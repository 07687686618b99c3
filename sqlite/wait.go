// SPDX-License-Identifier: MIT

package sqlite

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"time"
)

// progressSteps is how many steps of SQLite's virtual machine pass between two looks at the
// context: some tens of microseconds, and one cheap call.
const progressSteps = 1000

// The schedule of a wait for a lock. A holder in a tight loop leaves the lock free for a few
// microseconds at a time, so a waiter that sleeps longer and longer starves; this one keeps
// looking often while the wait is short.
const (
	yieldTries = 4                      // first only let others run
	shortTries = 16                     // then up to here: shortPause
	shortPause = 50 * time.Microsecond  //
	pollPause  = 300 * time.Microsecond // from then on, up to pollWaited
	pollWaited = 500 * time.Millisecond //
	longPause  = 2 * time.Millisecond   // the holder is slow: looking more often gains nothing
)

// call is the state of the call in progress on a connection: whom it waits for and how long. The
// handlers SQLite calls back run on the same goroutine and read it without a lock.
type call struct {
	ctx      context.Context // of the call; nil: it cannot end
	started  time.Time       // of the current wait for a lock
	deadline time.Time       // of the Write in progress; zero: none
	shielded bool            // a rollback runs: nothing ends it
	stop     atomic.Bool     // the owner closes: end whatever runs
	waits    atomic.Int64    // pauses taken, for Stats
}

// enter makes ctx the one the call answers to. It fails when ctx has ended already.
func (c *call) enter(ctx context.Context) error {
	c.ctx, c.shielded = ctx, false
	return c.ended()
}

// shield begins work that must be done to its end: rolling back, closing.
func (c *call) shield() { c.ctx, c.shielded = nil, true }

// ended is the reason to stop the call in progress, or nil.
func (c *call) ended() error {
	if c.shielded {
		return nil
	}
	if c.stop.Load() {
		return ErrClosed
	}
	if c.ctx == nil || c.ctx.Err() == nil {
		return nil
	}
	return context.Cause(c.ctx)
}

// onProgress is asked by SQLite while a statement runs.
func (c *Conn) onProgress() (stop bool) { return c.call.ended() != nil }

// onBusy is asked by SQLite when a lock is taken: true is "try again", after a pause.
func (c *Conn) onBusy(n int) bool {
	now := time.Now()
	if n == 0 {
		c.call.started = now
	}
	limit := c.call.started.Add(c.budget)
	if d := c.call.deadline; !d.IsZero() && d.Before(limit) {
		limit = d
	}
	left := limit.Sub(now)
	if left <= 0 || c.call.ended() != nil {
		return false
	}
	c.call.waits.Add(1)
	c.call.pause(n, now.Sub(c.call.started), left)
	return c.call.ended() == nil
}

// pause waits before try n+1 of a lock, waited into a wait of which left remains.
func (c *call) pause(n int, waited, left time.Duration) {
	switch {
	case n < yieldTries:
		runtime.Gosched()
	case n < shortTries:
		sleepShort(min(shortPause, left))
	case waited < pollWaited:
		sleepShort(min(jitter(pollPause), left))
	default:
		c.sleep(min(jitter(longPause), left))
	}
}

// sleep waits for d or for the end of the call.
func (c *call) sleep(d time.Duration) {
	var done <-chan struct{}
	if c.ctx != nil {
		done = c.ctx.Done()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-done:
	}
}

// jitter spreads d by a quarter to both sides, so that two waiters do not march in step.
func jitter(d time.Duration) time.Duration {
	return d*3/4 + rand.N(d/2)
}
