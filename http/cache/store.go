// SPDX-License-Identifier: MIT

package cache

import (
	"math/bits"
	"net/http"
	"slices"
	"sync/atomic"
	"time"
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

	resources table // by the key without the variant
	count     int   // entries
	tagged    map[string]map[*entry]struct{}
	small     queue
	main      queue
	ghosts    ghosts
	evictions uint64
}

// A resource is what is known under one key. It holds its entries in a list, and by
// their variants as soon as there are two; and the flights that may be waited for. It is
// there for as long as it has an entry or somebody who makes an answer for it.
type resource struct {
	key      string
	hash     uint64    // of key
	below    *resource // in the slot of the table
	vary     []string  // of all its answers so far; replaced, never written
	first    *entry
	variants map[string]*entry // nil: first is the only one
	flights  *flight           // a list
	runs     int               // whose flight is of it, waited for or not

	entry *entry // one that lies in a piece of memory with it; nil: it was taken
}

// An entry is one variant of a resource.
type entry struct {
	variant string
	res     *resource
	answer  *answer   // nil: nobody waits here until pass
	tagged  bool      // answer has tags
	pass    time.Time // end of that
	size    int64
	uses    atomic.Int32
	in      *queue
	newer   *entry
	older   *entry

	before, after *entry // of the resource
}

// find is the entry of a variant, nil for none.
func (res *resource) find(variant []byte) *entry {
	switch e := res.first; {
	case res.variants != nil:
		return res.variants[string(variant)]
	case e != nil && e.variant == string(variant):
		return e
	}
	return nil
}

func (res *resource) add(e *entry) {
	e.res, e.after = res, res.first
	if e.after != nil {
		e.after.before = e
		if res.variants == nil {
			res.variants = map[string]*entry{e.after.variant: e.after}
		}
		res.variants[e.variant] = e
	}
	res.first = e
}

func (res *resource) remove(e *entry) {
	if e.after != nil {
		e.after.before = e.before
	}
	if e.before != nil {
		e.before.after = e.after
	} else {
		res.first = e.after
	}
	e.before, e.after = nil, nil
	delete(res.variants, e.variant)
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

// ghosts are the hashes of what has left the small queue, the last max at most: each
// has one slot, which another one may take.
type ghosts struct {
	slots []ghost // a power of two of them; nil: nothing has left
	count uint64  // of all that were added
	max   int
}

type ghost struct {
	hash uint64
	at   uint64 // count when it was added; 0: none
}

func (g *ghosts) slot(hash uint64) *ghost { return &g.slots[hash&uint64(len(g.slots)-1)] }

func (g *ghosts) add(hash uint64) {
	if g.slots == nil {
		g.slots = make([]ghost, 1<<bits.Len(uint(2*g.max-1)))
	}
	g.count++
	*g.slot(hash) = ghost{hash, g.count}
}

func (g *ghosts) has(hash uint64) bool {
	if g.slots == nil {
		return false
	}
	s := g.slot(hash)
	return s.hash == hash && s.at != 0 && g.count-s.at < uint64(g.max)
}

func newStore(maxBytes int64, maxEntries int) *store {
	return &store{
		maxBytes: maxBytes, maxEntries: maxEntries, resources: newTable(),
		tagged: make(map[string]map[*entry]struct{}), ghosts: ghosts{max: maxEntries},
	}
}

func (s *store) bytes() int64 { return s.small.bytes + s.main.bytes }

// use counts a use. It is called with the lock held for reading only.
func (e *entry) use() {
	if n := e.uses.Load(); n < useMax {
		e.uses.CompareAndSwap(n, n+1) // one that is lost in a crowd is no matter
	}
}

// hashOf is the hash of an entry's key and variant.
func (s *store) hashOf(e *entry) uint64 { return s.resources.hashOf(e.res.hash, e.variant) }

// open is the resource of a key, made where there is none, with an entry beside it.
func (s *store) open(res *resource, hash uint64, key []byte) *resource {
	if res != nil {
		return res
	}
	both := &struct {
		resource
		entry
	}{resource: resource{key: string(key), hash: hash}}
	both.resource.entry = &both.entry
	s.resources.add(&both.resource)
	return &both.resource
}

// shut forgets a resource of which nothing is known any more.
func (s *store) shut(res *resource) {
	if res.first == nil && res.runs == 0 {
		s.resources.remove(res)
	}
}

// keep keeps a for requests that say what r says in what a depends on and in all that
// others of the resource do. nil is a note that nobody waits until pass. Entries whose
// variants told less apart are not found any more and leave in time.
func (s *store) keep(res *resource, r *http.Request, a *answer, pass time.Time) {
	vary, variant := res.vary, ""
	if a != nil {
		var ok bool
		if vary, ok = widen(vary, a.vary); !ok {
			return
		}
	}
	if a != nil && len(vary) == len(a.vary) {
		variant = a.variant
	} else {
		variant = string(appendVariant(nil, vary, r))
	}
	e, in := res.find([]byte(variant)), &s.small
	if e != nil {
		in = e.in
		in.remove(e)
		s.untag(e)
	} else {
		e = s.add(res, variant)
		if s.ghosts.has(s.hashOf(e)) {
			in = &s.main
		}
	}
	res.vary = vary
	e.answer, e.pass, e.size = a, pass, entryBytes+int64(len(res.key)+len(variant))
	if a != nil {
		e.size = a.size(res.key)
		s.tag(e)
	}
	in.push(e)
	for s.bytes() > s.maxBytes || s.count > s.maxEntries {
		s.evict()
	}
}

func (s *store) add(res *resource, variant string) *entry {
	e := res.entry
	if res.entry = nil; e == nil {
		e = new(entry)
	}
	e.variant = variant
	res.add(e)
	s.count++
	return e
}

// widen adds what an answer depends on to what others do.
func widen(old, vary []string) (all []string, ok bool) {
	if slices.Equal(old, vary) {
		return old, len(old) <= varyMax
	}
	all = append(slices.Clone(old), vary...)
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
		s.ghosts.add(s.hashOf(e))
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

// forget takes an entry that is in no queue out of all else. Its memory may live on
// with its resource, its answer does not.
func (s *store) forget(e *entry) {
	s.untag(e)
	e.answer = nil
	e.res.remove(e)
	s.shut(e.res)
	s.count--
}

func (s *store) tag(e *entry) {
	e.tagged = len(e.answer.tags) > 0
	for _, t := range e.answer.tags {
		if s.tagged[t] == nil {
			s.tagged[t] = make(map[*entry]struct{})
		}
		s.tagged[t][e] = struct{}{}
	}
}

func (s *store) untag(e *entry) {
	if !e.tagged { // its answer need not be fetched into a cache of the processor
		return
	}
	e.tagged = false
	for _, t := range e.answer.tags {
		delete(s.tagged[t], e)
		if len(s.tagged[t]) == 0 {
			delete(s.tagged, t)
		}
	}
}
