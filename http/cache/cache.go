// SPDX-License-Identifier: MIT

package cache

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A Cache keeps answers. New makes one; its methods may be called from any
// goroutine.
type Cache struct {
	cfg Config

	mu      sync.RWMutex
	store   *store
	running *flight // answers that are being made, a list

	closing   context.Context
	close     context.CancelFunc
	refreshes sync.WaitGroup
	renewing  atomic.Int32 // refreshes at work
	stamp     atomic.Pointer[stamp]
	counts    counters
}

// counters are those of Stats that are counted without the lock.
type counters struct {
	hits, misses, shared, stale, passed, refreshed, invalidated, panics atomic.Uint64
}

// Stats is what a cache has done so far, and what it holds.
type Stats struct {
	Hits        uint64 // answered by what is kept and fresh
	Misses      uint64 // ran the handler, and so did Passes
	Shared      uint64 // waited for the answer to another's request, and got it
	Stale       uint64 // answered by what is stale, as the answer allows
	Passes      uint64 // got an answer that is nobody else's
	Refreshes   uint64 // stale answers renewed behind their clients' backs
	Evictions   uint64 // entries that had to make room
	Invalidated uint64 // entries that were taken out
	Panics      uint64 // of handlers, that a stale answer covered
	Entries     int
	Bytes       int64
}

// New makes a cache.
func New(cfg Config) *Cache {
	cfg = cfg.filled()
	c := &Cache{cfg: cfg, store: newStore(cfg.MaxBytes, cfg.MaxEntries)}
	c.closing, c.close = context.WithCancel(context.Background())
	return c
}

// Close ends the refreshes that are at work, and waits for them. The cache goes
// on serving, without refreshes.
func (c *Cache) Close() {
	c.mu.Lock()
	c.close() // under the lock: no refresh begins behind it
	c.mu.Unlock()
	c.refreshes.Wait()
}

// Stats tells what the cache has done.
func (c *Cache) Stats() Stats {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return Stats{
		Hits: c.counts.hits.Load(), Misses: c.counts.misses.Load(),
		Shared: c.counts.shared.Load(), Stale: c.counts.stale.Load(),
		Passes: c.counts.passed.Load(), Refreshes: c.counts.refreshed.Load(),
		Evictions: c.store.evictions, Invalidated: c.counts.invalidated.Load(),
		Panics: c.counts.panics.Load(), Entries: c.store.count, Bytes: c.store.bytes(),
	}
}

// Invalidate forgets every variant of the answers under the keys, and tells how
// many there were. An answer that is being made at the moment is not kept, and
// whoever asks from now on does not wait for it. Without Config.Key a key is a
// URL such as "http://example.com/notes?page=2".
func (c *Cache) Invalidate(keys ...string) (entries int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	table := &c.store.resources
	for _, key := range keys {
		key := []byte(key)
		if res := table.find(table.hash(key), key); res != nil {
			c.abandonLocked(func(f *flight) bool { return f.res == res })
			entries += c.removeAllLocked(res)
		}
	}
	return entries
}

// InvalidatePrefix is Invalidate for all keys with that prefix; "" is all. It
// looks at every key.
func (c *Cache) InvalidatePrefix(prefix string) (entries int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for res := range c.store.resources.all() {
		if strings.HasPrefix(res.key, prefix) {
			entries += c.removeAllLocked(res)
		}
	}
	c.abandonLocked(func(f *flight) bool { return strings.HasPrefix(f.res.key, prefix) })
	return entries
}

// InvalidateTag is Invalidate for the answers that carry one of the tags. Which
// tags an answer will carry that is being made nobody knows yet, so none of
// those is kept.
func (c *Cache) InvalidateTag(tags ...string) (entries int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, tag := range tags {
		entries += c.removeLocked(c.store.tagged[tag])
	}
	c.abandonLocked(func(*flight) bool { return true })
	return entries
}

func (c *Cache) removeAllLocked(res *resource) (n int) {
	for ; res.first != nil; n++ {
		c.store.remove(res.first)
	}
	c.counts.invalidated.Add(uint64(n))
	return n
}

func (c *Cache) removeLocked(entries map[*entry]struct{}) int {
	n := len(entries)
	for e := range entries {
		c.store.remove(e)
	}
	c.counts.invalidated.Add(uint64(n))
	return n
}

// abandonLocked keeps the answers of some flights from being kept or joined.
func (c *Cache) abandonLocked(is func(*flight) bool) {
	for f := c.running; f != nil; f = f.next {
		if is(f) {
			f.lost = true
			c.unlistLocked(f)
		}
	}
}

// appendKey appends what r asks for, apart from Vary.
func (c *Cache) appendKey(dst []byte, r *http.Request) []byte {
	if c.cfg.Key != nil {
		return append(dst, c.cfg.Key(r)...)
	}
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	dst = append(append(dst, scheme...), r.Host...)
	dst = append(dst, r.URL.EscapedPath()...)
	if r.URL.RawQuery != "" {
		dst = append(append(dst, '?'), r.URL.RawQuery...)
	}
	return dst
}

// An asked is what a request asks for. It goes by value, so that its key may be on the
// stack.
type asked struct {
	key     []byte // without the variant, and with some room behind it
	hash    uint64 // of key
	variant []byte // behind the key, as much as is known
}

// A place is what the cache knows of a request.
type place struct {
	res    *resource // nil: nothing under its key
	answer *answer
	pass   bool // nobody waits for it
}

// findLocked looks for r, which asks for that, and adds the variant; the lock may be
// held for reading only.
func (c *Cache) findLocked(r *http.Request, that asked) (_ asked, p place) {
	that.variant = nil
	p.res = c.store.resources.find(that.hash, that.key)
	if p.res == nil {
		return that, p
	}
	that.variant = appendVariant(that.key[len(that.key):], p.res.vary, r)
	e := p.res.find(that.variant)
	if e == nil {
		return that, p
	}
	e.use()
	p.answer = e.answer
	p.pass = e.answer == nil && time.Now().Before(e.pass)
	return that, p
}

// keepLocked keeps a, or, for nil, notes that nobody shall wait for a while.
func (c *Cache) keepLocked(r *http.Request, res *resource, a *answer) {
	var pass time.Time
	if a == nil {
		pass = time.Now().Add(c.cfg.PassFor)
	}
	c.store.keep(res, r, a, pass)
}
