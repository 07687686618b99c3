// SPDX-License-Identifier: MIT

package cache

import (
	"net/http"
)

// A flight is an answer that is being made, and those who wait for it. Its
// fields are the Cache's, under its lock; answer is written before done is
// closed.
type flight struct {
	res     *resource
	variant string // of it, as much as was known
	waiting int    // who wants it, who makes it included; at 0 it is cancelled
	lost    bool   // not to be kept: it was invalidated, or nobody wants it
	ended   bool   // those who waited have been told
	listed  bool   // in flights of the resource
	end     *ending

	leadLeft bool

	next, last *flight // that run
	other      *flight // of the resource

	done   chan struct{} // made by the first who waits
	answer *answer       // nil: there is none to share
}

// beginLocked makes a run for a request that asks for that, and its flight. What its ctx
// has the values of is the caller's to say.
func (c *Cache) beginLocked(that asked, res *resource) *run {
	u := &run{c: c}
	u.ctx.run = u
	f := &u.f
	f.res, f.variant = c.store.open(res, that.hash, that.key), string(that.variant)
	f.res.runs++
	f.waiting, f.end = 1, &u.ctx
	if f.next = c.running; f.next != nil {
		f.next.last = f
	}
	c.running = f
	return u
}

// joinLocked is called by whoever will wait for done.
func (f *flight) joinLocked() {
	f.waiting++
	if f.done == nil {
		f.done = make(chan struct{})
	}
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
		f.end.cancel()
	case f.waiting == 0 && !f.ended:
		f.lost = true
		c.unlistLocked(f)
		f.end.cancel()
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
	f.res.runs--
	c.store.shut(f.res)
}

// listLocked lets others wait for f.
func (c *Cache) listLocked(f *flight) {
	f.other, f.res.flights = f.res.flights, f
	f.listed = true
}

func (c *Cache) unlistLocked(f *flight) {
	if !f.listed {
		return
	}
	at := &f.res.flights
	for *at != f {
		at = &(*at).other
	}
	*at, f.other, f.listed = f.other, nil, false
}

// flight is the one of a variant that may be waited for, nil for none.
func (res *resource) flight(variant []byte) *flight {
	f := res.flights
	for f != nil && f.variant != string(variant) {
		f = f.other
	}
	return f
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
		f.end.cancel()
	}
	c.unlistLocked(f)
	f.answer = a
	if how != failed && !f.lost {
		kept := a
		if how == unshared {
			kept = nil
		}
		c.keepLocked(r, f.res, kept)
	}
	c.endRunLocked(f)
	if f.done != nil {
		close(f.done)
	}
}
