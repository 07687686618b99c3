// SPDX-License-Identifier: MIT

package cache

import (
	"strings"
	"testing"
	"time"
)

// FuzzDirectives: times are bounded, letters may be large, the order of lines is the
// same as that of a list, and a directive is seen wherever it stands behind what is
// well formed.
func FuzzDirectives(f *testing.F) {
	for _, s := range []string{
		"no-store", "max-age=60, s-maxage=\"5\"", "private=\"a, b\", max-age=1", "MAX-AGE=09",
		"max-age=99999999999999999999", "max-age=-1", "max-age=1, max-age=0", ",,=,", "a=\"",
		"a=\"\\\"\", no-cache", "stale-while-revalidate=2,stale-if-error=x", "max-age = 5",
	} {
		f.Add(s, "public")
	}
	f.Fuzz(func(t *testing.T, one, other string) {
		d := parseDirectives([]string{one, other})
		for _, got := range []time.Duration{d.maxAge, d.sharedMaxAge, d.staleWhile, d.staleIfError} {
			if got < -1 || got > secondsMax*time.Second {
				t.Fatalf("%q, %q: %v, want -1 to %d seconds", one, other, got, secondsMax)
			}
		}
		if up := parseDirectives([]string{strings.ToUpper(one), other}); isASCII(one) && up != d {
			t.Fatalf("%q: %+v in capitals, want %+v", one, up, d)
		}
		if swapped := parseDirectives([]string{other, one}); swapped != d {
			t.Fatalf("%q, %q: %+v the other way round, want %+v", one, other, swapped, d)
		}
		if !endsQuotes(one) {
			return
		}
		if listed := parseDirectives([]string{one + "," + other}); listed != d {
			t.Fatalf("%q, %q: %+v as a list, want %+v", one, other, listed, d)
		}
		if !parseDirectives([]string{one + ", no-store"}).noStore {
			t.Fatalf("%q hides the no-store behind it", one)
		}
	})
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= 0x80 }) < 0
}

// endsQuotes reports whether every quoted string of s ends in it (RFC 9110 section
// 5.6.4).
func endsQuotes(s string) bool {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			quoted = !quoted
		case s[i] == '\\' && quoted:
			i++
		}
	}
	return !quoted
}
