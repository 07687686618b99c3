// SPDX-License-Identifier: MIT

package corpus

import (
	"slices"
	"testing"
)

func TestExpand(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []byte
	}{
		{"plain", []byte("plain")},
		{"a<<R x 3>>b", []byte("axxxb")},
		{"<<T 2|k: v\r\n>>\r\n", []byte("k: v\r\nk: v\r\n\r\n")},
		{"\u00ff<<R \x00 2>>", []byte{0xff, 0, 0}},
	} {
		if got := Expand(c.in); !slices.Equal(got, c.want) {
			t.Errorf("Expand(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestBytesAreAllThatIsSent(t *testing.T) {
	c := Case{Raw: "GET", Steps: [][]any{{"send", " / "}, {"sleep", 5.0}, {"drip", "H", 1.0}}}
	if got := string(c.Bytes()); got != "GET / H" {
		t.Errorf("Bytes() = %q, want GET / H", got)
	}
}
