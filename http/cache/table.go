// SPDX-License-Identifier: MIT

package cache

import (
	"hash/maphash"
	"iter"
	"math/bits"
)

// slotsMin is how many slots a table begins with.
const slotsMin = 64

// A table finds resources by their keys: lists of them, at least as many as there are
// resources. A key is hashed once for all that is done with it, which a map cannot.
type table struct {
	seed  maphash.Seed
	slots []*resource // a power of two
	count int
}

func newTable() table {
	return table{seed: maphash.MakeSeed(), slots: make([]*resource, slotsMin)}
}

func (t *table) hash(key []byte) uint64 { return maphash.Bytes(t.seed, key) }

// hashOf is the hash of a variant of what has that hash.
func (t *table) hashOf(hash uint64, variant string) uint64 {
	if variant == "" {
		return hash
	}
	return bits.RotateLeft64(hash, 1) ^ maphash.String(t.seed, variant)
}

func (t *table) slot(hash uint64) **resource { return &t.slots[hash&uint64(len(t.slots)-1)] }

// find is the resource of a key, nil for none.
func (t *table) find(hash uint64, key []byte) *resource {
	res := *t.slot(hash)
	for res != nil && (res.hash != hash || res.key != string(key)) {
		res = res.below
	}
	return res
}

// add takes a resource in whose key is new.
func (t *table) add(res *resource) {
	if t.count++; t.count > len(t.slots) {
		old := t.slots
		t.slots = make([]*resource, 2*len(old))
		for _, first := range old {
			for first != nil {
				first, first.below, *t.slot(first.hash) = first.below, *t.slot(first.hash), first
			}
		}
	}
	at := t.slot(res.hash)
	res.below, *at = *at, res
}

func (t *table) remove(res *resource) {
	at := t.slot(res.hash)
	for *at != res {
		at = &(*at).below
	}
	*at, res.below = res.below, nil
	t.count--
}

// all are the resources. The one that is yielded may be removed.
func (t *table) all() iter.Seq[*resource] {
	return func(yield func(*resource) bool) {
		for _, res := range t.slots {
			for res != nil {
				below := res.below
				if !yield(res) {
					return
				}
				res = below
			}
		}
	}
}
