// SPDX-License-Identifier: MIT

package accesslog

import "encoding/binary"

const (
	// valueMax is how much of a value gets into a line.
	valueMax = 2048
	// cutMark stands for the rest.
	cutMark = "..."
)

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// appendValue appends a value, or a dash for none.
func appendValue(dst, value []byte) []byte {
	if len(value) == 0 {
		return append(dst, '-')
	}
	return appendText8(dst, value)
}

// appendText8 appends value with everything escaped that is not printable ASCII,
// and what could end a quoted string.
func appendText8(dst, value []byte) []byte {
	whole := len(value)
	value = value[:min(whole, valueMax)]
	for len(value) > 0 {
		n := cleanPrefix(value)
		dst = append(dst, value[:n]...)
		if value = value[n:]; len(value) > 0 {
			dst = appendEscape(dst, value[0])
			value = value[1:]
		}
	}
	if whole > valueMax {
		dst = append(dst, cutMark...)
	}
	return dst
}

// cleanPrefix counts the bytes that can be copied.
func cleanPrefix(b []byte) int {
	i := 0
	for ; len(b)-i >= 8; i += 8 { // only for speed
		if isSpecial(binary.LittleEndian.Uint64(b[i:])) {
			break
		}
	}
	for i < len(b) && b[i] >= 0x20 && b[i] < 0x7f && b[i] != '"' && b[i] != '\\' {
		i++
	}
	return i
}

// isSpecial reports whether one of the eight bytes of w has to be escaped.
func isSpecial(w uint64) bool {
	quote, slash, del := w^'"'*ones, w^'\\'*ones, w^0x7f*ones
	return (w|(w-0x20*ones)&^w|(quote-ones)&^quote|(slash-ones)&^slash|(del-ones)&^del)&highs != 0
}

func appendEscape(dst []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	if c == '"' || c == '\\' {
		return append(dst, '\\', c)
	}
	return append(dst, '\\', 'x', hex[c>>4], hex[c&15])
}
