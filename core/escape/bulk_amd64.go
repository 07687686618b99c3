// SPDX-License-Identifier: MIT

//go:build !purego

package escape

import "m0serve.dev/core/internal/cpu"

const (
	// bulkStep is how much of the text is left to fuse where bulk stops: more
	// than a block, so that bulk never stops at the same place twice.
	bulkStep = 64

	// bulkMin is the shortest text the assembly takes.
	bulkMin = 40
)

// useAVX2 is what the processor says; only tests change it.
var useAVX2 = cpu.HasAVX2

// marks says, in the form the assembly reads, what is escaped but controls and
// backslashes.
type marks struct {
	separators bool // U+2028 and U+2029
	_          [15]byte
	byLow      [16]byte    // each byte at the place of its own low half
	wide       [6][16]byte // space, backslash, orQuote, quote, orAngle, angle
}

// One for each mode. SSE2 finds a byte b by b|orQuote == quote or b|orAngle == angle.
var marksOf = [2]marks{
	plain: makeMarks(false, "\"", 0, '"', 0, '"'),
	html:  makeMarks(true, "\"&<>", '"'^'&', '"'|'&', '<'^'>', '<'|'>'),
}

func makeMarks(separators bool, bytes string, orQuote, quote, orAngle, angle byte) marks {
	m := marks{separators: separators}
	for i := range m.byLow {
		m.byLow[i] = 0xff // equals no ASCII byte
	}
	for i := range len(bytes) {
		m.byLow[bytes[i]&15] = bytes[i]
	}
	for i, c := range [6]byte{' ', '\\', orQuote, quote, orAngle, angle} {
		for j := range m.wide[i] {
			m.wide[i][j] = c
		}
	}
	return m
}

// bulk copies the beginning of src to out and escapes it on the way, as far as the
// assembly goes: to the end, or to a place where fuse must go on. It never stops
// inside a rune that is whole. There is room for a step in out.
func bulk(out, src []byte, m mode) (wrote, read int) {
	if len(src) < bulkMin {
		return copyClean(out, src, m)
	}
	if useAVX2 {
		wrote, read = bulkAVX2(&out[0], len(out), &src[0], len(src), escapes(m), &marksOf[m&1])
		if half := unfinished(src[:read]); half > 0 {
			return wrote - half, read - half
		}
		return wrote, read
	}
	return bulkSSE2(&out[0], len(out), &src[0], len(src), escapes(m), &marksOf[m&1])
}

// unfinished counts the bytes at the end of text that begin a rune and do not end
// it. The text before them is UTF-8.
func unfinished(text []byte) int {
	n := len(text)
	switch {
	case n >= 1 && text[n-1] >= 0xc0:
		return 1
	case n >= 2 && text[n-2] >= 0xe0:
		return 2
	case n >= 3 && text[n-3] >= 0xf0:
		return 3
	}
	return 0
}

// storeShort stores a text of 8...32 bytes and its quotes and tells whether it was
// clean. When not, what it stored counts for nothing.
func storeShort(out, src []byte, m mode) bool {
	return shortSSE2(&out[0], &src[0], len(src), &marksOf[m&1])
}

//go:noescape
func bulkAVX2(out *byte, free int, src *byte, n int, t *asciiTable, m *marks) (wrote, read int)

//go:noescape
func bulkSSE2(out *byte, free int, src *byte, n int, t *asciiTable, m *marks) (wrote, read int)

//go:noescape
func shortSSE2(out, src *byte, n int, m *marks) bool
