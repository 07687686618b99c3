// SPDX-License-Identifier: MIT

//go:build !amd64 || purego

package escape

import "math"

// bulkStep is how much of the text is left to fuse where bulk stops.
const bulkStep = math.MaxInt

// bulk copies the beginning of src to out, up to where fuse must go on.
func bulk(out, src []byte, m mode) (wrote, read int) { return copyClean(out, src, m) }

// storeShort stores a text of 8...32 bytes and its quotes and tells whether it was
// clean. When not, what it stored counts for nothing.
func storeShort(out, src []byte, m mode) bool { return storeWords(out, src, m) }

// storeWords is storeShort by words that overlap.
func storeWords(out, src []byte, m mode) bool {
	out[0], out[len(src)+1] = '"', '"'
	out = out[1 : len(src)+1]
	first, last := load(src), load(src[len(src)-wordBytes:])
	hit := special(first, m) | special(last, m)
	store(out, first)
	store(out[len(src)-wordBytes:], last)
	if len(src) > 2*wordBytes {
		first, last = load(src[wordBytes:]), load(src[len(src)-2*wordBytes:])
		hit |= special(first, m) | special(last, m)
		store(out[wordBytes:], first)
		store(out[len(src)-2*wordBytes:], last)
	}
	return hit == 0
}
