// SPDX-License-Identifier: MIT

package escape

import (
	"bytes"
	"os"
	"strings"
	"syscall"
	"testing"
)

// newIsland returns two pages of memory with a page on both sides that ends the
// program when it is touched.
func newIsland(t *testing.T) []byte {
	t.Helper()
	page := os.Getpagesize()
	all, err := syscall.Mmap(-1, 0, 4*page, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		t.Skipf("mmap: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Munmap(all) })
	for _, guard := range [][]byte{all[:page], all[3*page:]} {
		if err := syscall.Mprotect(guard, syscall.PROT_NONE); err != nil {
			t.Skipf("mprotect: %v", err)
		}
	}
	return all[page : 3*page]
}

// TestReadsNothingBeyond puts texts, and the room for what they become, between
// pages that may not be touched.
func TestReadsNothingBeyond(t *testing.T) {
	source, result := newIsland(t), newIsland(t)
	for _, piece := range append([]string{""}, pieces...) {
		for _, filler := range []string{"x", "日", `"x`, "\x01"} {
			for n := range 170 {
				text := []byte(strings.Repeat(filler, n/len(filler)) + piece)
				if n%2 == 0 {
					text = []byte(piece + strings.Repeat(filler, n/len(filler)))
				}
				checkBetween(t, source, result, text)
			}
		}
	}
}

func checkBetween(t *testing.T, source, result, text []byte) {
	t.Helper()
	eachProcessor(func(name string) {
		for _, m := range []mode{plain, html} {
			want := appendPortable(text, m)
			end := source[len(source)-len(text):]
			copy(end, text)
			copy(source, text)
			for _, src := range [][]byte{end, source[:len(text)]} {
				for _, free := range []int{len(want) + 80, len(text) + 80} {
					at := len(result) - min(free, len(result))
					got := appendQuoted(result[at:at:len(result)], src, m)
					if !bytes.Equal(got, []byte(want)) {
						t.Fatalf("%s, mode %d: appendQuoted(%q) = %s, want %s",
							name, m, text, got, want)
					}
				}
			}
		}
	})
}
