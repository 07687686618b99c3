// SPDX-License-Identifier: MIT

package escape

import (
	"math/bits"
	"unicode/utf8"
)

// Patterns of a little-endian word that begins with whole runes.
const (
	// Two-byte runes: 110xxxxx 10xxxxxx. A leading byte with none of the bits of
	// twoLead is overlong (c0, c1); adding twoCarry carries for all others.
	twoMask  = 0xc0e0c0e0c0e0c0e0
	twoBits  = 0x80c080c080c080c0
	twoLead  = 0x001e001e001e001e
	twoCarry = 0x00fe00fe00fe00fe
	twoWant  = 0x0100010001000100

	// Three-byte runes: 1110xxxx 10xxxxxx 10xxxxxx.
	threeMask = 0x0000c0c0f0c0c0f0
	threeBits = 0x00008080e08080e0
	threeOne  = 0xffffff // the bits of the first one

	// Leading bytes e0 and ed (by their low half) ask for more than the
	// pattern: overlong forms and surrogates. e2 begins U+2028 and U+2029.
	threePlain = uint16(0xffff &^ (1<<0x0 | 1<<0xd))
	threeHTML  = uint16(threePlain &^ (1 << 0x2))

	// Four-byte runes: 11110xxx 10xxxxxx 10xxxxxx 10xxxxxx. Of those that
	// begin with f0, the second byte must be 90 or more.
	fourMask = 0xc0c0c0ff
	fourBits = 0x808080f0
	fourLong = 0x3000
)

// fuseRunes copies the run of runes outside ASCII that begins src to out and
// replaces what is not UTF-8. It stops at the first ASCII byte, at the end of
// src, behind the rune that reaches upTo, or when out must grow before the next step.
func fuseRunes(out, src []byte, upTo int, m mode) (n, i int) {
	threes := threePlain
	if m == html {
		threes = threeHTML
	}
	upTo = min(upTo, len(src))
	for i < upTo && src[i] >= utf8.RuneSelf && len(out)-n >= len(src)-i+room {
		if len(src)-i >= wordBytes {
			w := load(src[i:])
			store(out[n:], w)
			if size := wholeRunes(w, threes); size > 0 { // only for speed
				n += size
				i += size
				continue
			}
		}
		wrote, read := storeRune(out[n:], src[i:], m)
		n += wrote
		i += read
	}
	return n, i
}

// wholeRunes counts the leading bytes of w that are surely whole runes which
// need no escape; 0 when it cannot tell. threes says which leading bytes of
// three-byte runes can be judged by the pattern alone.
func wholeRunes(w uint64, threes uint16) int {
	if w&0x20 == 0 {
		bad := (w^twoBits)&twoMask | (w&twoLead+twoCarry)&twoWant ^ twoWant
		return bits.TrailingZeros64(bad) / 16 * 2
	}
	if bad := (w ^ threeBits) & threeMask; bad&threeOne == 0 && threes>>(w&15)&1 != 0 {
		if bad == 0 && threes>>(w>>24&15)&1 != 0 {
			return 6
		}
		return 3
	}
	if w&fourMask == fourBits && w&fourLong != 0 {
		return 4
	}
	return 0
}

// storeRune stores the rune that begins src, escaped when it has to be.
func storeRune(out, src []byte, m mode) (wrote, read int) {
	r, size := utf8.DecodeRune(src)
	switch {
	case r == utf8.RuneError && size == 1:
		return copy(out, `\ufffd`), 1
	case m == html && r == '\u2028':
		return copy(out, `\u2028`), size
	case m == html && r == '\u2029':
		return copy(out, `\u2029`), size
	}
	return copy(out, src[:size]), size
}
