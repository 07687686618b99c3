// SPDX-License-Identifier: MIT

package cache

import (
	"context"
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
	if c.serveFresh(w, r) {
		return
	}
	for range triesMax {
		f, fl, ctx, done := c.decide(w, r, next, way)
		switch {
		case done:
			return
		case ctx != nil:
			c.lead(ctx, w, r, next, fl, f.answer)
			return
		case fl == nil: // nobody waits for it
			c.alone(w, r, next, &f)
			return
		}
		select {
		case <-fl.done:
		case <-r.Context().Done():
			c.leave(fl)
			middleware.WriteProblem(w, r, middleware.Problem{Status: http.StatusServiceUnavailable})
			return
		}
		switch a := fl.answer; {
		case a == nil:
			c.alone(w, r, next, &f)
			return
		case a.fits(r):
			c.counts.shared.Add(1)
			a.send(w, r, time.Now())
			return
		}
	}
	c.alone(w, r, next, &found{})
}

// serveFresh is the short way of a hit, under a lock that hits share.
func (c *Cache) serveFresh(w http.ResponseWriter, r *http.Request) bool {
	var room [256]byte
	now := time.Now()
	c.mu.RLock()
	a := c.findLocked(r, room[:0], now).answer
	c.mu.RUnlock()
	if a == nil || a.age(now) >= a.life.fresh {
		return false
	}
	c.counts.hits.Add(1)
	a.send(w, r, now)
	return true
}

// decide finds what to do with r where nothing fresh was found: done when it
// was answered; with a context for who makes the answer, with a flight alone
// for who waits, and with neither for who does not.
func (c *Cache) decide(
	w http.ResponseWriter, r *http.Request, next http.Handler, way way,
) (f found, fl *flight, ctx context.Context, done bool) {
	now := time.Now()
	c.mu.Lock()
	f = c.findLocked(r, nil, now)
	fl = c.flights[string(f.key)]
	a := f.answer
	switch {
	case a != nil && a.age(now) < a.life.fresh+a.life.staleWhile:
		fresh := a.age(now) < a.life.fresh // it came meanwhile
		if !fresh && fl == nil {
			c.refreshLocked(r, next, &f)
		}
		c.mu.Unlock()
		c.countUse(fresh)
		a.send(w, r, now)
		return f, nil, nil, true
	case way == onlyAsks:
		c.mu.Unlock()
		middleware.WriteProblem(w, r, middleware.Problem{Status: http.StatusGatewayTimeout})
		return f, nil, nil, true
	case r.Method == http.MethodHead:
		c.mu.Unlock()
		c.counts.misses.Add(1)
		next.ServeHTTP(w, r)
		return f, nil, nil, true
	case f.pass:
	case fl != nil:
		fl.waiting++
	default:
		fl, ctx = c.beginLocked(context.WithoutCancel(r.Context()), &f)
		c.flights[fl.key] = fl
	}
	c.mu.Unlock()
	if f.pass {
		fl = nil
	}
	return f, fl, ctx, false
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
func (c *Cache) alone(w http.ResponseWriter, r *http.Request, next http.Handler, f *found) {
	if f.key == nil {
		f.key = c.appendKey(nil, r)
		f.primary = len(f.key)
	}
	c.mu.Lock()
	fl, ctx := c.beginLocked(context.WithoutCancel(r.Context()),
		f) // in no list, so that nobody waits for it
	c.mu.Unlock()
	c.lead(ctx, w, r, next, fl, f.answer)
}

// lead runs the handler for a flight, in the place of all who wait for it.
func (c *Cache) lead(
	ctx context.Context, w http.ResponseWriter, r *http.Request, next http.Handler,
	f *flight, stale *answer,
) {
	c.counts.misses.Add(1)
	stop := context.AfterFunc(r.Context(), func() { c.leaveLead(f) })
	defer stop()
	c.fly(ctx, w, r, next, f, stale)
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
