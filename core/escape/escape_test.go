// SPDX-License-Identifier: MIT

package escape

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

// wantHTML is what json.Marshal says, the reference of the HTML functions.
func wantHTML(t testing.TB, s string) string {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatalf("json.Marshal(%q): %v", s, err)
	}
	return string(b)
}

// wantPlain is encoding/json without its HTML escapes. It escapes U+2028 and
// U+2029 all the same, which plain JSON does not need.
func wantPlain(t testing.TB, s string) string {
	t.Helper()
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		t.Fatalf("Encode(%q): %v", s, err)
	}
	out := strings.TrimSuffix(buf.String(), "\n")
	// Undo it, but not where the backslash is itself escaped.
	out = strings.ReplaceAll(out, `\\`, "\x00")
	out = strings.ReplaceAll(out, `\u2028`, "\u2028")
	out = strings.ReplaceAll(out, `\u2029`, "\u2029")
	return strings.ReplaceAll(out, "\x00", `\\`)
}

// check compares all four functions with encoding/json, appending behind a
// prefix and with little, exact and much room.
func check(t *testing.T, s string) {
	t.Helper()
	for _, c := range []struct {
		name string
		want string
		str  func([]byte, string) []byte
		byt  func([]byte, []byte) []byte
	}{
		{"Append", wantPlain(t, s), AppendString, AppendBytes},
		{"AppendHTML", wantHTML(t, s), AppendHTMLString, AppendHTMLBytes},
	} {
		for _, free := range []int{0, len(c.want), len(c.want) + 80, 6*len(s) + 32} {
			dst := append(make([]byte, 0, 2+free), "p:"...)
			if got := string(c.str(dst, s)); got != "p:"+c.want {
				t.Errorf("%sString(%q), %d free = %s, want p:%s", c.name, s, free, got, c.want)
			}
			dst = append(make([]byte, 0, 2+free), "p:"...)
			if got := string(c.byt(dst, []byte(s))); got != "p:"+c.want {
				t.Errorf("%sBytes(%q), %d free = %s, want p:%s", c.name, s, free, got, c.want)
			}
		}
	}
}

var samples = []string{
	"", "a", "plain", "exactly8", "nine char",
	"a longer plain text of more than 32 bytes, no escapes",
	`"`, `\`, "\x00", "\x1f", "\x7f", "\b\f\n\r\t", `quote " in the middle of it`,
	"<script>alert(1)</script>", "a&b", "</", "\u2028", "\u2029", "x\u2028y\u2029z", "\u2027\u202a",
	"日本語のテキスト、長めの文", "ελληνικά και русский", "mixed日本ascii語",
	"😀 emoji 🎉🎉",
	"é", "ééé", "éééé", "ééééé", "\u0800",
	"\ud7ff", "\ue000", "\uffff", "\ufffd", "\U0010ffff",
	"\x80", "\xff", "\xc0\x80", "\xc1\xbf\xc1\xbf\xc1\xbf\xc1\xbf", "\xe0\x80\x80\xe0\x80\x80..",
	"\xed\xa0\x80\xed\xa0\x80..", "\xed\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80",
	"\xe3\x81", "\xe3\x81\xe3\x81\x82", "日本\xe3", "é\xc3", "abcdefg\xc3", "abcdefg\xe3\x81",
	"\xe3\x81\x82\xe3\x81\xc2", "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\x29", "tail \\",
	strings.Repeat("\x01", 100),
	strings.Repeat(`<a href="x">`, 30), `\\u2028`, `\u2028`,
}

func TestAgainstEncodingJSON(t *testing.T) {
	for _, s := range samples {
		check(t, s)
	}
}

func TestEveryByteAtEveryPlace(t *testing.T) {
	const size = 41 // one block of four words, one word, one byte
	for c := range 256 {
		for at := range size {
			b := bytes.Repeat([]byte("x"), size)
			b[at] = byte(c)
			check(t, string(b))
		}
		check(t, string([]byte{byte(c)}))
	}
}

func TestRandomText(t *testing.T) {
	const seed = 1
	rnd := rand.New(rand.NewPCG(seed, 0))
	alphabet := []string{"a", "b", "cd", `"`, `\`, "\n", "<", "é", "日", "😀",
		"\u2028", "\xff", "\xe3"}
	for range 5_000 {
		var b strings.Builder
		for range rnd.IntN(40) {
			b.WriteString(alphabet[rnd.IntN(len(alphabet))])
		}
		check(t, b.String())
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func TestOutputIsValid(t *testing.T) {
	for _, s := range samples {
		for _, out := range [][]byte{AppendString(nil, s), AppendHTMLString(nil, s)} {
			if !json.Valid(out) || !utf8.Valid(out) {
				t.Errorf("output for %q is not valid UTF-8 JSON: %q", s, out)
			}
		}
		out := AppendHTMLString(nil, s)
		if i := bytes.IndexAny(out, "<>&\u2028\u2029"); i >= 0 {
			t.Errorf("AppendHTMLString(%q) = %s: unsafe at %d", s, out, i)
		}
	}
}

// TestGuardsBeyondResult shows that the whole words stored never leave dst and
// that what dst held stays.
func TestGuardsBeyondResult(t *testing.T) {
	for _, s := range samples {
		back := bytes.Repeat([]byte{'#'}, 600)
		limit := 300
		out := AppendString(back[:2:limit], s)
		if !bytes.HasPrefix(out, []byte("##")) {
			t.Errorf("AppendString(%q) overwrote its prefix: %q", s, out[:2])
		}
		if got := bytes.Count(back[limit:], []byte{'#'}); got != 300 {
			t.Errorf("AppendString(%q) wrote beyond the capacity of dst", s)
		}
	}
}

func TestNoAllocation(t *testing.T) {
	text := strings.Repeat("some <text> with \"quotes\", é and 日本 \xff\n", 20)
	raw := []byte(text)
	dst := make([]byte, 0, len(AppendHTMLString(nil, text))+80)
	if got := testing.AllocsPerRun(100, func() {
		AppendString(dst, text)
		AppendBytes(dst, raw)
		AppendHTMLString(dst, text)
		AppendHTMLBytes(dst, raw)
	}); got != 0 {
		t.Errorf("appending within capacity: %v allocations, want 0", got)
	}
}

func FuzzAppend(f *testing.F) {
	for _, s := range samples {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { check(t, s) })
}

func ExampleAppendString() {
	b := []byte(`{"name":`)
	b = AppendString(b, "say \"hi\"\n")
	b = append(b, '}')
	fmt.Println(string(b))
	// Output: {"name":"say \"hi\"\n"}
}

func ExampleAppendHTMLString() {
	fmt.Println(string(AppendHTMLString(nil, "</script>")))
	// Output: "\u003c/script\u003e"
}
