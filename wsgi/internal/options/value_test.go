// SPDX-License-Identifier: MIT

package options

import (
	"slices"
	"testing"
	"time"
)

func TestDurations(t *testing.T) {
	for _, c := range []struct {
		in   string
		want time.Duration
		ok   bool
	}{
		{"30", 30 * time.Second, true}, {"30s", 30 * time.Second, true},
		{"1m30s", 90 * time.Second, true}, {"0.25", 250 * time.Millisecond, true},
		{"0", 0, true}, {"1h", time.Hour, true}, {"250ms", 250 * time.Millisecond, true},
		{"", 0, false}, {"-1", 0, false}, {"-1s", 0, false}, {"-0s", 0, false}, {".", 0, false},
		{"1e3", 0, false}, {"0x10", 0, false}, {"NaN", 0, false}, {"inf", 0, false},
		{"30 s", 0, false}, {"99999999999999999999", 0, false}, {"1.2.3", 0, false},
	} {
		if got, ok := parseDuration(c.in); ok != c.ok || ok && got != c.want {
			t.Errorf("parseDuration(%q) = %v, %v; want %v, %v", c.in, got, ok, c.want, c.ok)
		}
	}
}

func TestSizes(t *testing.T) {
	for _, c := range []struct {
		in   string
		unit int64
		want int64
		ok   bool
	}{
		{"64k", 1, 64 << 10, true}, {"16M", 1, 16 << 20, true}, {"1G", 1, 1 << 30, true},
		{"2T", 1, 2 << 40, true}, {"64KB", 1, 64 << 10, true}, {"64KiB", 1, 64 << 10, true},
		{"512", 1, 512, true}, {"512", 1 << 20, 512 << 20, true}, {"0", 1, 0, true},
		{"", 1, 0, false}, {"k", 1, 0, false}, {"-1", 1, 0, false}, {"1.5M", 1, 0, false},
		{"5B", 1, 0, false}, {"5iB", 1, 0, false}, {"5KBB", 1, 0, false}, {"5Q", 1, 0, false},
		{"99999999999T", 1, 0, false}, {"+5", 1, 0, false}, {"5 k", 1, 0, false},
	} {
		if got, ok := parseSize(c.in, c.unit); ok != c.ok || ok && got != c.want {
			t.Errorf("parseSize(%q, %d) = %d, %v; want %d, %v",
				c.in, c.unit, got, ok, c.want, c.ok)
		}
	}
}

func TestSplitWords(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []string
	}{
		{"", nil}, {"  ", nil}, {"a  b\tc\n", []string{"a", "b", "c"}},
		{`-e "A=b c" ''`, []string{"-e", "A=b c", ""}},
		{`a'b'"c" \ d`, []string{"abc", " d"}}, {`'a\b' "a\"b"`, []string{`a\b`, `a"b`}},
		{`x\`, []string{`x\`}},
	} {
		if got, err := splitWords(c.in); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("splitWords(%q) = %q, %v; want %q", c.in, got, err, c.want)
		}
	}
	for _, in := range []string{"'", `a "b`, `"\"`} {
		if got, err := splitWords(in); err == nil {
			t.Errorf("splitWords(%q) = %q; want an error", in, got)
		}
	}
}
