// SPDX-License-Identifier: MIT

package field

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// is compares the name with a key, character by character where bytes do not
// decide: a name that is not UTF-8 reads as if U+FFFD stood there.
func (n name) is(key string, keyIsASCII bool) bool {
	if keyIsASCII && !n.escaped {
		return string(n.text) == key
	}
	var r [utf8.UTFMax]byte
	for text := n.text; len(text) > 0; {
		char, size := nextRune(text)
		text = text[size:]
		want := r[:utf8.EncodeRune(r[:], char)]
		if len(key) < len(want) || key[:len(want)] != string(want) {
			return false
		}
		key = key[len(want):]
	}
	return key == ""
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

const escapedRune = len(`\u0000`)

// appendText appends what a string's text in a document stands for. The text
// has been validated.
func appendText(dst, text []byte) []byte {
	for len(text) > 0 {
		run := bytes.IndexByte(text, '\\')
		if run < 0 {
			run = len(text)
		}
		dst = appendUTF8(dst, text[:run])
		if text = text[run:]; len(text) > 0 {
			r, size := nextRune(text)
			dst = utf8.AppendRune(dst, r)
			text = text[size:]
		}
	}
	return dst
}

// appendUTF8 appends text with each byte that is not UTF-8 replaced by U+FFFD.
func appendUTF8(dst, text []byte) []byte {
	if utf8.Valid(text) {
		return append(dst, text...)
	}
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		dst = utf8.AppendRune(dst, r)
		text = text[size:]
	}
	return dst
}

// nextRune decodes the first character of a string's text in a document. What
// is not UTF-8, and half a surrogate pair, gives U+FFFD.
func nextRune(text []byte) (r rune, size int) {
	if text[0] != '\\' {
		return utf8.DecodeRune(text)
	}
	switch c := text[1]; c {
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
		return nextEscapedRune(text)
	default: // a quote, backslash or slash
		return rune(c), 2
	}
}

func nextEscapedRune(text []byte) (r rune, size int) {
	r = hex4(text[2:])
	if !utf16.IsSurrogate(r) {
		return r, escapedRune
	}
	if next := text[escapedRune:]; len(next) >= escapedRune && next[0] == '\\' && next[1] == 'u' {
		if both := utf16.DecodeRune(r, hex4(next[2:])); both != utf8.RuneError {
			return both, 2 * escapedRune
		}
	}
	return utf8.RuneError, escapedRune
}
