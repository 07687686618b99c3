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

	windowShift = 9                // a window is 512 bytes of the document
	windowBytes = 1 << windowShift // at a multiple of its size
	windowWords = windowBytes / 64 // with a bit for each byte
)

// A scan is one pass over a document. It marks ahead, a window at a time, the
// bytes at which a string can end, so that finding the end of one is a look at a
// word of bits and no loop that waits for itself.
type scan struct {
	doc    []byte
	window int                 // whose stops are known; 0 first
	stops  [windowWords]uint64 // quotes, backslashes and control characters
}

// stop returns the first stop at i or behind it as far as the word of bits tells
// that i has a bit in; unknown when it does not.
func (s *scan) stop(i int) int {
	if i>>windowShift == s.window {
		if hit := s.stops[i>>6&(windowWords-1)] >> (i & 63); hit != 0 {
			return i + bits.TrailingZeros64(hit)
		}
	}
	return unknown
}

// unknown is no index, and neither is the one behind it.
const unknown = -2

// nextStop returns the first stop at i or behind it, or the document's end.
func (s *scan) nextStop(i int) int {
	for i < len(s.doc) {
		if i>>windowShift != s.window {
			s.fill(i >> windowShift)
		}
		if at := s.stop(i); at >= 0 {
			return at
		}
		i = i | 63 + 1
	}
	return len(s.doc)
}

// begin marks the stops of the first window. The words of s are still zero.
func (s *scan) begin() { markStops(&s.stops, s.doc[:min(len(s.doc), windowBytes)]) }

// fill marks the stops of a window.
func (s *scan) fill(window int) {
	text := s.doc[window<<windowShift:]
	if len(text) < windowBytes {
		s.stops = [windowWords]uint64{}
	}
	s.window = window
	markStops(&s.stops, text[:min(len(text), windowBytes)])
}

// markStopsPortable sets the bit of each byte of text that is a stop, in the words
// that text reaches.
func markStopsPortable(stops *[windowWords]uint64, text []byte) {
	for at := 0; at < len(text); at += 64 {
		var word uint64
		block := text[at:min(at+64, len(text))]
		for i := 0; i+wordBytes <= len(block); i += wordBytes {
			word |= stopsOf(load(block[i:])) << i
		}
		for i := len(block) &^ (wordBytes - 1); i < len(block); i++ {
			if c := block[i]; c < ' ' || c == '"' || c == '\\' {
				word |= 1 << i
			}
		}
		stops[at/64&(windowWords-1)] = word
	}
}

// stopsOf returns a bit for each byte of w, the lowest first.
//
// A byte x is zero when neither x nor the sum of its low bits and 0x7f has the top
// bit; no sum carries into the next byte. A control character has none of the
// three highest bits.
func stopsOf(w uint64) uint64 {
	const (
		lows   = ones * 0x7f
		gather = 0x0102040810204080 // moves the top bits, shifted down, side by side
	)
	quote, slash, control := w^ones*'"', w^ones*'\\', w&(ones*0xe0)
	other := (quote&lows + lows | quote) & (slash&lows + lows | slash) &
		(control&lows + lows | control)
	return (^other & highs) >> 7 * gather >> 56
}

func load(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }
