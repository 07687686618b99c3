// SPDX-License-Identifier: MIT

package escape

import "unicode/utf8"

// A mode says which characters are escaped beyond what JSON demands.
type mode uint8

const (
	plain mode = iota // nothing
	html              // < > & U+2028 U+2029
)

// lengthShift is where a table entry keeps how many of its bytes count.
const lengthShift = 56

// asciiTable holds, for each ASCII byte, the bytes to write (lowest first) and
// their number in the top byte. A byte that needs no escape stands for itself.
type asciiTable [utf8.RuneSelf]uint64

// The two tables never change.
var (
	plainTable = makeTable("")
	htmlTable  = makeTable("<>&")
)

func makeTable(more string) (t asciiTable) {
	const hex = "0123456789abcdef"
	for c := range t {
		t[c] = entry(string(rune(c)))
		if c < 0x20 {
			t[c] = entry(`\u00` + hex[c>>4:c>>4+1] + hex[c&15:c&15+1])
		}
	}
	for _, c := range []byte(more) {
		t[c] = entry(`\u00` + hex[c>>4:c>>4+1] + hex[c&15:c&15+1])
	}
	for c, text := range map[byte]string{
		'"': `\"`, '\\': `\\`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`,
	} {
		t[c] = entry(text)
	}
	return t
}

func entry(text string) uint64 {
	e := uint64(len(text)) << lengthShift
	for i := range len(text) {
		e |= uint64(text[i]) << (8 * i)
	}
	return e
}

func escapes(m mode) *asciiTable {
	if m == html {
		return &htmlTable
	}
	return &plainTable
}

// needsLook tells whether c cannot be copied as it stands.
func needsLook(c byte, m mode) bool {
	return c >= utf8.RuneSelf || escapes(m)[c]>>lengthShift != 1
}
