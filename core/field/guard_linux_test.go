// SPDX-License-Identifier: MIT

package field

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

// TestReadsNothingBeyond puts documents of every length between pages that end the
// program when they are touched.
func TestReadsNothingBeyond(t *testing.T) {
	page := os.Getpagesize()
	all, err := syscall.Mmap(-1, 0, 3*page, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		t.Skipf("mmap: %v", err)
	}
	defer func() { _ = syscall.Munmap(all) }()
	for _, guard := range [][]byte{all[:page], all[2*page:]} {
		if err := syscall.Mprotect(guard, syscall.PROT_NONE); err != nil {
			t.Skipf("mprotect: %v", err)
		}
	}
	island := all[page : 2*page]
	for n := range 1200 {
		for _, text := range []string{
			strings.Repeat("x", n), `"` + strings.Repeat("x", n), strings.Repeat("[", n),
			`{"` + strings.Repeat("k", n) + `":"` + strings.Repeat(`\n`, n/2) + `"}`,
			strings.Repeat("7", n), `{"a":` + strings.Repeat("7", n),
			`{"` + strings.Repeat("k", n), `{"a":"` + strings.Repeat("k", n),
		} {
			if len(text) > page {
				continue
			}
			end := island[page-len(text):]
			copy(end, text)
			Valid(end)
			Get(end, "a")
			copy(island, text)
			Valid(island[:len(text)])
		}
	}
}
