// SPDX-License-Identifier: MIT

package field

import (
	"encoding/binary"
	"math/bits"
)

const (
	wordBytes = 8
	ones      = 0x0101010101010101
	highs     = 0x8080808080808080
)

// skipWord skips the literal at i.
func skipWord(doc []byte, i int) (int, Code) {
	switch doc[i] {
	case 't':
		return skipLiteral(doc, i, "true")
	case 'f':
		return skipLiteral(doc, i, "false")
	case 'n':
		return skipLiteral(doc, i, "null")
	}
	return i, BadValue
}

func skipLiteral(doc []byte, i int, word string) (int, Code) {
	if rest := doc[i:]; len(rest) < len(word) || string(rest[:len(word)]) != word {
		return i, BadLiteral
	}
	return i + len(word), 0
}

func skipNumber(doc []byte, i int) (int, Code) {
	if doc[i] == '-' {
		i++
	}
	whole := i
	if i = skipDigits(doc, i); i == whole {
		return i, BadNumber
	}
	if doc[whole] == '0' && i > whole+1 {
		return whole + 1, BadNumber // a leading zero
	}
	if i < len(doc) && doc[i] == '.' {
		fraction := i + 1
		if i = skipDigits(doc, fraction); i == fraction {
			return i, BadNumber
		}
	}
	if i < len(doc) && doc[i]|0x20 == 'e' {
		if i++; i < len(doc) && (doc[i] == '+' || doc[i] == '-') {
			i++
		}
		exponent := i
		if i = skipDigits(doc, exponent); i == exponent {
			return i, BadNumber
		}
	}
	return i, 0
}

func skipDigits(doc []byte, i int) int {
	for i < len(doc) && isDigit(doc[i]) {
		i++
	}
	return i
}

func isDigit(c byte) bool { return c-'0' <= 9 }

// scanString reads the string whose opening quote is at i.
func scanString(doc []byte, i int) (end int, escaped bool, code Code) {
	for i++; ; {
		for i+wordBytes <= len(doc) {
			hit := stringStops(binary.LittleEndian.Uint64(doc[i:]))
			if hit != 0 {
				if i += bits.TrailingZeros64(hit) / 8; doc[i] == '"' {
					return i + 1, escaped, 0 // only for speed
				}
				break
			}
			i += wordBytes
		}
		for i < len(doc) && doc[i] != '"' && doc[i] != '\\' && doc[i] >= ' ' {
			i++
		}
		switch {
		case i == len(doc):
			return i, escaped, BadEnd
		case doc[i] == '"':
			return i + 1, escaped, 0
		case doc[i] != '\\':
			return i, escaped, BadString
		}
		escaped = true
		if i, code = skipEscape(doc, i); code != 0 {
			return i, escaped, code
		}
	}
}

// stringStops marks (in the top bit of each byte) the quotes, backslashes and
// control characters of w. Only the lowest mark counts: a byte above it may be
// marked wrongly.
func stringStops(w uint64) uint64 {
	control := w - ones*' '
	quote := (w ^ ones*'"') - ones
	slash := (w ^ ones*'\\') - ones
	return (control | quote | slash) &^ w & highs
}

// skipEscape skips the escape whose backslash is at i.
func skipEscape(doc []byte, i int) (int, Code) {
	if i+1 == len(doc) {
		return i + 1, BadEnd
	}
	switch doc[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2, 0
	case 'u':
		if i+6 > len(doc) {
			return len(doc), BadEnd
		}
		if hex4(doc[i+2:]) < 0 {
			return i + 2, BadString
		}
		return i + 6, 0
	}
	return i + 1, BadString
}

// hex4 reads four hexadecimal digits; negative when they are not.
func hex4(b []byte) rune {
	var r rune
	for _, c := range b[:4] {
		switch {
		case isDigit(c):
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}
