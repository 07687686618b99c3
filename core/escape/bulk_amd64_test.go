// SPDX-License-Identifier: MIT

//go:build !purego

package escape

import (
	"bytes"
	"testing"
	"unicode/utf8"

	"m0serve.dev/core/internal/cpu"
)

// eachProcessor runs fn as on a processor with AVX2, if this is one, and without.
func eachProcessor(fn func(name string)) {
	defer func() { useAVX2 = cpu.HasAVX2 }()
	if useAVX2 = false; true {
		fn("SSE2")
	}
	if useAVX2 = cpu.HasAVX2; useAVX2 {
		fn("AVX2")
	}
}

// TestBulkTakesUTF8 tries all sequences of four bytes at which a rule of UTF-8
// begins or ends: the assembly goes to the end of a text with one of them exactly
// when it is UTF-8.
func TestBulkTakesUTF8(t *testing.T) {
	if !cpu.HasAVX2 {
		t.Skip("only AVX2 looks at UTF-8")
	}
	edges := []byte{'x', 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf,
		0xe0, 0xe1, 0xec, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff}
	places := []int{0, 5, 29, 30, 31, 40, 92} // of 96: at, over and behind edges of blocks
	step := 1
	if testing.Short() {
		places, step = []int{30}, 13
	}
	text := bytes.Repeat([]byte("x"), 96)
	out := make([]byte, 200)
	for _, at := range places {
		four := text[at : at+4]
		for i := 0; i < len(edges)*len(edges)*len(edges)*len(edges); i += step {
			for j, rest := 0, i; j < 4; j, rest = j+1, rest/len(edges) {
				four[j] = edges[rest%len(edges)]
			}
			wrote, read := bulk(out, text, plain)
			if whole := read == len(text); whole != utf8.Valid(four) {
				t.Fatalf("bulk with % x at %d read %d of %d, want all: %v",
					four, at, read, len(text), utf8.Valid(four))
			}
			if wrote != read || !bytes.Equal(out[:wrote], text[:read]) {
				t.Fatalf("bulk with % x at %d wrote %q", four, at, out[:wrote])
			}
		}
		copy(four, "xxxx")
	}
}

func TestUnfinished(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "x": 0, "é": 0, "日": 0, "😀": 0, "\xc3": 1, "\xe3": 1, "\xf0": 1, "x\xf0": 1,
		"\xe3\x81": 2, "\xf0\x9f": 2, "é\xe3\x81": 2, "\xf0\x9f\x98": 3, "日\xf0\x9f\x98": 3,
	} {
		if got := unfinished([]byte(text)); got != want {
			t.Errorf("unfinished(%q) = %d, want %d", text, got, want)
		}
	}
}
