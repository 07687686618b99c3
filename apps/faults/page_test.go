// SPDX-License-Identifier: MIT

//go:build linux

package faults

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The shared page as http/bus lays it out (contract row P5a).
const (
	pageMagic = 0x6d3070616765
	pageWord  = 2 // of the magic
	pageHead  = 8 // words ahead of the lines
	pageLine  = 8 // words of a line
	pagePID   = 2 // of a line; the process in the lower half
)

// openPage opens the memory that a worker shares with its siblings, from outside.
func openPage(t *testing.T, pid int) *os.File {
	t.Helper()
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if to, err := os.Readlink(fd); err != nil || !strings.HasPrefix(to, "/memfd:") {
			continue
		}
		f, err := os.OpenFile(fd, os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if readWord(f, pageWord)>>16 == pageMagic {
			t.Cleanup(func() { _ = f.Close() })
			return f
		}
		_ = f.Close()
	}
	t.Skip("SKIPPED: the page of another process cannot be opened here")
	return nil
}

func readWord(f *os.File, at int) uint64 {
	var b [8]byte
	_, _ = f.ReadAt(b[:], int64(at*len(b))) // an end reads as zero
	return binary.NativeEndian.Uint64(b[:])
}

func writeWord(t *testing.T, f *os.File, at int, value uint64) {
	t.Helper()
	if _, err := f.WriteAt(binary.NativeEndian.AppendUint64(nil, value), int64(at*8)); err != nil {
		t.Fatal(err)
	}
}

// lineOf finds the line that a process has on the page.
func lineOf(t *testing.T, f *os.File, pid int) int {
	t.Helper()
	for at := pageHead; ; at += pageLine {
		switch word := readWord(f, at+pagePID); {
		case uint64(uint32(word)) == uint64(pid):
			return at
		case at > 1100*pageLine:
			t.Fatalf("process %d has no line on the page", pid)
		}
	}
}

// TestDamagedPage is F18: garbage in the line of one worker, under load, as a worker
// writes whose memory is damaged. Nobody else notices, nobody dies of it, and when the
// worker is killed its successor has a line again.
func TestDamagedPage(t *testing.T) {
	rnd := random(t)
	p := startHost(t)
	old := p.Workers(t)[1]
	page := openPage(t, old)
	line := lineOf(t, page, old)
	c := gather(t, p.URL, clients, rnd, word)
	odd := []uint64{0, 1, 1 << 31, 1 << 32, 1<<63 - 1, 1 << 63, 1<<64 - 1}
	for range times(20, 500) {
		for range 50 {
			value := rnd.Uint64()
			if rnd.IntN(2) == 0 {
				value = odd[rnd.IntN(len(odd))]
			}
			writeWord(t, page, line+rnd.IntN(pageLine), value)
		}
		c.more(t, 20)
	}
	if strings.Contains(p.Log(), "worker: ended") || strings.Contains(p.Log(), "panic") {
		t.Error("a worker ended")
	}
	if n := len(c.Failures()); n != 0 {
		t.Errorf("%d requests failed beside a damaged line, want 0", n)
	}
	c.kill(t, old, "1", syscall.SIGKILL)
	until(t, "a successor", func() bool {
		pid := p.Workers(t)[1]
		return pid != 0 && pid != old
	})
	until(t, "an answer of the successor", func() bool {
		f, ok := ask(p)
		return ok && f.Worker == 1
	})
	f, ok := ask(p)
	for !ok {
		f, ok = ask(p)
	}
	if now := p.Workers(t)[1]; !hasLine(f, now) {
		t.Errorf("the page says %+v, want worker 1, ready, process %d", f.Fleet, now)
	}
	c.verdict(t, 400)
}

func hasLine(f fleet, pid int) bool {
	for _, w := range f.Fleet {
		if w.Index == 1 && w.PID == pid && w.State == "ready" {
			return true
		}
	}
	return false
}
