// SPDX-License-Identifier: MIT

package options

import (
	"math/big"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// FuzzSplitWords: words that are quoted as a shell does come back.
func FuzzSplitWords(f *testing.F) {
	for _, s := range []string{"a b", "'a b' \"c\\\"d\"", "\\", "''", "a\\ b", "\"", "a'b'c", "\t\n"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, line, other string) {
		words, err := splitWords(line)
		if err != nil && words != nil {
			t.Fatalf("splitWords(%q) = %q, %v; want one of them", line, words, err)
		}
		words = append(words, other)
		var quoted []string
		for _, w := range words {
			quoted = append(quoted, "'"+strings.ReplaceAll(w, "'", `'\''`)+"'")
		}
		back, err := splitWords(strings.Join(quoted, " \t"))
		if err != nil || !slices.Equal(back, words) {
			t.Fatalf("splitWords(%q) = %q, %v; want %q", strings.Join(quoted, " "), back, err, words)
		}
	})
}

// FuzzAmounts: sizes agree with numbers of any length, and times with package time.
func FuzzAmounts(f *testing.F) {
	for _, s := range []string{"1", "64k", "1MiB", "2GB", "9T", "99999999999T", "-1", "1.5", "1m30s",
		"0.5", "1e3", "B", "iB", "1IB", "5.", ".5", "..", "9223372036854775807", "1h1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if n, ok := parseSize(s, 1); ok {
			digits := strings.TrimRight(s, "kKmMgGtTiIbB")
			want, isNumber := new(big.Int).SetString(digits, 10)
			if unit := strings.ToUpper(strings.TrimPrefix(s, digits)); unit != "" && isNumber {
				want.Lsh(want, uint(10*(strings.IndexByte(sizeUnits, unit[0])+1)))
			}
			if !isNumber || want.Cmp(big.NewInt(n)) != 0 {
				t.Fatalf("parseSize(%q) = %d, want %v", s, n, want)
			}
			if back, ok := parseSize(formatSize(n), 1); !ok || back != n {
				t.Fatalf("formatSize(%d) = %s, read as %d", n, formatSize(n), back)
			}
		}
		d, ok := parseDuration(s)
		if ok && d < 0 {
			t.Fatalf("parseDuration(%q) = %v, want none below 0", s, d)
		}
		if std, err := time.ParseDuration(s); err == nil && std >= 0 && s[0] != '-' && (!ok || d != std) {
			t.Fatalf("parseDuration(%q) = %v, %v; want %v", s, d, ok, std)
		}
	})
}

// FuzzBind: an address that is taken can be listened on by its form, and is the same
// when it is read again.
func FuzzBind(f *testing.F) {
	for _, s := range []string{":80", "8000", "a:1", "[::1]:2", "::1", "unix:/a", "unix:@a", "fd://3",
		"fd://1", "tcp://a", "a:b", "[::1", "a:070", "0:0", "unix://", "a\x00:1", "[fe80::1%lo]:1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		b, err := parseBind(s, "8000")
		if err != nil {
			return
		}
		again := b.Address
		switch b.Network {
		case "tcp":
			again = "tcp://" + again // a host may be called unix
			_, port, err := net.SplitHostPort(b.Address)
			if n, portErr := strconv.ParseUint(port, 10, 16); err != nil || portErr != nil || n > 65535 {
				t.Fatalf("parseBind(%q) = %+v, which cannot be listened on", s, b)
			}
		case "unix":
			again = "unix:" + again
			if len(b.Address) > unixPathMax || strings.ContainsRune(b.Address, 0) {
				t.Fatalf("parseBind(%q) = %+v, which is no socket", s, b)
			}
		case "fd":
			again = "fd://" + again
			if n, err := strconv.Atoi(b.Address); err != nil || n == 1 || n == 2 || n < 0 {
				t.Fatalf("parseBind(%q) = %+v, want no output of the process", s, b)
			}
		}
		if back, err := parseBind(again, "1"); err != nil || back != b {
			t.Fatalf("parseBind(%q) = %+v; %q is %+v, %v", s, b, again, back, err)
		}
	})
}
