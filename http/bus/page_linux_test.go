// SPDX-License-Identifier: MIT

package bus

import (
	"errors"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"m0serve.dev/http/internal/sys"
)

func closeFD(t testing.TB, fd int) {
	t.Helper()
	if err := sys.BusClose(fd); err != nil {
		t.Errorf("close %d: %v", fd, err)
	}
}

func newTestPage(t testing.TB, workers int) (*Page, int) {
	t.Helper()
	page, fd, err := NewPage(workers)
	if err != nil {
		t.Fatalf("NewPage(%d) = %v", workers, err)
	}
	t.Cleanup(func() { closeFD(t, fd) })
	return page, fd
}

// Row P5a: the layout, as another program may read it.
func TestPageLayout(t *testing.T) {
	before := uint64(time.Now().UnixMicro())
	page, fd := newTestPage(t, 3)
	words, err := OpenWords(fd)
	if err != nil {
		t.Fatalf("OpenWords(page) = %v", err)
	}
	if len(words) != 8+3*8 {
		t.Fatalf("a page for 3 workers has %d words, want 32", len(words))
	}
	if id := words[0].Load(); id < before || id > uint64(time.Now().UnixMicro()) {
		t.Errorf("word 0 = %d, want the wall clock in µs, about %d", id, before)
	}
	const want = 'm'<<56 | '0'<<48 | 'p'<<40 | 'a'<<32 | 'g'<<24 | 'e'<<16 | 1
	if got := words[2].Load(); got != want {
		t.Errorf("word 2 = %#x, want %#x", got, uint64(want))
	}
	line := page.Worker(1)
	line.Claim(42)
	line.AddConnections(7)
	line.Beat(1234 * time.Millisecond)
	for at, want := range []uint64{7, 1234, 42, uint64(Starting)} {
		if got := words[8+8+at].Load(); got != want {
			t.Errorf("worker 1, word %d = %d, want %d", at, got, want)
		}
	}
	if id := page.NextID(); words[0].Load() != id || page.CurrentID() != id {
		t.Errorf("NextID() = %d, word 0 = %d, CurrentID() = %d",
			id, words[0].Load(), page.CurrentID())
	}
	page.RaiseID(1)
	high := page.CurrentID() + 1000
	page.RaiseID(high)
	if got := page.NextID(); got != high+1 {
		t.Errorf("NextID() after RaiseID(1), RaiseID(%d) = %d, want %d", high, got, high+1)
	}
}

// Row P5a: whatever is not a page of this version is refused.
func TestOpenPageRefuses(t *testing.T) {
	raw := func(count int, set map[int]uint64) int {
		words, fd, err := sys.BusShared(count)
		if err != nil {
			t.Fatalf("BusShared(%d) = %v", count, err)
		}
		for at, value := range set {
			words[at].Store(value)
		}
		t.Cleanup(func() { closeFD(t, fd) })
		return fd
	}
	file, err := os.CreateTemp(t.TempDir(), "page")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	if err := file.Truncate(16 * 8); err != nil {
		t.Fatal(err)
	}
	const magic = pageMagic<<16 | pageVersion
	for _, tc := range []struct {
		what string
		fd   int
	}{
		{"a page without magic", raw(16, map[int]uint64{3: 1})},
		{"another magic", raw(16, map[int]uint64{2: magic + 1<<16, 3: 1})},
		{"another version", raw(16, map[int]uint64{2: magic + 1, 3: 1})},
		{"more workers than words", raw(16, map[int]uint64{2: magic, 3: 2})},
		{"workers beyond any size", raw(16, map[int]uint64{2: magic, 3: 1 << 61})},
		{"fewer workers than words", raw(24, map[int]uint64{2: magic, 3: 1})},
		{"no worker", raw(8, map[int]uint64{2: magic})},
		{"half a line", raw(12, map[int]uint64{2: magic})},
		{"a large page", raw(8+(MaxWorkers+1)*8, map[int]uint64{2: magic, 3: MaxWorkers + 1})},
		{"a file", int(file.Fd())},
		{"a closed descriptor", 1 << 20},
		{"no descriptor", -1},
	} {
		if page, err := OpenPage(tc.fd); !errors.Is(err, ErrPage) {
			t.Errorf("OpenPage(%s) = %v, %v; want ErrPage", tc.what, page, err)
		}
	}
	if _, err := OpenPage(raw(16, map[int]uint64{2: magic, 3: 1})); err != nil {
		t.Errorf("OpenPage of a page = %v, want nil", err)
	}
}

// Nobody can take the memory away from under a sibling.
func TestPageSealed(t *testing.T) {
	_, fd := newTestPage(t, 1)
	file := os.NewFile(uintptr(mustDup(t, fd)), "page")
	defer func() { _ = file.Close() }()
	for _, size := range []int64{0, 1 << 20} {
		if err := file.Truncate(size); err == nil {
			t.Errorf("Truncate(%d) of a page = nil, want refused", size)
		}
	}
}

func mustDup(t testing.TB, fd int) int {
	t.Helper()
	dup, err := sys.BusDup(fd)
	if err != nil {
		t.Fatalf("dup %d: %v", fd, err)
	}
	return dup
}

func TestWords(t *testing.T) {
	words, fd, err := NewWords(5)
	if err != nil {
		t.Fatalf("NewWords(5) = %v", err)
	}
	t.Cleanup(func() { closeFD(t, fd) })
	again, err := OpenWords(fd)
	if err != nil {
		t.Fatalf("OpenWords = %v", err)
	}
	words[4].Store(9)
	if len(again) != 5 || again[4].Load() != 9 {
		t.Fatalf("OpenWords: %d words, last %d; want 5 and 9", len(again), again[4].Load())
	}
	for _, count := range []int{0, -1, maxWords + 1} {
		if _, _, err := NewWords(count); err == nil {
			t.Errorf("NewWords(%d) = nil, want an error", count)
		}
	}
	for _, count := range []int{1, maxWords} {
		words, fd, err := NewWords(count)
		if err != nil || len(words) != count {
			t.Fatalf("NewWords(%d) = %d, %v", count, len(words), err)
		}
		closeFD(t, fd)
	}
	page, pageFD, err := NewPage(MaxWorkers)
	if err != nil || page.Workers() != MaxWorkers {
		t.Fatalf("NewPage(%d) = %v", MaxWorkers, err)
	}
	closeFD(t, pageFD)
	for _, workers := range []int{0, -1, MaxWorkers + 1} {
		if _, _, err := NewPage(workers); err == nil {
			t.Errorf("NewPage(%d) = nil, want an error", workers)
		}
	}
	var _ []atomic.Uint64 = again
}
