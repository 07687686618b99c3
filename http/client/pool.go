// SPDX-License-Identifier: MIT

package client

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"m0serve.dev/http/wire"
)

// A pool has all connections of a Client, by host, and those who wait for one,
// in order. A connection is in use or in idle of its host; its place, counted by
// open, is given back once. All fields are guarded by mu; no I/O but closing
// happens under it.
type pool struct {
	cfg *Config

	mu      sync.Mutex
	hosts   map[hostKey]*host
	waiting []*waiter
	open    int
	idle    int
	closed  bool
	sweeper *time.Timer // nil: nothing is idle
	stats   Stats
	free    *waiter // a waiter to use again
}

// A host is what the pool has of one host. It is forgotten when it has neither
// a place nor a waiter.
type host struct {
	key     hostKey
	idle    []*conn // the one used last is at the end, and taken first
	open    int
	waiters int
}

// A waiter is a request that waits. It gets a connection, or nil: a place to
// open one.
type waiter struct {
	host  *host
	given chan *conn // holds one
	err   *Error     // with nil: the pool was closed
}

func (p *pool) init(cfg *Config) {
	p.cfg, p.hosts = cfg, make(map[hostKey]*host)
}

// take gives a connection that is not in use, or a place at the host to open
// one. It waits in order when there is neither.
func (p *pool) take(ctx context.Context, key hostKey) (*host, *conn, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, nil, &Error{Kind: Closed, Host: key.host}
	}
	h := p.hosts[key]
	if h == nil {
		if !wire.ValidHost([]byte(key.host)) {
			p.mu.Unlock()
			return nil, nil, &Error{Refused, "", ErrURL}
		}
		key.host = strings.Clone(key.host)
		h = &host{key: key}
		p.hosts[key] = h
	}
	if c := p.popLocked(h); c != nil {
		p.mu.Unlock()
		return h, c, nil
	}
	if h.open < p.cfg.PerHost && (p.open < p.cfg.Total || p.evictLocked()) {
		h.open++
		p.open++
		p.mu.Unlock()
		return h, nil, nil
	}
	if len(p.waiting) >= p.cfg.Waiting {
		p.stats.Busy++
		p.forgetLocked(h)
		p.mu.Unlock()
		return nil, nil, &Error{Kind: Busy, Host: key.host}
	}
	w := p.queueLocked(h)
	p.mu.Unlock()
	return p.wait(ctx, w)
}

// another gives a second chance to a request whose idle connection was stale:
// the next idle one, or nil. The caller keeps its place for what it gets.
func (p *pool) another(h *host) *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.Stale++
	c := p.popLocked(h)
	if c != nil { // its place is one too many
		p.leaveLocked(h)
	}
	return c
}

// put takes back a connection that may carry another request.
func (p *pool) put(c *conn) {
	h := c.host
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		c.drop()
		p.leaveLocked(h)
		return
	}
	if len(p.waiting) > 0 {
		if w := p.firstWaiterLocked(func(w *waiter) bool { return w.host == h }); w != nil {
			c.alone = false
			p.stats.Reused++
			w.given <- c
			return
		}
		if p.open >= p.cfg.Total { // somebody at another host waits for its place
			c.drop()
			p.leaveLocked(h)
			return
		}
	}
	c.idleSince = time.Now()
	h.idle = append(h.idle, c)
	if p.idle++; p.sweeper == nil && p.cfg.IdleTimeout > 0 {
		p.sweeper = time.AfterFunc(p.cfg.IdleTimeout, p.sweep)
	}
}

// leave gives back a place whose connection is closed or was never opened.
func (p *pool) leave(h *host) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leaveLocked(h)
}

// leaveLocked passes the place on to the first who may have it.
func (p *pool) leaveLocked(h *host) {
	h.open--
	p.open--
	if len(p.waiting) > 0 && p.open < p.cfg.Total {
		w := p.firstWaiterLocked(func(w *waiter) bool { return w.host.open < p.cfg.PerHost })
		if w != nil {
			w.host.open++
			p.open++
			w.given <- nil
		}
	}
	p.forgetLocked(h)
}

func (p *pool) forgetLocked(h *host) {
	if h.open == 0 && h.waiters == 0 {
		delete(p.hosts, h.key)
	}
}

// popLocked takes the connection that was used last.
func (p *pool) popLocked(h *host) *conn {
	n := len(h.idle)
	if n == 0 {
		return nil
	}
	c := h.idle[n-1]
	h.idle[n-1] = nil
	h.idle = h.idle[:n-1]
	p.idle--
	p.stats.Reused++
	c.alone = p.open-p.idle == 1
	return c
}

// evictLocked closes the connection that has been idle longest, wherever.
func (p *pool) evictLocked() bool {
	var oldest *host
	for _, h := range p.hosts {
		if len(h.idle) > 0 && (oldest == nil ||
			h.idle[0].idleSince.Before(oldest.idle[0].idleSince)) {
			oldest = h
		}
	}
	if oldest == nil {
		return false
	}
	p.dropIdleLocked(oldest, 1)
	return true
}

// dropIdleLocked closes the n connections that have been idle longest. Nobody
// waits for their places: who did would have got the connection.
func (p *pool) dropIdleLocked(h *host, n int) {
	for _, c := range h.idle[:n] {
		c.drop()
	}
	h.idle = slices.Delete(h.idle, 0, n)
	h.open -= n
	p.open -= n
	p.idle -= n
	p.forgetLocked(h)
}

// queueLocked puts a request behind the others.
func (p *pool) queueLocked(h *host) *waiter {
	w := p.free
	p.free = nil
	if w == nil {
		w = &waiter{given: make(chan *conn, 1)}
	}
	w.host = h
	h.waiters++
	p.stats.Waited++
	p.waiting = append(p.waiting, w)
	return w
}

// firstWaiterLocked takes the first that fits out of the queue.
func (p *pool) firstWaiterLocked(fits func(*waiter) bool) *waiter {
	i := slices.IndexFunc(p.waiting, fits)
	if i < 0 {
		return nil
	}
	w := p.waiting[i]
	p.waiting = slices.Delete(p.waiting, i, i+1)
	w.host.waiters--
	return w
}

// wait returns what w is given. One whose context ends leaves the queue, and
// what it was given in that moment goes to the next.
func (p *pool) wait(ctx context.Context, w *waiter) (*host, *conn, error) {
	select {
	case c := <-w.given:
		if w.err != nil {
			return nil, nil, w.err
		}
		h := w.host
		p.mu.Lock()
		p.free = w
		p.mu.Unlock()
		return h, c, nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	removed := p.firstWaiterLocked(func(other *waiter) bool { return other == w }) != nil
	if removed {
		p.forgetLocked(w.host)
	}
	p.mu.Unlock()
	if !removed {
		switch c := <-w.given; {
		case c != nil:
			p.put(c)
		case w.err == nil:
			p.leave(w.host)
		}
	}
	return nil, nil, ended(ctx, w.host.key.host)
}

// sweep closes what has been idle for long, and comes again when the next is due.
func (p *pool) sweep() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	next := p.cfg.IdleTimeout
	for _, h := range p.hosts {
		n := 0
		for ; n < len(h.idle); n++ {
			if left := p.cfg.IdleTimeout - now.Sub(h.idle[n].idleSince); left > 0 {
				next = min(next, left)
				break
			}
		}
		if n > 0 {
			p.dropIdleLocked(h, n)
		}
	}
	if p.idle == 0 || p.closed {
		p.sweeper = nil
		return
	}
	p.sweeper.Reset(next)
}

func (p *pool) closeIdle() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closeIdleLocked()
}

func (p *pool) closeIdleLocked() {
	for _, h := range p.hosts {
		p.dropIdleLocked(h, len(h.idle))
	}
}

func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.closeIdleLocked()
	if p.sweeper != nil {
		p.sweeper.Stop()
	}
	for _, w := range p.waiting {
		w.host.waiters--
		w.err = &Error{Kind: Closed, Host: w.host.key.host}
		w.given <- nil
		p.forgetLocked(w.host)
	}
	p.waiting = nil
}

// count adds one to a count of stats.
func (p *pool) count(n *uint64) {
	p.mu.Lock()
	*n++
	p.mu.Unlock()
}

func (p *pool) counts() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.stats
	s.Open, s.Idle, s.Waiting = p.open, p.idle, len(p.waiting)
	return s
}
