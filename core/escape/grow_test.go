// SPDX-License-Identifier: MIT

//go:build !race

package escape

import (
	"strings"
	"testing"
)

// Under the race detector slices.Grow allocates twice, so allocations are counted without.

// TestGrowsOnce: a text without escapes takes memory once, and not much more than it
// needs; none where it fits with the room of a step.
func TestGrowsOnce(t *testing.T) {
	prefix := strings.Repeat("p", 4096) // of a size of which no byte is left over
	for _, n := range []int{1, 8, 20, shortMax + 1, 100, 1000, 5000, 1 << 16} {
		text := strings.Repeat("x", n)
		for _, before := range []string{"", prefix} {
			dst := []byte(before)[:len(before):len(before)]
			if got := testing.AllocsPerRun(10, func() { AppendString(dst, text) }); got != 1 {
				t.Errorf("%d bytes behind %d: %v allocations, want 1", n, len(before), got)
			}
		}
		if got := cap(AppendString(nil, text)); got > 2*n+4*room {
			t.Errorf("%d bytes take %d of memory", n, got)
		}
		dst := make([]byte, 0, n+1+room)
		if got := testing.AllocsPerRun(10, func() { AppendString(dst, text) }); got != 0 {
			t.Errorf("%d bytes with room for a step: %v allocations, want 0", n, got)
		}
		if n < wordBytes || n > shortMax {
			continue
		}
		dst = make([]byte, 0, n+2)
		if got := testing.AllocsPerRun(10, func() { AppendString(dst, text) }); got != 0 {
			t.Errorf("%d bytes that fit exactly: %v allocations, want 0", n, got)
		}
	}
}

// TestGrowsLittle: a text that grows sixfold takes memory some times, not for each step,
// and no more than twice of what it becomes; also where only its beginning grows.
func TestGrowsLittle(t *testing.T) {
	for _, n := range []int{100, 1000, 10_000, 100_000} {
		for _, text := range []string{
			strings.Repeat("\x01", n), strings.Repeat("\xff", n),
			strings.Repeat("xxxxxxxx\x01\x01\x01", n),
			strings.Repeat("\x01", n) + strings.Repeat("x", 7*n/2),
		} {
			out := AppendString(nil, text)
			if cap(out) > 2*len(out)+4*room {
				t.Errorf("%d of %.11q take %d bytes of memory for %d", n, text, cap(out), len(out))
			}
			if got := testing.AllocsPerRun(5, func() { AppendString(nil, text) }); got > 8 {
				t.Errorf("%d of %.11q: %v allocations, want 8 at most", n, text, got)
			}
		}
	}
}
