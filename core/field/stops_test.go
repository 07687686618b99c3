// SPDX-License-Identifier: MIT

package field

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// wantStops is what markStops is to say, a byte at a time.
func wantStops(text []byte) (want [windowWords]uint64) {
	for i, c := range text {
		if c < ' ' || c == '"' || c == '\\' {
			want[i/64] |= 1 << (i % 64)
		}
	}
	return want
}

func checkStops(t *testing.T, text []byte) {
	t.Helper()
	want := wantStops(text)
	var chosen, portable [windowWords]uint64
	markStops(&chosen, text)
	markStopsPortable(&portable, text)
	if chosen != want || portable != want {
		t.Fatalf("markStops(%q) = %x, portable %x, want %x", text, chosen, portable, want)
	}
}

// TestStops tries every length of a window with each byte at its end, its beginning
// and in the middle.
func TestStops(t *testing.T) {
	text := bytes.Repeat([]byte("x"), windowBytes)
	for n := range windowBytes + 1 {
		checkStops(t, text[:n])
		for _, at := range []int{0, n / 2, n - 17, n - 16, n - 15, n - 1} {
			if at < 0 || at >= n {
				continue
			}
			for _, c := range []byte{0, 0x1f, ' ', '!', '"', '#', '[', '\\', ']', 0x7f, 0x80, 0xa2, 0xff} {
				text[at] = c
				checkStops(t, text[:n])
			}
			text[at] = 'x'
		}
	}
	for pair := range 1 << 16 { // neighbours do not disturb each other
		checkStops(t, bytes.Repeat([]byte{byte(pair), byte(pair >> 8)}, 21))
	}
}

// TestStringsOverWindows puts the interesting bytes of a document at, over and
// behind the edges of words and windows.
func TestStringsOverWindows(t *testing.T) {
	for _, edge := range []int{64, windowBytes, 2 * windowBytes} {
		for _, piece := range []string{
			`"k":1`, `"k":"v"`, `"k" : "\\"`, `"k":"\u0041\""`, "\"k\":\"\x1f\"", `"k":"\x"`, `"k":"`,
			`"k":tru`, `"k":true`, `"k":-1.5e3`, `"\u006b":2`, `"k":"` + strings.Repeat("y", 600) + `"`,
		} {
			for back := range min(len(piece)+8, 30) {
				pad := strings.Repeat("p", max(0, edge-back-len(`{"":0,`)))
				doc := []byte(`{"` + pad + `":0,` + piece + `}`)
				checkAgainstStd(t, doc, "k")
				checkAgainstStd(t, doc, pad)
				checkAgainstStd(t, append([]byte("  "), doc...), "none")
			}
		}
	}
}

func FuzzStops(f *testing.F) {
	f.Add([]byte(strings.Repeat(`plain "text" `, 30)))
	f.Add([]byte("\x00\x1f\x20\"\\\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		checkStops(t, b[:min(len(b), windowBytes)])
		if doc := append(append([]byte(`{"`), b...), `":1}`...); json.Valid(doc) != Valid(doc) {
			t.Errorf("Valid(%q) = %v, want %v", doc, Valid(doc), json.Valid(doc))
		}
	})
}
