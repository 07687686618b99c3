// SPDX-License-Identifier: MIT

package wire

import (
	"encoding/binary"
	"math/bits"
)

// The classes of a byte, as bits of class[b].
const (
	isToken  = 1 << iota // tchar, RFC 9110 section 5.6.2
	isPath               // printable, may stand in a path as it is
	isQuery              // printable, may stand in a query
	isHost               // reg-name without comma, RFC 3986 section 3.2.2
	isHex                // hex digit
	isDigit              // decimal digit
	isValue              // field-vchar, SP, HTAB, obs-text: RFC 9110 section 5.5
	isLetter             // A-Z a-z
)

// class is never written after it is built.
var class = buildClasses()

func buildClasses() (t [256]uint8) {
	for c := 0; c < 256; c++ {
		b := byte(c)
		letter := b|0x20 >= 'a' && b|0x20 <= 'z'
		digit := b >= '0' && b <= '9'
		if letter {
			t[b] |= isLetter
		}
		if digit {
			t[b] |= isDigit
		}
		if digit || (b|0x20 >= 'a' && b|0x20 <= 'f') {
			t[b] |= isHex
		}
		if letter || digit || within(b, "!#$%&'*+-.^_`|~") {
			t[b] |= isToken
		}
		if letter || digit || within(b, "-._~!$&'()*+;=") {
			t[b] |= isHost
		}
		if b > 0x20 && b < 0x7f && b != '#' {
			t[b] |= isQuery
			if b != '?' && b != '%' && b != '\\' {
				t[b] |= isPath
			}
		}
		if b >= 0x20 && b != 0x7f || b == '\t' {
			t[b] |= isValue
		}
	}
	return t
}

func within(b byte, set string) bool {
	for i := 0; i < len(set); i++ {
		if set[i] == b {
			return true
		}
	}
	return false
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// valueEnd returns the index of the first byte at or behind i that may not
// stand in a field value, or len(b).
func valueEnd(b []byte, i int) int {
	for len(b)-i >= 16 {
		w := b[i : i+16 : i+16]
		m := controls(binary.LittleEndian.Uint64(w)) & highs
		if m == 0 {
			i += 8
			m = controls(binary.LittleEndian.Uint64(w[8:])) & highs
			if m == 0 {
				i += 8
				continue
			}
		}
		i += bits.TrailingZeros64(m) >> 3
		if class[b[i]]&isValue == 0 {
			return i
		}
		i++
	}
	return span(b, i, isValue)
}

// controls sets the high bit of each byte of x that is below 0x20 or 0x7f; the
// other bits are noise. A carry out of 0xff may mark 0x7e as well, so what is
// marked first is looked up.
func controls(x uint64) uint64 {
	return ((x - 0x20*ones) | (x + ones)) &^ x
}

// nameEnd returns the index of the first byte at or behind i that is no token
// character, or len(b); underscore reports whether one is in between.
func nameEnd(b []byte, i int) (end int, underscore bool) {
	for len(b)-i >= 8 {
		m := notLetters(binary.LittleEndian.Uint64(b[i:]))
		if m == 0 {
			i += 8
			continue
		}
		i += bits.TrailingZeros64(m) >> 3
		if class[b[i]]&isToken == 0 {
			return i, underscore
		}
		underscore = underscore || b[i] == '_'
		i++
	}
	for i < len(b) && class[b[i]]&isToken != 0 {
		underscore = underscore || b[i] == '_'
		i++
	}
	return i, underscore
}

// notLetters sets the high bit, and nothing else, of each byte of x that is
// neither a letter nor a dash.
func notLetters(x uint64) uint64 {
	l := (x | 0x20*ones) &^ highs
	letter := (l + (0x80-'a')*ones) ^ (l + (0x80-'z'-1)*ones)
	d := x ^ '-'*ones
	other := (d&^highs + 0x7f*ones) | d // high bit clear where x is a dash
	return (^letter | x) & other & highs
}

// span returns the index of the first byte at or behind i outside the class.
func span(b []byte, i int, mask uint8) int {
	for i < len(b) && class[b[i]]&mask != 0 {
		i++
	}
	return i
}

// trim cuts spaces and tabs off both ends.
func trim(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t') {
		b = b[:len(b)-1]
	}
	return b
}

// EqualFold reports whether b, a part of a parsed message, is lower in any case.
// lower is letters in lower case, digits and dashes.
func EqualFold(b []byte, lower string) bool {
	if len(b) != len(lower) {
		return false
	}
	for i := range b {
		if b[i]|0x20 != lower[i] {
			return false
		}
	}
	return true
}

// HasToken reports whether the comma-separated list value has the token lower
// in any case.
func HasToken(value []byte, lower string) bool {
	for len(value) > 0 {
		var item []byte
		item, value = nextItem(value)
		if EqualFold(item, lower) {
			return true
		}
	}
	return false
}

// nextItem cuts the first item off a comma-separated list.
func nextItem(list []byte) (item, rest []byte) {
	for i, c := range list {
		if c == ',' {
			return trim(list[:i]), list[i+1:]
		}
	}
	return trim(list), nil
}
