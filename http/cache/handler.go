// SPDX-License-Identifier: MIT

package cache

import (
	"net/http"
	"time"

	"m0serve.dev/http/internal/capture"
	"m0serve.dev/http/middleware"
)

// triesMax bounds how often a request looks again, because what it waited for
// turned out to depend on more than was known.
const triesMax = 3

// Wrap answers from the cache what it can, and has next make the rest. A HEAD is
// answered by what a GET left, and never kept. A method that changes something
// makes the answers under the key of its request be forgotten when its answer
// is no error (RFC 9111 section 4.4).
func (c *Cache) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch way := wayOf(r); way {
		case past:
			next.ServeHTTP(w, r)
		case changes:
			c.serveChange(w, r, next)
		default:
			c.serve(w, r, next, way)
		}
	})
}

func (c *Cache) serve(w http.ResponseWriter, r *http.Request, next http.Handler, way way) {
	var room [256]byte
	that := asked{key: c.appendKey(room[:0], r)}
	that.hash = c.store.resources.hash(that.key)
	if c.serveFresh(w, r, that) {
		return
	}
	for range triesMax {
		d := c.decide(w, r, next, way, that)
		switch {
		case d.done:
			return
		case d.run != nil:
			d.run.lead(w, r, next, d.stale)
			return
		case d.flight == nil: // nobody waits for it
			c.alone(w, r, next, that, d.stale)
			return
		}
		select {
		case <-d.flight.done:
		case <-r.Context().Done():
			c.leave(d.flight)
			middleware.WriteProblem(w, r, middleware.Problem{Status: http.StatusServiceUnavailable})
			return
		}
		switch a := d.flight.answer; {
		case a == nil:
			c.alone(w, r, next, that, d.stale)
			return
		case a.fits(r):
			c.counts.shared.Add(1)
			a.send(w, r, time.Now())
			return
		}
	}
	c.alone(w, r, next, that, nil)
}

// serveFresh is the short way of a hit, under a lock that hits share.
func (c *Cache) serveFresh(w http.ResponseWriter, r *http.Request, that asked) bool {
	c.mu.RLock()
	_, p := c.findLocked(r, that)
	c.mu.RUnlock()
	a := p.answer
	if a == nil {
		return false
	}
	now := time.Now()
	if a.age(now) >= a.life.fresh {
		return false
	}
	c.counts.hits.Add(1)
	a.send(w, r, now)
	return true
}

// A decision says what becomes of a request where nothing fresh was found: with a
// run it makes the answer, with a flight it waits for it, with neither it does not.
type decision struct {
	done   bool // it was answered
	run    *run
	flight *flight
	stale  *answer // for errors; nil: none
}

func (c *Cache) decide(
	w http.ResponseWriter, r *http.Request, next http.Handler, way way, that asked,
) (d decision) {
	c.mu.Lock()
	that, p := c.findLocked(r, that)
	a := p.answer
	if d.stale = a; p.res != nil {
		d.flight = p.res.flight(that.variant)
	}
	var now time.Time
	if a != nil {
		now = time.Now()
	}
	switch {
	case a != nil && a.age(now) < a.life.fresh+a.life.staleWhile:
		fresh := a.age(now) < a.life.fresh // it came meanwhile
		if !fresh && d.flight == nil {
			c.refreshLocked(r, next, that, p.res)
		}
		c.mu.Unlock()
		c.countUse(fresh)
		a.send(w, r, now)
		d.done = true
		return d
	case way == onlyAsks:
		c.mu.Unlock()
		middleware.WriteProblem(w, r, middleware.Problem{Status: http.StatusGatewayTimeout})
		d.done = true
		return d
	case r.Method == http.MethodHead:
		c.mu.Unlock()
		c.counts.misses.Add(1)
		next.ServeHTTP(w, r)
		d.done = true
		return d
	case p.pass:
		d.flight = nil
	case d.flight != nil:
		d.flight.joinLocked()
	default:
		d.run = c.beginLocked(that, p.res)
		c.listLocked(&d.run.f)
	}
	c.mu.Unlock()
	return d
}

func (c *Cache) countUse(fresh bool) {
	if fresh {
		c.counts.hits.Add(1)
		return
	}
	c.counts.stale.Add(1)
}

// alone runs the handler for r and nobody else. What it says is kept all the
// same where it may be.
func (c *Cache) alone(
	w http.ResponseWriter, r *http.Request, next http.Handler, that asked, stale *answer,
) {
	c.mu.Lock()
	res := c.store.resources.find(that.hash, that.key)
	u := c.beginLocked(that, res) // in no list, so that nobody waits for it
	c.mu.Unlock()
	u.lead(w, r, next, stale)
}

// lead runs the handler for a flight, in the place of all who wait for it.
func (u *run) lead(w http.ResponseWriter, r *http.Request, next http.Handler, stale *answer) {
	u.ctx.of = r.Context()
	u.c.counts.misses.Add(1)
	u.fly(w, r, next, stale)
}

// serveChange hands on a request that changes something.
func (c *Cache) serveChange(w http.ResponseWriter, r *http.Request, next http.Handler) {
	ch := &change{c: c, r: r}
	ch.answer.Reset(w, ch, 0)
	next.ServeHTTP(&ch.answer, r)
	if !ch.begun {
		ch.Begun(http.StatusOK)
	}
}

// A change waits for the status of a request that changes something.
type change struct {
	c      *Cache
	r      *http.Request
	begun  bool
	answer capture.Writer
}

// Begun implements capture.Owner: the answers are forgotten before the client
// can read that it has changed them.
func (ch *change) Begun(status int) capture.Verdict {
	ch.begun = true
	if status >= 200 && status < 400 {
		ch.c.Invalidate(string(ch.c.appendKey(nil, ch.r)))
	}
	return capture.Pass
}

// Passing implements capture.Owner.
func (ch *change) Passing() {}
