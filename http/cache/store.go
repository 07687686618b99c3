// SPDX-License-Identifier: MIT

package cache

import (
	"slices"
	"sync/atomic"
	"time"

	"m0serve.dev/core/hash"
)

// smallShare is the part of all bytes, one in so many, that what is new may
// hold. useMax is how many uses count.
const (
	smallShare = 10
	useMax     = 3
)

// A store keeps answers within bounds of bytes and entries by S3-FIFO (Yang et
// al., SOSP 2023): what is new goes into a small queue; who leaves that unused is
// forgotten but for its hash, who was used, or comes back soon, goes into the
// main queue, where a use buys another round. The owner of the store, the Cache,
// guards it by its lock; uses are counted without it.
type store struct {
	maxBytes   int64
	maxEntries int

	entries   map[string]*entry    // by whole key
	resources map[string]*resource // by the key without the variant
	tagged    map[string]map[*entry]struct{}
	small     queue
	main      queue
	ghosts    ghosts
	evictions uint64
}

// A resource is what is known under one key.
type resource struct {
	vary    []string // of all its answers so far; replaced, never written
	entries map[*entry]struct{}
}

// An entry is one variant of a resource.
type entry struct {
	key     string // whole
	primary string
	res     *resource
	answer  *answer   // nil: nobody waits here until pass
	pass    time.Time // end of that
	size    int64
	uses    atomic.Int32
	in      *queue
	newer   *entry
	older   *entry
}

// A queue is a list with its newest entry first.
type queue struct {
	newest, oldest *entry
	bytes          int64
	count          int
}

func (q *queue) push(e *entry) {
	e.in, e.newer, e.older = q, nil, q.newest
	if q.newest != nil {
		q.newest.newer = e
	} else {
		q.oldest = e
	}
	q.newest = e
	q.bytes += e.size
	q.count++
}

func (q *queue) remove(e *entry) {
	if e.newer != nil {
		e.newer.older = e.older
	} else {
		q.newest = e.older
	}
	if e.older != nil {
		e.older.newer = e.newer
	} else {
		q.oldest = e.newer
	}
	e.newer, e.older, e.in = nil, nil, nil
	q.bytes -= e.size
	q.count--
}

// ghosts are the hashes of what has left the small queue, the last so many.
type ghosts struct {
	set  map[uint64]struct{}
	ring []uint64
	at   int
	max  int
}

func (g *ghosts) add(key string) {
	h := hashOf(key)
	if _, there := g.set[h]; there {
		return
	}
	g.set[h] = struct{}{}
	if len(g.ring) < g.max {
		g.ring = append(g.ring, h)
		return
	}
	delete(g.set, g.ring[g.at])
	g.ring[g.at] = h
	g.at = (g.at + 1) % g.max
}

func (g *ghosts) has(key string) bool {
	_, there := g.set[hashOf(key)]
	return there
}

func hashOf(key string) uint64 { return hash.XXH64([]byte(key)) }

func newStore(maxBytes int64, maxEntries int) *store {
	s := &store{maxBytes: maxBytes, maxEntries: maxEntries}
	s.clear()
	return s
}

func (s *store) clear() {
	s.entries = make(map[string]*entry)
	s.resources = make(map[string]*resource)
	s.tagged = make(map[string]map[*entry]struct{})
	s.small, s.main = queue{}, queue{}
	s.ghosts = ghosts{set: make(map[uint64]struct{}), max: s.maxEntries}
}

func (s *store) bytes() int64 { return s.small.bytes + s.main.bytes }

// use counts a use. It is called with the lock held for reading only.
func (e *entry) use() {
	if n := e.uses.Load(); n < useMax {
		e.uses.CompareAndSwap(n, n+1) // one that is lost in a crowd is no matter
	}
}

// put keeps a under key, in the place of what was there. nil is a note that
// nobody waits until pass. vary is what the keys of primary tell apart.
func (s *store) put(primary, key string, vary []string, a *answer, pass time.Time) {
	in := &s.small
	e := s.entries[key]
	switch {
	case e != nil:
		in = e.in
		in.remove(e)
		s.untag(e)
	case s.ghosts.has(key):
		in = &s.main
		fallthrough
	default:
		e = &entry{key: key, primary: primary, res: s.resource(primary)}
		e.res.entries[e] = struct{}{}
		s.entries[key] = e
	}
	e.res.vary = vary
	e.answer, e.pass, e.size = a, pass, entryBytes+int64(len(key))
	if a != nil {
		e.size = a.size(key)
		s.tag(e)
	}
	in.push(e)
	for s.bytes() > s.maxBytes || len(s.entries) > s.maxEntries {
		s.evict()
	}
}

func (s *store) resource(primary string) *resource {
	res := s.resources[primary]
	if res == nil {
		res = &resource{entries: make(map[*entry]struct{})}
		s.resources[primary] = res
	}
	return res
}

// widen makes the key of a resource tell apart what an answer depends on, too.
// Entries with the narrower key are not found any more and leave in time.
func (s *store) widen(primary string, vary []string) (all []string, ok bool) {
	res := s.resources[primary]
	if res == nil {
		return vary, true
	}
	all = append(slices.Clone(res.vary), vary...)
	slices.Sort(all)
	all = slices.Compact(all)
	return all, len(all) <= varyMax
}

// evict makes one step towards room.
func (s *store) evict() {
	if e := s.small.oldest; e != nil && (s.main.oldest == nil ||
		s.small.bytes > s.maxBytes/smallShare || s.small.count > s.maxEntries/smallShare) {
		s.small.remove(e)
		if e.uses.Load() > 0 {
			e.uses.Store(0)
			s.main.push(e)
			return
		}
		s.ghosts.add(e.key)
		s.forget(e)
		s.evictions++
		return
	}
	e := s.main.oldest
	s.main.remove(e)
	if n := e.uses.Load(); n > 0 {
		e.uses.Store(n - 1)
		s.main.push(e)
		return
	}
	s.forget(e)
	s.evictions++
}

// remove takes an entry out for good.
func (s *store) remove(e *entry) {
	e.in.remove(e)
	s.forget(e)
}

// forget takes an entry that is in no queue out of all else.
func (s *store) forget(e *entry) {
	delete(s.entries, e.key)
	s.untag(e)
	delete(e.res.entries, e)
	if len(e.res.entries) == 0 {
		delete(s.resources, e.primary)
	}
}

func (s *store) tag(e *entry) {
	for _, t := range e.answer.tags {
		if s.tagged[t] == nil {
			s.tagged[t] = make(map[*entry]struct{})
		}
		s.tagged[t][e] = struct{}{}
	}
}

func (s *store) untag(e *entry) {
	if e.answer == nil {
		return
	}
	for _, t := range e.answer.tags {
		delete(s.tagged[t], e)
		if len(s.tagged[t]) == 0 {
			delete(s.tagged, t)
		}
	}
}
