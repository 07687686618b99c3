// SPDX-License-Identifier: MIT

package sse

import (
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// threadTime is how long the processor worked for the calling thread: other work on the
// machine does not count.
func threadTime(t *testing.T) time.Duration {
	t.Helper()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_THREAD, &r); err != nil {
		t.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// TestAppendIsLinear: line breaks of one kind alone are the worst case. In one piece they
// take about as long as in 64 pieces, and some 40 times as long where a byte is looked at
// for each line. Both are asked in turns until there is enough to compare.
func TestAppendIsLinear(t *testing.T) {
	const (
		size, pieces = 1 << 16, 64
		most         = 8
		enough       = 30 * time.Millisecond // of the clock of a thread, which may tick
	)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	dst := make([]byte, 0, 16*size)
	for _, c := range []string{"\r", "\n", "\r\n", "\xff"} {
		whole := strings.Repeat(c, size/len(c))
		var inPieces, inOne time.Duration
		for inPieces < enough {
			start := threadTime(t)
			for range pieces {
				mustAppend(t, dst, whole[:size/pieces])
			}
			between := threadTime(t)
			mustAppend(t, dst, whole)
			inPieces += between - start
			inOne += threadTime(t) - between
		}
		if inOne > most*inPieces {
			t.Errorf("lines that end in %q take %v in one piece, %v in %d; want about the same",
				c, inOne, inPieces, pieces)
		}
	}
}

func mustAppend(t *testing.T, dst []byte, data string) {
	t.Helper()
	if _, err := Append(dst, Event{Data: data}); err != nil {
		t.Fatal(err)
	}
}
