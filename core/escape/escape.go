// SPDX-License-Identifier: MIT

package escape

import (
	"math/bits"
	"slices"
	"unicode/utf8"
)

const (
	// wordRoom is what a word of escapes may take, an overhanging word included.
	wordRoom = 64 + wordBytes

	// room is what must be free beyond the rest of the input before a step.
	room = wordRoom

	// shortMax is the longest text that four words cover. Only for speed.
	shortMax = 4 * wordBytes
)

// AppendString appends s to dst as a JSON string.
func AppendString(dst []byte, s string) []byte {
	return appendQuoted(dst, bytesOf(s), plain)
}

// AppendBytes appends b to dst as a JSON string.
func AppendBytes(dst, b []byte) []byte {
	return appendQuoted(dst, b, plain)
}

// AppendHTMLString appends s to dst as a JSON string that is safe inside HTML.
func AppendHTMLString(dst []byte, s string) []byte {
	return appendQuoted(dst, bytesOf(s), html)
}

// AppendHTMLBytes appends b to dst as a JSON string that is safe inside HTML.
func AppendHTMLBytes(dst, b []byte) []byte {
	return appendQuoted(dst, b, html)
}

func appendQuoted(dst, src []byte, m mode) []byte {
	n := len(src)
	if n >= wordBytes && n <= shortMax && cap(dst)-len(dst) >= n+2 { // only for speed
		out := dst[len(dst) : len(dst)+n+2]
		if storeShort(out, src, m) {
			return dst[:len(dst)+n+2]
		}
	}
	return appendLong(dst, src, m)
}

// appendLong is appendQuoted for any text.
func appendLong(dst, src []byte, m mode) []byte {
	n := len(src)
	if cap(dst)-len(dst) < n+1+room {
		dst = slices.Grow(dst, n+n/4+2*room)
	}
	dst = append(dst, '"')
	for len(src) > 0 {
		if cap(dst)-len(dst) < len(src)+room {
			dst = slices.Grow(dst, len(src)+len(src)/4+2*room)
		}
		wrote, read := bulk(dst[len(dst):cap(dst)], src, m)
		dst = dst[:len(dst)+wrote]
		src = src[read:]
		wrote, read = fuse(dst[len(dst):cap(dst)], src, bulkStep, m)
		dst = dst[:len(dst)+wrote]
		src = src[read:]
	}
	return append(dst, '"')
}

// copyClean copies the clean bytes that begin src to out.
func copyClean(out, src []byte, m mode) (wrote, read int) {
	n := copy(out, src[:cleanPrefix(src, m)])
	return n, n
}

// cleanPrefix counts the bytes in front of the first one that needs a look:
// an escape or the beginning of a rune outside ASCII.
func cleanPrefix(src []byte, m mode) int {
	i := 0
	for ; i+4*wordBytes <= len(src); i += 4 * wordBytes { // only for speed
		p := (*[4 * wordBytes]byte)(src[i:])
		if (special(load(p[0:8]), m)|special(load(p[8:16]), m))|
			(special(load(p[16:24]), m)|special(load(p[24:32]), m)) != 0 {
			break
		}
	}
	for ; i+wordBytes <= len(src); i += wordBytes {
		if hit := special(load(src[i:]), m); hit != 0 {
			return i + firstByte(hit)
		}
	}
	if rest := len(src) - i; rest > 0 && len(src) >= wordBytes { // only for speed
		// The last word overlaps bytes already known to be clean.
		if special(load(src[len(src)-wordBytes:]), m) == 0 {
			return len(src)
		}
	}
	for i < len(src) && !needsLook(src[i], m) {
		i++
	}
	return i
}

// fuse copies src to out and escapes it on the way, a word at a time. It stops
// at the end of src, behind the rune that reaches upTo, or earlier when out must
// grow before the next step.
func fuse(out, src []byte, upTo int, m mode) (n, i int) {
	table := escapes(m)
	for len(src)-i >= wordBytes && i < upTo && len(out)-n >= len(src)-i+room {
		w := load(src[i:])
		store(out[n:], w)
		hit := special(w, m)
		switch {
		case hit == 0:
			n += wordBytes
			i += wordBytes
		case w&highs == 0 && hit&(hit-1) != 0:
			n += storeWord(out[n:], w, table)
			i += wordBytes
		default:
			skip := firstByte(hit)
			n += skip
			i += skip
			if c := src[i]; c < utf8.RuneSelf {
				e := table[c]
				store(out[n:], e)
				n += int(e >> lengthShift)
				i++
				continue
			}
			wrote, read := fuseRunes(out[n:], src[i:], upTo-i, m)
			n += wrote
			i += read
		}
	}
	if len(src)-i >= wordBytes {
		return n, i
	}
	for i < len(src) && len(out)-n >= len(src)-i+room {
		wrote, read := storeOne(out[n:], src[i:], m)
		n += wrote
		i += read
	}
	return n, i
}

// storeOne stores the ASCII byte, or the run of runes, that begins src.
func storeOne(out, src []byte, m mode) (wrote, read int) {
	if c := src[0]; c < utf8.RuneSelf {
		e := escapes(m)[c]
		store(out, e)
		return int(e >> lengthShift), 1
	}
	return fuseRunes(out, src, len(src), m)
}

// storeWord stores the eight ASCII bytes of w, each as its table entry says.
// No step waits for the one before but for the place to store at, so it costs
// about the same for two escapes as for eight.
func storeWord(out []byte, w uint64, table *asciiTable) int {
	p := (*[wordRoom]byte)(out)
	n := uint(0)
	for range wordBytes {
		e := table[w&(utf8.RuneSelf-1)]
		at := n & 63 // n stays below; the mask spares a bounds check
		store(p[at:at+wordBytes], e)
		n += uint(e >> lengthShift)
		w >>= 8
	}
	return int(n)
}

func firstByte(hit uint64) int { return bits.TrailingZeros64(hit) / 8 }
