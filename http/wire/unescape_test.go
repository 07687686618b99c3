// SPDX-License-Identifier: MIT

package wire

import (
	"fmt"
	"net/url"
	"testing"
)

func TestAppendUnescaped(t *testing.T) {
	for _, c := range [][2]string{
		{"/", "/"}, {"", ""}, {"/%C3%B6", "/ö"}, {"/%2f%2F", "///"}, {"/a%20b", "/a b"},
		{"/%", "/%"}, {"/%4", "/%4"}, {"/%4g", "/%4g"}, {"/%41", "/A"}, {"/%00", "/\x00"},
		{"/%%41", "/%A"}, {"/+", "/+"},
	} {
		if got := AppendUnescaped(nil, []byte(c[0])); string(got) != c[1] {
			t.Errorf("AppendUnescaped(%q) = %q, want %q", c[0], got, c[1])
		}
	}
}

func FuzzAppendUnescaped(f *testing.F) {
	for _, s := range []string{"/%41", "%", "%zz", "/a%2", "%25%"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		got := string(AppendUnescaped(nil, []byte(path)))
		if want, err := url.PathUnescape(path); err == nil && got != want {
			t.Errorf("AppendUnescaped(%q) = %q, want %q", path, got, want)
		}
	})
}

// TestUnescapeEveryByte: each byte, in digits of either case.
func TestUnescapeEveryByte(t *testing.T) {
	for c := range 256 {
		for _, form := range []string{"%%%02x", "%%%02X"} {
			text := fmt.Sprintf(form, c)
			if got := AppendUnescaped(nil, []byte(text)); string(got) != string([]byte{byte(c)}) {
				t.Errorf("AppendUnescaped(%s) = %q, want the byte %#x", text, got, c)
			}
		}
	}
}
