// SPDX-License-Identifier: MIT

package ws

import "unicode/utf8"

// A textCheck checks UTF-8 that arrives in pieces (RFC 3629). Between two pieces
// it remembers what the next byte of an unfinished character may be.
type textCheck struct {
	need      byte // bytes that the character still needs
	low, high byte // bounds of the next one
}

// isWhole reports whether no character is unfinished.
func (t *textCheck) isWhole() bool { return t.need == 0 }

// write takes the next piece; false as soon as no continuation can make it text.
func (t *textCheck) write(b []byte) bool {
	for t.need > 0 && len(b) > 0 {
		if !t.step(b[0]) {
			return false
		}
		b = b[1:]
	}
	whole := len(b) - unfinished(b)
	if !utf8.Valid(b[:whole]) {
		return false
	}
	for _, c := range b[whole:] {
		if !t.step(c) {
			return false
		}
	}
	return true
}

// unfinished is how many bytes at the end of b begin a character that needs more.
func unfinished(b []byte) int {
	for n := 1; n <= min(3, len(b)); n++ {
		switch c := b[len(b)-n]; {
		case c < 0x80:
			return 0
		case c >= 0xf0 && n < 4, c >= 0xe0 && n < 3, c >= 0xc0 && n < 2:
			return n
		case c >= 0xc0:
			return 0
		}
	}
	return 0
}

// step takes one byte. The bounds of a second byte rule out overlong forms,
// surrogates and what lies beyond U+10FFFF.
func (t *textCheck) step(c byte) bool {
	if t.need > 0 {
		if c < t.low || c > t.high {
			return false
		}
		t.need--
		t.low, t.high = 0x80, 0xbf
		return true
	}
	t.low, t.high = 0x80, 0xbf
	switch {
	case c < 0x80:
	case c < 0xc2:
		return false
	case c < 0xe0:
		t.need = 1
	case c < 0xf0:
		t.need = 2
	case c < 0xf5:
		t.need = 3
	default:
		return false
	}
	switch c {
	case 0xe0:
		t.low = 0xa0
	case 0xed:
		t.high = 0x9f
	case 0xf0:
		t.low = 0x90
	case 0xf4:
		t.high = 0x8f
	}
	return true
}
