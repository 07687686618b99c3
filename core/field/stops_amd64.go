// SPDX-License-Identifier: MIT

//go:build !purego

package field

import "unsafe"

// markStops sets the bit of each byte of text that is a stop, in the words that
// text reaches. text has at most windowBytes.
func markStops(stops *[windowWords]uint64, text []byte) {
	stopsSSE2(stops, unsafe.SliceData(text), len(text))
}

// stopsSSE2 is markStops; SSE2 is part of every amd64.
//
//go:noescape
func stopsSSE2(stops *[windowWords]uint64, text *byte, n int)
