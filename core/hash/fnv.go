// SPDX-License-Identifier: MIT

package hash

import (
	"hash"
	"hash/fnv"
)

// Offset basis and prime of FNV-1a (RFC 9923, section 5).
const (
	fnvOffset32 = 0x811c9dc5
	fnvPrime32  = 0x01000193
	fnvOffset64 = 0xcbf29ce484222325
	fnvPrime64  = 0x00000100000001b3
)

// FNV32a returns the 32-bit FNV-1a hash of b.
func FNV32a(b []byte) uint32 {
	h := uint32(fnvOffset32)
	for _, c := range b {
		h = (h ^ uint32(c)) * fnvPrime32
	}
	return h
}

// FNV64a returns the 64-bit FNV-1a hash of b.
func FNV64a(b []byte) uint64 {
	h := uint64(fnvOffset64)
	for _, c := range b {
		h = (h ^ uint64(c)) * fnvPrime64
	}
	return h
}

// NewFNV32a returns a streaming FNV32a. It is the standard library's: the
// algorithm takes one byte at a time, there is nothing to win.
func NewFNV32a() hash.Hash32 { return fnv.New32a() }

// NewFNV64a returns a streaming FNV64a, the standard library's.
func NewFNV64a() hash.Hash64 { return fnv.New64a() }
