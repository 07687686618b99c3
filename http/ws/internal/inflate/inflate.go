// SPDX-License-Identifier: MIT

// Package inflate decompresses DEFLATE (RFC 1951) as its bytes arrive, cut anywhere.
//
// It appends to a buffer of its caller, and that buffer is its window: it keeps
// nothing but tables, needs no second copy, and can be put aside between any two
// bytes. What it may append is bounded at every byte, so data that grows beyond a
// limit costs no more than the limit.
//
// It reads what permessage-deflate (RFC 7692) calls a stream: blocks follow each
// other, and one that is marked as final is followed by a byte border and the next.
package inflate

import (
	"encoding/binary"
	"errors"
)

// The errors of Append. They are final.
var (
	ErrDamaged = errors.New("inflate: this is no deflate data")
	ErrTooLong = errors.New("inflate: the data is longer than the bound")
)

// What an Inflater expects next.
type state uint8

const (
	atBlock   state = iota // the three bits of a block
	atStored               // the length of a stored block
	inStored               // its bytes
	atDynamic              // how many codes there are
	atOrder                // the lengths of the codes of lengths
	atLengths              // the lengths of the codes
	inCodes                // a literal, a match or the end
)

// An Inflater decompresses one stream. The zero value is at its beginning.
type Inflater struct {
	bits  uint64 // read and not used, the lowest first
	n     uint   // how many of them count
	state state
	final bool // the block is the last one
	left  int  // bytes of a stored block
	err   error

	literals  *code // of the block
	distances *code
	lengths   [literalsMax + distancesMax]uint8 // of the codes that are being read
	nlit      int
	ndist     int
	norder    int
	have      int // of lengths, or of the order
	own       [2]code
}

// Reset begins a new stream.
func (z *Inflater) Reset() {
	z.bits, z.n, z.state, z.final, z.left, z.err = 0, 0, atBlock, false, 0, nil
}

// IsBetween reports whether all that came in is a whole number of blocks.
func (z *Inflater) IsBetween() bool { return z.state == atBlock && z.n == 0 && z.err == nil }

// Append appends what src decompresses to, as far as it goes. dst has what the
// stream gave before, as much of it as matches may refer to. len(dst) does not grow
// beyond bound. An error comes with what is good ahead of it.
func (z *Inflater) Append(dst, src []byte, bound int) ([]byte, error) {
	for more := true; more && z.err == nil; {
		switch z.state {
		case inStored:
			dst, src, more = z.stored(dst, src, bound)
		case inCodes:
			dst, src, more = z.codes(dst, src, bound)
		default:
			src = z.fill(src)
			more = z.step()
		}
	}
	return dst, z.err
}

// fill takes as many bytes as have room in bits.
func (z *Inflater) fill(src []byte) []byte {
	for z.n <= 56 && len(src) > 0 {
		z.bits |= uint64(src[0]) << z.n
		z.n += 8
		src = src[1:]
	}
	return src
}

// take uses up k bits, which have to be there.
func (z *Inflater) take(k uint) uint64 {
	v := z.bits & (1<<k - 1)
	z.bits >>= k
	z.n -= k
	return v
}

// fail ends the stream.
func (z *Inflater) fail(err error) bool {
	z.err = err
	return false
}

// step reads one thing in front of the content of a block; false: it needs more
// bytes, or has failed.
func (z *Inflater) step() bool {
	switch z.state {
	case atBlock:
		return z.n >= 3 && z.beginBlock()
	case atStored:
		return z.n >= 32 && z.beginStored()
	case atDynamic:
		return z.n >= 14 && z.beginDynamic()
	case atOrder:
		return z.n >= 3 && z.readOrder()
	default:
		return z.readLength()
	}
}

func (z *Inflater) beginBlock() bool {
	z.final = z.take(1) == 1
	switch z.take(2) {
	case 0:
		z.take(z.n % 8)
		z.state = atStored
	case 1:
		fixed := fixedCodes()
		z.literals, z.distances = &fixed[0], &fixed[1]
		z.state = inCodes
	case 2:
		z.state = atDynamic
	default:
		return z.fail(ErrDamaged)
	}
	return true
}

// endBlock is the end of a block's content.
func (z *Inflater) endBlock() {
	if z.final {
		z.take(z.n % 8)
	}
	z.state = atBlock
}

func (z *Inflater) beginStored() bool {
	size, check := z.take(16), z.take(16)
	if size != ^check&0xffff {
		return z.fail(ErrDamaged)
	}
	z.left, z.state = int(size), inStored
	return true
}

// stored copies bytes; the first ones may be in bits.
func (z *Inflater) stored(dst, src []byte, bound int) ([]byte, []byte, bool) {
	for z.left > 0 && z.n >= 8 {
		if len(dst) >= bound {
			return dst, src, z.fail(ErrTooLong)
		}
		dst = append(dst, byte(z.take(8)))
		z.left--
	}
	n := min(z.left, len(src))
	if n > bound-len(dst) {
		return append(dst, src[:bound-len(dst)]...), nil, z.fail(ErrTooLong)
	}
	dst, src = append(dst, src[:n]...), src[n:]
	if z.left -= n; z.left > 0 {
		return dst, src, false
	}
	z.endBlock()
	return dst, src, true
}

// codes decodes literals and matches; false: it needs more bytes, or has failed.
// A match is taken whole or not at all: it has at most 48 bits.
func (z *Inflater) codes(dst, src []byte, bound int) ([]byte, []byte, bool) {
	for {
		if len(src) >= 8 {
			z.bits |= binary.LittleEndian.Uint64(src) << z.n
			src = src[(63-z.n)/8:]
			z.n |= 56
		} else {
			src = z.fill(src)
		}
		bits, n := z.bits, z.n
		symbol, used := z.literals.decode(bits, n)
		if used == 0 {
			return dst, src, z.missing(n)
		}
		bits, n = bits>>used, n-used
		if symbol < endOfBlock {
			if len(dst) >= bound {
				return dst, src, z.fail(ErrTooLong)
			}
			dst = append(dst, byte(symbol))
			z.bits, z.n = bits, n
			continue
		}
		if symbol == endOfBlock {
			z.bits, z.n = bits, n
			z.endBlock()
			return dst, src, true
		}
		m, used, v := z.match(symbol, bits, n)
		switch {
		case v != nil:
			return dst, src, z.fail(v)
		case used > n:
			return dst, src, false
		case m.distance > len(dst):
			return dst, src, z.fail(ErrDamaged)
		case m.length > bound-len(dst):
			return dst, src, z.fail(ErrTooLong)
		}
		z.bits, z.n = bits>>used, n-used
		dst = appendMatch(dst, m)
	}
}

// missing is the end of codes where no code was found in n bits.
func (z *Inflater) missing(n uint) bool {
	if n >= codeMax {
		z.err = ErrDamaged
	}
	return false
}

// A match repeats what came before.
type match struct{ length, distance int }

// match reads the rest of a match; used is more than n when that is not there.
func (z *Inflater) match(symbol uint, bits uint64, n uint) (m match, used uint, err error) {
	if symbol > lastLength {
		return m, 0, ErrDamaged
	}
	l := lengthOf[symbol-endOfBlock-1]
	m.length = int(l.base) + int(bits&(1<<l.extra-1))
	used = uint(l.extra)
	if used > n {
		return m, used, nil
	}
	symbol, k := z.distances.decode(bits>>used, n-used)
	switch {
	case k == 0 && n-used >= codeMax, symbol >= distancesMax:
		return m, 0, ErrDamaged
	case k == 0:
		return m, n + 1, nil
	}
	used += k
	d := distanceOf[symbol]
	m.distance = int(d.base) + int(bits>>used&(1<<d.extra-1))
	return m, used + uint(d.extra), nil
}

// appendMatch copies, which may read what it writes.
func appendMatch(dst []byte, m match) []byte {
	from := len(dst) - m.distance
	for m.length > m.distance {
		dst = append(dst, dst[from:]...)
		m.length -= m.distance
		m.distance *= 2
	}
	return append(dst, dst[from:from+m.length]...)
}
