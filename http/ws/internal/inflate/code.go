// SPDX-License-Identifier: MIT

package inflate

import (
	"math/bits"
	"sync"
)

// Numbers of RFC 1951, section 3.2.
const (
	literalsMax  = 286 // codes for literals, the end and lengths
	distancesMax = 30
	endOfBlock   = 256
	lastLength   = 285
	codeMax      = 15 // bits of a code
	ordersMax    = 19 // codes for lengths of codes
)

// quickBits is how long a code may be that is found by one look.
const quickBits = 9

// A code is a set of prefix codes.
type code struct {
	quick   [1 << quickBits]uint16 // by the next bits: symbol and, in four bits, length
	count   [codeMax + 1]uint16    // codes of a length
	symbols [288]uint16            // in the order of their codes
}

// build makes the code of which every symbol's length is known; 0: it has none. A
// set in which codes are missing is refused, unless it has one code or none.
func (c *code) build(lengths []uint8) bool {
	c.count = [codeMax + 1]uint16{}
	longest := uint8(0)
	for _, n := range lengths {
		c.count[n]++
		longest = max(longest, n)
	}
	c.count[0] = 0
	var next, place [codeMax + 1]uint16 // next code of a length, and its symbol's place
	free, total := 1, uint16(0)
	for n := 1; n <= codeMax; n++ {
		free = free*2 - int(c.count[n])
		if free < 0 {
			return false
		}
		next[n] = (next[n-1] + c.count[n-1]) << 1
		place[n] = total
		total += c.count[n]
	}
	if free > 0 && longest > 1 {
		return false
	}
	clear(c.quick[:])
	for symbol, n := range lengths {
		if n == 0 {
			continue
		}
		c.symbols[place[n]] = uint16(symbol)
		place[n]++
		turned := bits.Reverse16(next[n]) >> (16 - n)
		next[n]++
		if n <= quickBits {
			for i := int(turned); i < len(c.quick); i += 1 << n {
				c.quick[i] = uint16(symbol)<<4 | uint16(n)
			}
		}
	}
	return true
}

// decode finds the code at the start of n bits; used is 0 when there is none, or it
// is not whole.
func (c *code) decode(b uint64, n uint) (symbol, used uint) {
	if e := c.quick[b&(1<<quickBits-1)]; e != 0 {
		if used = uint(e & 15); used > n {
			return 0, 0
		}
		return uint(e >> 4), used
	}
	return c.decodeLong(b, n)
}

// decodeLong goes through the lengths one by one.
func (c *code) decodeLong(b uint64, n uint) (symbol, used uint) {
	at, first, place := 0, 0, 0
	for used = 1; used <= min(n, codeMax); used++ {
		at |= int(b & 1)
		b >>= 1
		count := int(c.count[used])
		if at-first < count {
			return uint(c.symbols[place+at-first]), used
		}
		place += count
		first = (first + count) << 1
		at <<= 1
	}
	return 0, 0
}

// fixedCodes are those of section 3.2.6.
var fixedCodes = sync.OnceValue(func() *[2]code {
	var lengths [288]uint8
	for i := range lengths {
		switch {
		case i < 144, i >= 280:
			lengths[i] = 8
		case i < 256:
			lengths[i] = 9
		default:
			lengths[i] = 7
		}
	}
	var fixed [2]code
	fixed[0].build(lengths[:])
	for i := range lengths[:32] {
		lengths[i] = 5
	}
	fixed[1].build(lengths[:32])
	return &fixed
})

// A span is what a symbol says with extra bits behind it.
type span struct {
	base  uint16
	extra uint8
}

// The spans of sections 3.2.5: of the symbols from 257 on, and of distances.
var (
	lengthOf   = lengthSpans()
	distanceOf = distanceSpans()
)

func lengthSpans() (spans [lastLength - endOfBlock]span) {
	base := uint16(3)
	for i := range spans {
		extra := uint8(max(0, i/4-1))
		spans[i] = span{base, extra}
		base += 1 << extra
	}
	spans[len(spans)-1] = span{258, 0}
	return spans
}

func distanceSpans() (spans [distancesMax]span) {
	base := uint16(1)
	for i := range spans {
		extra := uint8(max(0, i/2-1))
		spans[i] = span{base, extra}
		base += 1 << extra
	}
	return spans
}
