// SPDX-License-Identifier: MIT

package static

import (
	"path/filepath"
	"strings"
	"testing"
)

// What parseRanges finds lies in the file, in spans that are not empty, and is
// not more than the file.
func FuzzParseRanges(f *testing.F) {
	for _, s := range []string{
		"bytes=0-0", "bytes=-1", "bytes=-99", "bytes=8-99", "bytes=5-", "bytes=0-4,6-9", "bytes=-0",
		"bytes=9-3", "bytes=99999999999999999999-", "bytes=,,1-2,", "lines=1-2", "bytes=", "bytes=--1",
	} {
		f.Add(s, int64(10))
	}
	f.Fuzz(func(t *testing.T, value string, size int64) {
		if size < 0 {
			size = -(size + 1)
		}
		s := parseRanges([]byte(value), size)
		total := int64(0)
		for _, p := range s.list[:s.n] {
			if p.start < 0 || p.length <= 0 || p.start > size-p.length {
				t.Fatalf("parseRanges(%q, %d) has %+v", value, size, p)
			}
			total += p.length
		}
		if total > size || total < 0 || s.unsatisfiable && s.n > 0 {
			t.Fatalf("parseRanges(%q, %d) = %+v: %d bytes", value, size, s, total)
		}
	})
}

// What fileName lets through is local, and no part of it is hidden.
func FuzzFileName(f *testing.F) {
	for _, s := range []string{
		"a/b.txt", "a/", "../x", "%2e%2e/x", "a%2fb", "a\\b", ".git", "a//b", "%", "%zz",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		name, _, ok := fileName([]byte(path))
		if !ok || name == "." {
			return
		}
		if !filepath.IsLocal(name) || filepath.Clean(name) != name ||
			strings.ContainsAny(name, "\\\x00\n") {
			t.Fatalf("fileName(%q) = %q", path, name)
		}
		for segment := range strings.SplitSeq(name, "/") {
			if segment == "" || segment[0] == '.' {
				t.Fatalf("fileName(%q) = %q", path, name)
			}
		}
	})
}
