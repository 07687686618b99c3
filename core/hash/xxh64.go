// SPDX-License-Identifier: MIT

package hash

import (
	"hash"

	"github.com/cespare/xxhash/v2"
)

// XXH64 returns the xxHash64 of b with seed 0.
func XXH64(b []byte) uint64 { return xxhash.Sum64(b) }

// xxh64 keeps the seed over Reset, which a bare xxhash.Digest forgets.
type xxh64 struct {
	xxhash.Digest
	seed uint64
}

// NewXXH64 returns a streaming xxHash64 that starts with seed.
func NewXXH64(seed uint64) hash.Hash64 {
	d := &xxh64{seed: seed}
	d.Reset()
	return d
}

func (d *xxh64) Reset() { d.ResetWithSeed(d.seed) }
