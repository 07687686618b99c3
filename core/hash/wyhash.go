// SPDX-License-Identifier: MIT

package hash

import (
	"encoding/binary"
	"hash"
	"math/bits"
)

// Default secret of wyhash final version 4.3. Earlier finals had another one
// and give other values for every input.
const (
	wySecret0 uint64 = 0x2d358dccaa6c78a5
	wySecret1 uint64 = 0x8bb84b93962eacc9
	wySecret2 uint64 = 0x4b33a62ed433d4a3
	wySecret3 uint64 = 0x4d5a2da51de1aa47

	wyBlock = 48 // bytes the three lanes take in one step
	wyTail  = 16 // the last bytes, hashed again at the end of long input
)

// Wy returns the wyhash (final version 4.3, default secret) of b.
func Wy(b []byte, seed uint64) uint64 {
	n := uint64(len(b))
	seed = wySeed(seed)
	if len(b) <= wyTail {
		x, y := wyShort(b)
		return wyFinish(x, y, seed, n)
	}
	last := b[len(b)-wyTail:]
	if len(b) >= wyBlock {
		var lanes wyLanes
		lanes, b = wyLanes{seed, seed, seed}.consume(b)
		seed = lanes.converge()
	}
	return wyFinish(wyRead8(last), wyRead8(last[8:]), wyRest(b, seed), n)
}

// wyLanes is the part of the state that whole blocks flow through.
type wyLanes struct{ s0, s1, s2 uint64 } // no array, which would not go in registers

// consume mixes the whole blocks of b in and returns what is left over.
func (l wyLanes) consume(b []byte) (wyLanes, []byte) {
	s0, s1, s2 := l.s0, l.s1, l.s2
	for ; len(b) >= 2*wyBlock; b = b[2*wyBlock:] { // only for speed
		p := (*[2 * wyBlock]byte)(b)
		s0 = wyMix(wyRead8(p[0:8])^wySecret1, wyRead8(p[8:16])^s0)
		s1 = wyMix(wyRead8(p[16:24])^wySecret2, wyRead8(p[24:32])^s1)
		s2 = wyMix(wyRead8(p[32:40])^wySecret3, wyRead8(p[40:48])^s2)
		s0 = wyMix(wyRead8(p[48:56])^wySecret1, wyRead8(p[56:64])^s0)
		s1 = wyMix(wyRead8(p[64:72])^wySecret2, wyRead8(p[72:80])^s1)
		s2 = wyMix(wyRead8(p[80:88])^wySecret3, wyRead8(p[88:96])^s2)
	}
	for ; len(b) >= wyBlock; b = b[wyBlock:] {
		p := (*[wyBlock]byte)(b)
		s0 = wyMix(wyRead8(p[0:8])^wySecret1, wyRead8(p[8:16])^s0)
		s1 = wyMix(wyRead8(p[16:24])^wySecret2, wyRead8(p[24:32])^s1)
		s2 = wyMix(wyRead8(p[32:40])^wySecret3, wyRead8(p[40:48])^s2)
	}
	return wyLanes{s0, s1, s2}, b
}

func (l wyLanes) converge() uint64 { return l.s0 ^ l.s1 ^ l.s2 }

func wySeed(seed uint64) uint64 { return seed ^ wyMix(seed^wySecret0, wySecret1) }

// wyShort reads up to 16 bytes into two words; the reads may overlap.
func wyShort(b []byte) (x, y uint64) {
	n := len(b)
	switch {
	case n >= 4:
		step := n >> 3 << 2 // 0 for 4…7 bytes, 4 for 8…15, 8 for 16
		x = wyRead4(b)<<32 | wyRead4(b[step:])
		y = wyRead4(b[n-4:])<<32 | wyRead4(b[n-4-step:])
	case n > 0:
		x = uint64(b[0])<<16 | uint64(b[n>>1])<<8 | uint64(b[n-1])
	}
	return x, y
}

// wyRest mixes in what the blocks left, except for the last 1…16 bytes.
func wyRest(b []byte, seed uint64) uint64 {
	for len(b) > wyTail {
		seed = wyMix(wyRead8(b)^wySecret1, wyRead8(b[8:])^seed)
		b = b[wyTail:]
	}
	return seed
}

func wyFinish(x, y, seed, n uint64) uint64 {
	hi, lo := bits.Mul64(x^wySecret1, y^seed)
	return wyMix(lo^wySecret0^n, hi^wySecret1)
}

func wyMix(x, y uint64) uint64 {
	hi, lo := bits.Mul64(x, y)
	return hi ^ lo
}

func wyRead8(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }
func wyRead4(b []byte) uint64 { return uint64(binary.LittleEndian.Uint32(b)) }

// wyStream is the streaming state. Its one owner calls it.
//
// The final step reads the last 16 bytes again, wherever the blocks ended, so
// the bytes in front of the buffered ones are kept with them.
type wyStream struct {
	seed  uint64 // as given
	lanes wyLanes
	total uint64
	buf   [wyTail + wyBlock]byte // the 16 bytes before, then what is held
	held  int                    // bytes held after them, always less than a block
}

// NewWy returns a streaming Wy that starts with seed.
func NewWy(seed uint64) hash.Hash64 {
	d := &wyStream{seed: seed}
	d.Reset()
	return d
}

func (d *wyStream) Reset() {
	s := wySeed(d.seed)
	d.lanes, d.total, d.held = wyLanes{s, s, s}, 0, 0
}

func (d *wyStream) Size() int      { return 8 }
func (d *wyStream) BlockSize() int { return wyBlock }

func (d *wyStream) Write(b []byte) (int, error) {
	n := len(b)
	d.total += uint64(n)
	if d.held > 0 {
		c := copy(d.buf[wyTail+d.held:], b)
		d.held += c
		if d.held < wyBlock {
			return n, nil
		}
		d.lanes, _ = d.lanes.consume(d.buf[wyTail:])
		copy(d.buf[:wyTail], d.buf[wyBlock:])
		b = b[c:]
	}
	var rest []byte
	d.lanes, rest = d.lanes.consume(b)
	if eaten := len(b) - len(rest); eaten > 0 {
		copy(d.buf[:wyTail], b[eaten-wyTail:eaten])
	}
	d.held = copy(d.buf[wyTail:], rest)
	return n, nil
}

func (d *wyStream) Sum64() uint64 {
	end := wyTail + d.held
	held := d.buf[wyTail:end]
	if d.total <= wyTail {
		x, y := wyShort(held)
		return wyFinish(x, y, wySeed(d.seed), d.total)
	}
	seed := wySeed(d.seed)
	if d.total >= wyBlock {
		seed = d.lanes.converge()
	}
	last := d.buf[end-wyTail : end]
	return wyFinish(wyRead8(last), wyRead8(last[8:]), wyRest(held, seed), d.total)
}

// Sum appends the hash in big-endian form.
func (d *wyStream) Sum(b []byte) []byte { return binary.BigEndian.AppendUint64(b, d.Sum64()) }
