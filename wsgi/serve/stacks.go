// SPDX-License-Identifier: MIT

//go:build cgo && linux

package serve

import (
	"os"
	"syscall"
	"time"
)

// dumpSignal makes Python's faulthandler print the stacks of all threads; see
// worker.py. It goes to the stuck thread, which runs Python.
const dumpSignal = syscall.Signal(40)

const (
	dumpFirst = time.Second            // how long a stuck thread may take to begin
	dumpNext  = 100 * time.Millisecond // and to go on
)

// stacks is the pipe that faulthandler writes to. It writes in small pieces, among
// which the lines of a log would come.
type stacks struct {
	from *os.File
	to   int // the descriptor that Python is told; 0: there is no pipe
}

// newStacks makes the pipe, or one that prints nothing.
func newStacks() *stacks {
	var fds [2]int
	if err := syscall.Pipe2(fds[:], syscall.O_CLOEXEC); err != nil {
		return &stacks{}
	}
	_ = syscall.SetNonblock(fds[0], true) // so that a read has a deadline
	return &stacks{from: os.NewFile(uintptr(fds[0]), "stacks"), to: fds[1]}
}

// print writes where all Python threads are to the standard error, in one piece.
// thread, which is stuck, gets the signal.
func (s *stacks) print(thread int) {
	if s.to == 0 || syscall.Tgkill(syscall.Getpid(), thread, dumpSignal) != nil {
		return
	}
	var text []byte
	for wait := dumpFirst; ; wait = dumpNext {
		var piece [4096]byte
		_ = s.from.SetReadDeadline(time.Now().Add(wait))
		n, err := s.from.Read(piece[:])
		if text = append(text, piece[:n]...); err != nil {
			break
		}
	}
	_, _ = os.Stderr.Write(text)
}
