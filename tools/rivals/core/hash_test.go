// SPDX-License-Identifier: MIT

package core_test

import (
	"fmt"
	"hash/fnv"
	"hash/maphash"
	"testing"

	"github.com/OneOfOne/xxhash"

	"m0serve.dev/core/hash"
)

var sum uint64

func BenchmarkHash(b *testing.B) {
	seed := maphash.MakeSeed()
	std := fnv.New64a()
	for _, n := range []int{16, 64, 256, 1024, 4096} {
		p := make([]byte, n)
		for _, h := range []struct {
			name string
			fn   func([]byte) uint64
		}{
			{"fnv/%d/ours", hash.FNV64a},
			{"fnv/%d/std", func(p []byte) uint64 { std.Reset(); std.Write(p); return std.Sum64() }},
			{"xxh32/%d/ours", func(p []byte) uint64 { return uint64(hash.XXH32(p, 0)) }},
			{"xxh32/%d/oneofone", func(p []byte) uint64 { return uint64(xxhash.Checksum32(p)) }},
			{"wy/%d/ours", func(p []byte) uint64 { return hash.Wy(p, 0) }},
			{"wy/%d/maphash", func(p []byte) uint64 { return maphash.Bytes(seed, p) }},
		} {
			b.Run(fmt.Sprintf(h.name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					sum += h.fn(p)
				}
			})
		}
	}
}
