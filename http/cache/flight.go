// SPDX-License-Identifier: MIT

package cache

import (
	"context"
	"net/http"
	"time"
)

// A flight is an answer that is being made, and those who wait for it. Its
// fields are the Cache's, under its lock; answer is written before done is
// closed.
type flight struct {
	key     string
	primary string
	waiting int  // who wants it, who makes it included; at 0 it is cancelled
	lost    bool // not to be kept: it was invalidated, or nobody wants it
	ended   bool // those who waited have been told
	cancel  context.CancelFunc

	leadLeft bool

	done   chan struct{}
	answer *answer // nil: there is none to share
}

// beginLocked makes a flight, and the context of its handler, which ends with
// parent, or when nobody waits any more.
func (c *Cache) beginLocked(parent context.Context, f *found) (*flight, context.Context) {
	key := string(f.key)
	fl := &flight{key: key, primary: key[:f.primary], waiting: 1, done: make(chan struct{})}
	ctx, cancel := context.WithCancel(parent)
	fl.cancel = cancel
	c.running[fl] = struct{}{}
	return fl, ctx
}

// leave is called for whoever waits and does not want the answer any more.
func (c *Cache) leave(f *flight) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leaveLocked(f)
}

// leaveLead is called when the client is gone whose request runs the handler.
func (c *Cache) leaveLead(f *flight) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f.leadLeft = true
	c.leaveLocked(f)
}

func (c *Cache) leaveLocked(f *flight) {
	f.waiting--
	switch {
	case f.ended && f.leadLeft: // what still runs is a stream of that client
		f.cancel()
	case f.waiting == 0 && !f.ended:
		f.lost = true
		c.unlistLocked(f)
		f.cancel()
	}
}

func (c *Cache) unlistLocked(f *flight) {
	if c.flights[f.key] == f {
		delete(c.flights, f.key)
	}
}

// An outcome says what became of a flight.
type outcome uint8

const (
	failed    outcome = iota // an error, or nobody wanted it any more
	unshared                 // an answer for one client alone
	shareable                // one to keep
)

// end tells those who wait, once. a may be shared, also with an outcome of
// failed: then it is a stale one.
func (c *Cache) end(f *flight, r *http.Request, a *answer, how outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.ended {
		return
	}
	f.ended = true
	if f.leadLeft {
		f.cancel()
	}
	delete(c.running, f)
	c.unlistLocked(f)
	f.answer = a
	if how != failed && !f.lost {
		kept := a
		if how == unshared {
			kept = nil
		}
		c.keepLocked(r, f.primary, kept, time.Now())
	}
	close(f.done)
}
