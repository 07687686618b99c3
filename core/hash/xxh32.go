// SPDX-License-Identifier: MIT

package hash

import (
	"encoding/binary"
	"hash"
	"math/bits"
)

// Constants of the xxHash32 specification.
const (
	xxhPrime1 uint32 = 0x9e3779b1
	xxhPrime2 uint32 = 0x85ebca77
	xxhPrime3 uint32 = 0xc2b2ae3d
	xxhPrime4 uint32 = 0x27d4eb2f
	xxhPrime5 uint32 = 0x165667b1

	xxhStripe = 16 // bytes the four lanes take in one step
)

// xxhLanes is the part of the state that whole stripes flow through.
type xxhLanes struct{ v1, v2, v3, v4 uint32 } // no array, which would not go in registers

func newXXHLanes(seed uint32) xxhLanes {
	return xxhLanes{seed + xxhPrime1 + xxhPrime2, seed + xxhPrime2, seed, seed - xxhPrime1}
}

// consume mixes the whole stripes of b in.
func (l xxhLanes) consume(b []byte) xxhLanes {
	v1, v2, v3, v4 := l.v1, l.v2, l.v3, l.v4
	for ; len(b) >= 4*xxhStripe; b = b[4*xxhStripe:] { // only for speed
		p := (*[4 * xxhStripe]byte)(b)
		v1 = xxhRound(v1, binary.LittleEndian.Uint32(p[0:4]))
		v2 = xxhRound(v2, binary.LittleEndian.Uint32(p[4:8]))
		v3 = xxhRound(v3, binary.LittleEndian.Uint32(p[8:12]))
		v4 = xxhRound(v4, binary.LittleEndian.Uint32(p[12:16]))
		v1 = xxhRound(v1, binary.LittleEndian.Uint32(p[16:20]))
		v2 = xxhRound(v2, binary.LittleEndian.Uint32(p[20:24]))
		v3 = xxhRound(v3, binary.LittleEndian.Uint32(p[24:28]))
		v4 = xxhRound(v4, binary.LittleEndian.Uint32(p[28:32]))
		v1 = xxhRound(v1, binary.LittleEndian.Uint32(p[32:36]))
		v2 = xxhRound(v2, binary.LittleEndian.Uint32(p[36:40]))
		v3 = xxhRound(v3, binary.LittleEndian.Uint32(p[40:44]))
		v4 = xxhRound(v4, binary.LittleEndian.Uint32(p[44:48]))
		v1 = xxhRound(v1, binary.LittleEndian.Uint32(p[48:52]))
		v2 = xxhRound(v2, binary.LittleEndian.Uint32(p[52:56]))
		v3 = xxhRound(v3, binary.LittleEndian.Uint32(p[56:60]))
		v4 = xxhRound(v4, binary.LittleEndian.Uint32(p[60:64]))
	}
	for ; len(b) >= xxhStripe; b = b[xxhStripe:] {
		p := (*[xxhStripe]byte)(b)
		v1 = xxhRound(v1, binary.LittleEndian.Uint32(p[0:4]))
		v2 = xxhRound(v2, binary.LittleEndian.Uint32(p[4:8]))
		v3 = xxhRound(v3, binary.LittleEndian.Uint32(p[8:12]))
		v4 = xxhRound(v4, binary.LittleEndian.Uint32(p[12:16]))
	}
	return xxhLanes{v1, v2, v3, v4}
}

func (l xxhLanes) converge() uint32 {
	return bits.RotateLeft32(l.v1, 1) + bits.RotateLeft32(l.v2, 7) +
		bits.RotateLeft32(l.v3, 12) + bits.RotateLeft32(l.v4, 18)
}

func xxhRound(acc, word uint32) uint32 {
	return bits.RotateLeft32(acc+word*xxhPrime2, 13) * xxhPrime1
}

// xxhTail mixes the last bytes (fewer than a stripe) in.
func xxhTail(h uint32, tail []byte) uint32 {
	for len(tail) >= 4 {
		h += binary.LittleEndian.Uint32(tail) * xxhPrime3
		h = bits.RotateLeft32(h, 17) * xxhPrime4
		tail = tail[4:]
	}
	for _, c := range tail {
		h += uint32(c) * xxhPrime5
		h = bits.RotateLeft32(h, 11) * xxhPrime1
	}
	return h
}

func xxhAvalanche(h uint32) uint32 {
	h = (h ^ h>>15) * xxhPrime2
	h = (h ^ h>>13) * xxhPrime3
	return h ^ h>>16
}

// XXH32 returns the xxHash32 of b.
func XXH32(b []byte, seed uint32) uint32 {
	h := seed + xxhPrime5
	switch n := len(b); {
	case n >= 2*xxhStripe:
		h = newXXHLanes(seed).consume(b).converge()
	case n >= xxhStripe: // only for speed
		l, p := newXXHLanes(seed), (*[xxhStripe]byte)(b)
		h = xxhLanes{
			xxhRound(l.v1, binary.LittleEndian.Uint32(p[0:4])),
			xxhRound(l.v2, binary.LittleEndian.Uint32(p[4:8])),
			xxhRound(l.v3, binary.LittleEndian.Uint32(p[8:12])),
			xxhRound(l.v4, binary.LittleEndian.Uint32(p[12:16])),
		}.converge()
	}
	h += uint32(len(b))
	if len(b)%xxhStripe > 0 { // only for speed
		h = xxhTail(h, b[len(b)&^(xxhStripe-1):])
	}
	return xxhAvalanche(h)
}

// xxh32 is the streaming state. Its one owner calls it.
type xxh32 struct {
	seed  uint32
	lanes xxhLanes
	total uint64
	buf   [xxhStripe]byte
	held  int // bytes of buf in use, always less than a stripe
}

// NewXXH32 returns a streaming xxHash32 that starts with seed.
func NewXXH32(seed uint32) hash.Hash32 {
	d := &xxh32{seed: seed}
	d.Reset()
	return d
}

func (d *xxh32) Reset() {
	d.lanes, d.total, d.held = newXXHLanes(d.seed), 0, 0
}

func (d *xxh32) Size() int      { return 4 }
func (d *xxh32) BlockSize() int { return xxhStripe }

func (d *xxh32) Write(b []byte) (int, error) {
	n := len(b)
	d.total += uint64(n)
	if d.held > 0 {
		c := copy(d.buf[d.held:], b)
		d.held += c
		if d.held < xxhStripe {
			return n, nil
		}
		d.lanes = d.lanes.consume(d.buf[:])
		b = b[c:]
	}
	d.lanes = d.lanes.consume(b)
	d.held = copy(d.buf[:], b[len(b)&^(xxhStripe-1):])
	return n, nil
}

func (d *xxh32) Sum32() uint32 {
	h := d.seed + xxhPrime5
	if d.total >= xxhStripe {
		h = d.lanes.converge()
	}
	return xxhAvalanche(xxhTail(h+uint32(d.total), d.buf[:d.held]))
}

// Sum appends the hash in the specification's canonical, big-endian form.
func (d *xxh32) Sum(b []byte) []byte { return binary.BigEndian.AppendUint32(b, d.Sum32()) }
