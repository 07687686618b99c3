// SPDX-License-Identifier: MIT

package escape

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// appendPortable is appendLong without assembly.
func appendPortable(src []byte, m mode) string {
	out := make([]byte, 6*len(src)+2*room)
	n, i := copyClean(out, src, m)
	wrote, read := fuse(out[n:], src[i:], math.MaxInt, m)
	if i+read != len(src) {
		panic("the portable half stopped in the middle")
	}
	return `"` + string(out[:n+wrote]) + `"`
}

// checkBulk compares what the assembly of every kind of processor writes with the
// portable code, with much and with little room, and says whether all is well.
func checkBulk(t *testing.T, s string) bool {
	t.Helper()
	good := true
	for _, m := range []mode{plain, html} {
		want := appendPortable([]byte(s), m)
		eachProcessor(func(name string) {
			for _, free := range []int{0, len(want) + 80, 7*len(s) + 300} {
				back := make([]byte, free+16)
				for i := range back {
					back[i] = '#'
				}
				got := string(appendQuoted(back[:0:free], []byte(s), m))
				if got != want {
					t.Errorf("%s, mode %d, %d free: appendQuoted(%q) = %s, want %s",
						name, m, free, s, got, want)
					good = false
				}
				if string(back[free:]) != "################" {
					t.Errorf("%s, mode %d, %d free: appendQuoted(%q) wrote beyond",
						name, m, free, s)
					good = false
				}
			}
		})
	}
	return good
}

// pieces are what stops or turns a block: escapes, runes, and what is no rune.
var pieces = []string{
	`"`, `\`, "\x00", "\x1f", "\x7f", "<", ">", "&", "'", "é", "日", "😀", "\u2028", "\u2029",
	"\u2027", "\u202a", "\u0080", "\u0800", "\ud7ff", "\ue000", "\U00010000", "\U0010ffff",
	"\x80", "\xbf\xbf", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80",
	"\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff",
	"\xc3", "\xe3", "\xe3\x81", "\xf0", "\xf0\x9f", "\xf0\x9f\x98",
}

// TestBulkAtEveryPlace moves each piece through texts that take every path of the
// assembly: the four blocks at once, the single one, and the tail.
func TestBulkAtEveryPlace(t *testing.T) {
	last := 140
	if testing.Short() {
		last = 70
	}
	for _, piece := range pieces {
		for _, filler := range []string{"x", "é", "日", `a "quoted" bit `} {
			whole := strings.Repeat(filler, 240/len(filler))
			for at := 0; at <= len(whole); at += len(filler) {
				if testing.Short() && at > 34 && at < 218 {
					continue // blocks like those before and behind
				}
				if !checkBulk(t, whole[:at]+piece+whole[at:]) {
					return
				}
			}
			for at := 1; at < last; at += len(filler) { // the piece ends the text
				if !checkBulk(t, whole[:at/len(filler)*len(filler)]+piece) {
					return
				}
			}
		}
	}
}

func TestBulkRandomText(t *testing.T) {
	const seed = 1
	rnd := rand.New(rand.NewPCG(seed, 0))
	for range 3_000 {
		if s := randomText(rnd); !checkBulk(t, s) {
			t.Fatalf("seed %d", seed)
		}
	}
}

// randomText is a text with runs of ASCII of any length between its pieces.
func randomText(rnd *rand.Rand) string {
	const run = "plain text that needs no look at all, of any length there is "
	var b strings.Builder
	for range rnd.IntN(12) {
		for range rnd.IntN(3) {
			b.WriteString(run[:rnd.IntN(len(run))])
		}
		for range rnd.IntN(4) {
			b.WriteString(pieces[rnd.IntN(len(pieces))])
		}
	}
	return b.String()
}

func FuzzBulk(f *testing.F) {
	for _, s := range samples {
		f.Add(s + s + s)
	}
	rnd := rand.New(rand.NewPCG(2, 0))
	for range 20 {
		f.Add(randomText(rnd))
	}
	f.Fuzz(func(t *testing.T, s string) {
		checkBulk(t, s)
		check(t, s)
	})
}
