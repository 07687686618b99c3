// SPDX-License-Identifier: MIT

package grip

import (
	"bytes"
	"iter"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// The functions of this file walk through JSON that json.Valid has accepted, in
// one pass for each level, without a tree.

// skipSpace returns the index of the first byte at or behind i that is no blank.
func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the index behind the string that opens at i.
func skipString(b []byte, i int) int {
	for i++; ; i++ {
		i += bytes.IndexByte(b[i:], '"')
		slashes := 0
		for b[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i + 1
		}
	}
}

// skipValue returns the index behind the value that opens at i.
func skipValue(b []byte, i int) int {
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		return skipNested(b, i)
	}
	for i < len(b) && b[i] != ',' && b[i] != '}' && b[i] != ']' && b[i] > ' ' {
		i++
	}
	return i
}

func skipNested(b []byte, i int) int {
	for depth := 0; ; {
		switch b[i] {
		case '"':
			i = skipString(b, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
}

// elements goes through the values of the list or the object raw; in an object
// names and values take turns.
func elements(raw []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for i := skipSpace(raw, 1); raw[i] != ']' && raw[i] != '}'; {
			end := skipValue(raw, i)
			if !yield(raw[i:end:end]) {
				return
			}
			if i = skipSpace(raw, end); raw[i] == ',' || raw[i] == ':' {
				i = skipSpace(raw, i+1)
			}
		}
	}
}

// unquote returns the text of the string raw, quotes included. As everywhere in
// Go, what is no UTF-8 or half a surrogate pair reads as U+FFFD.
func unquote(raw []byte) []byte {
	text := raw[1 : len(raw)-1]
	if bytes.IndexByte(text, '\\') < 0 && utf8.Valid(text) {
		return text
	}
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		n := bytes.IndexByte(text, '\\')
		if n < 0 {
			n = len(text)
		}
		if n > 0 {
			out = appendUTF8(out, text[:n])
			text = text[n:]
			continue
		}
		out, text = appendEscape(out, text)
	}
	return out
}

// appendEscape appends what the escape at the start of text stands for.
func appendEscape(out, text []byte) (longer, rest []byte) {
	c := text[1]
	switch c {
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	case 'n':
		c = '\n'
	case 'r':
		c = '\r'
	case 't':
		c = '\t'
	case 'u':
		r, n := codePoint(text)
		return utf8.AppendRune(out, r), text[n:]
	}
	return append(out, c), text[2:]
}

// codePoint reads \uXXXX, or two of them that are a pair.
func codePoint(text []byte) (r rune, n int) {
	const size = len(`\uXXXX`)
	if r = hexRune(text); !utf16.IsSurrogate(r) {
		return r, size
	}
	if rest := text[size:]; len(rest) >= size && rest[0] == '\\' && rest[1] == 'u' {
		if pair := utf16.DecodeRune(r, hexRune(rest)); pair != utf8.RuneError {
			return pair, 2 * size
		}
	}
	return utf8.RuneError, size
}

func hexRune(text []byte) rune {
	n, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	if err != nil {
		panic("grip: an escape that json.Valid accepted has no hex digits")
	}
	return rune(n)
}

// appendUTF8 appends text with every byte that is not of UTF-8 as U+FFFD.
func appendUTF8(out, text []byte) []byte {
	if utf8.Valid(text) {
		return append(out, text...)
	}
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		out, text = utf8.AppendRune(out, r), text[n:]
	}
	return out
}
