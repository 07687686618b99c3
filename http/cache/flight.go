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
	listed  bool // in flights
	cancel  context.CancelFunc

	leadLeft bool

	next, last *flight // that run

	done   chan struct{} // made by the first who waits
	answer *answer       // nil: there is none to share
}

// beginLocked makes a flight and its run, and the context of its handler, which ends
// with parent, or when nobody waits any more. nil is the context of r without its end.
func (c *Cache) beginLocked(
	r *http.Request, f found, parent context.Context,
) (*run, context.Context) {
	key := string(f.key)
	u := &run{c: c, values: detached{r.Context()}}
	u.f.key, u.f.primary, u.f.waiting = key, key[:f.primary], 1
	if parent == nil {
		parent = &u.values
	}
	ctx, cancel := context.WithCancel(parent)
	u.f.cancel = cancel
	u.f.next = c.running
	if u.f.next != nil {
		u.f.next.last = &u.f
	}
	c.running = &u.f
	return u, ctx
}

// joinLocked is called by whoever will wait for done.
func (f *flight) joinLocked() {
	f.waiting++
	if f.done == nil {
		f.done = make(chan struct{})
	}
}

// A detached context has the values of another one and does not end with it, as that
// of context.WithoutCancel. It needs no memory of its own.
type detached struct{ of context.Context }

func (d *detached) Deadline() (end time.Time, ok bool) { return end, false }
func (d *detached) Done() <-chan struct{}              { return nil }
func (d *detached) Err() error                         { return nil }
func (d *detached) Value(key any) any                  { return d.of.Value(key) }

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

func (c *Cache) endRunLocked(f *flight) {
	if f.next != nil {
		f.next.last = f.last
	}
	if f.last != nil {
		f.last.next = f.next
	} else {
		c.running = f.next
	}
	f.next, f.last = nil, nil
}

// listLocked lets others wait for f.
func (c *Cache) listLocked(f *flight) {
	c.flights[f.key] = f
	f.listed = true
}

func (c *Cache) unlistLocked(f *flight) {
	if f.listed {
		delete(c.flights, f.key)
		f.listed = false
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
	c.endRunLocked(f)
	c.unlistLocked(f)
	f.answer = a
	if how != failed && !f.lost {
		kept := a
		if how == unshared {
			kept = nil
		}
		c.keepLocked(r, f.primary, kept)
	}
	if f.done != nil {
		close(f.done)
	}
}
