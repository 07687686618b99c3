// SPDX-License-Identifier: MIT

package escape

import (
	"bytes"
	"strings"
	"testing"
)

// roomTexts take each of the ways through a text: the short one, clean ones, and those
// that grow, by bytes that are escaped and by ones that are no runes.
var roomTexts = []string{
	"", "7 bytes", "exactly8", "nine byte", strings.Repeat("x", shortMax),
	strings.Repeat("x", shortMax-1) + `"`, strings.Repeat("x", 40), strings.Repeat("x", 100),
	strings.Repeat("\x01", 100), strings.Repeat(`x"`, 150), strings.Repeat("é", 100),
	strings.Repeat("\xff", 300), strings.Repeat("\xe3\x81", 120), "x" + strings.Repeat("\xf0\x9f", 90),
	strings.Repeat("日", 80), strings.Repeat("x", 300) + strings.Repeat("\x01", 60),
}

// TestEveryRoom: with whatever room dst has, a byte more or less, the text is the same
// and nothing is written behind what dst may hold.
func TestEveryRoom(t *testing.T) {
	const prefix = "before"
	fence := strings.Repeat("#", 2*room)
	for _, text := range roomTexts {
		for _, m := range []mode{plain, html} {
			want := prefix + appendPortable([]byte(text), m)
			back := make([]byte, len(want)+2*room+len(fence))
			eachProcessor(func(name string) {
				for end := len(prefix); end <= len(want)+2*room; end++ {
					copy(back, prefix)
					copy(back[end:], fence)
					got := appendQuoted(back[:len(prefix):end], []byte(text), m)
					if string(got) != want {
						t.Fatalf("%s, mode %d, %d free: %q became %q, want %q",
							name, m, end-len(prefix), text, got, want)
					}
					if !bytes.HasPrefix(back[end:], []byte(fence)) {
						t.Fatalf("%s, mode %d, %d free: %q is written beyond",
							name, m, end-len(prefix), text)
					}
				}
			})
		}
	}
}
