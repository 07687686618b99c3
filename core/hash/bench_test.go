// SPDX-License-Identifier: MIT

package hash

import (
	"fmt"
	"hash/fnv"
	"hash/maphash"
	"testing"
)

var sink uint64

func BenchmarkWhole(b *testing.B) {
	seed := maphash.MakeSeed()
	for _, h := range []struct {
		name string
		fn   func([]byte) uint64
	}{
		{"fnv64a", FNV64a},
		{"xxh32", func(p []byte) uint64 { return uint64(XXH32(p, 0)) }},
		{"xxh64", XXH64},
		{"wy", func(p []byte) uint64 { return Wy(p, 0) }},
		{"std_maphash", func(p []byte) uint64 { return maphash.Bytes(seed, p) }},
		{"std_fnv64a", func(p []byte) uint64 { h := fnv.New64a(); h.Write(p); return h.Sum64() }},
	} {
		for _, n := range []int{8, 16, 64, 256, 4096, 1 << 20} {
			p := sanityBytes(n)
			b.Run(fmt.Sprintf("%s/%d", h.name, n), func(b *testing.B) {
				b.SetBytes(int64(n))
				for b.Loop() {
					sink = h.fn(p)
				}
			})
		}
	}
}
