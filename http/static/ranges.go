// SPDX-License-Identifier: MIT

package static

import (
	"bytes"

	"m0serve.dev/http/wire"
)

// rangesMax bounds the ranges of one request. A field with more is ignored, as
// is one that asks for more bytes than there are (RFC 9110 section 14.2).
const rangesMax = 16

// A span is a part of a file.
type span struct{ start, length int64 }

// spans is the outcome of a Range field.
type spans struct {
	list [rangesMax]span
	n    int
	// unsatisfiable: the field is right, and nothing of it lies in the file: 416.
	unsatisfiable bool
}

// parseRanges reads a Range field against a file of size bytes. n is 0 when the
// field is to be ignored: another unit, not a set of ranges, too many of them or
// too much. Nor is there a part of an empty file, though some clients always ask
// for one.
func parseRanges(value []byte, size int64) (s spans) {
	unit, set, found := bytes.Cut(value, []byte{'='})
	if !found || size == 0 || !wire.EqualFold(unit, "bytes") {
		return spans{}
	}
	asked, total := 0, int64(0)
	for more := true; more; {
		var item []byte
		item, set, more = bytes.Cut(set, []byte{','})
		if item = bytes.Trim(item, " \t"); len(item) == 0 {
			continue // RFC 9110 section 5.6.1.2: empty elements count for nothing
		}
		one, ok := parseRange(item, size)
		if asked++; !ok || asked > rangesMax {
			return spans{}
		}
		if one.length > 0 {
			s.list[s.n] = one
			s.n++
			total += one.length
		}
	}
	if total > size {
		return spans{}
	}
	s.unsatisfiable = asked > 0 && s.n == 0
	return s
}

// parseRange reads one range. A length of 0 is a range outside of the file.
func parseRange(item []byte, size int64) (s span, ok bool) {
	first, last, found := bytes.Cut(item, []byte{'-'})
	if !found {
		return span{}, false
	}
	if len(first) == 0 {
		n, ok := parseNumber(last)
		n = min(n, size)
		return span{size - n, n}, ok
	}
	start, ok := parseNumber(first)
	if !ok {
		return span{}, false
	}
	end := size - 1
	if len(last) > 0 {
		n, ok := parseNumber(last)
		if !ok || n < start {
			return span{}, false
		}
		end = min(end, n)
	}
	if start > end {
		return span{}, true
	}
	return span{start, end - start + 1}, true
}

// parseNumber reads digits; what exceeds 62 bits is as good as 62 bits.
func parseNumber(b []byte) (n int64, ok bool) {
	const large = 1<<62 - 1
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		if n > large/10-1 {
			n = large
			continue
		}
		n = n*10 + int64(c-'0')
	}
	return n, len(b) > 0
}
