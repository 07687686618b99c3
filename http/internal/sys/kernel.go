// SPDX-License-Identifier: MIT

package sys

import (
	"net/netip"
	"syscall"
	"time"
)

// A Kernel is every system call of the engine, so that the real loop can run
// over a false kernel from a seed. Calls that move bytes or accept return the
// bare errno: the loop decides what an EINTR, EAGAIN or EMFILE means.
type Kernel interface {
	// Now is the wall clock with a monotonic reading. The loop asks once a turn.
	Now() time.Time
	// Used is the CPU time of this process. The loop asks twice in 16 turns.
	Used() time.Duration

	// Poller makes a level-triggered readiness set.
	Poller() (int, error)
	// Watch adds fd to a set, Rewatch changes what is waited for, Unwatch takes
	// it out. generation comes back with each event: a descriptor's number is
	// used again as soon as it is closed.
	Watch(poller, fd int, generation int32, events uint32) error
	Rewatch(poller, fd int, generation int32, events uint32) error
	Unwatch(poller, fd int) error
	// Wait fills events; ms is -1 to wait for ever and 0 not to wait.
	Wait(poller int, events []Event, ms int) (int, error)

	// Accept takes one connection, non-blocking and closed on exec.
	Accept(fd int) (int, netip.AddrPort, error)
	Read(fd int, p []byte) (int, error)
	Write(fd int, p []byte) (int, error)
	// CloseWrite sends a FIN behind what was written.
	CloseWrite(fd int) error
	Close(fd int) error
	// Reset closes with an RST; what was not sent is dropped.
	Reset(fd int) error
	// Unsent is how many written bytes the peer has not acknowledged.
	Unsent(fd int) (int, error)
	// Unread is how many bytes wait to be read.
	Unread(fd int) (int, error)
	// Hold prepares a connection for a long stream: the kernel takes at most
	// lowat bytes that it cannot send yet, and gives the peer up when it
	// acknowledges nothing for so long.
	Hold(fd, lowat int, limit time.Duration)

	// Notifier makes a descriptor that Notify makes readable (from any thread)
	// and Quiet makes unreadable again.
	Notifier() (int, error)
	Notify(fd int)
	Quiet(fd int)
	// Readable waits for fd to be readable, at most so long (0: it only looks).
	Readable(fd int, limit time.Duration) bool
	// Reserve makes a descriptor that stands for nothing: closing it leaves room
	// for one accept when the table is full.
	Reserve() (int, error)
	// Timer makes a one-shot timer.
	Timer() (Timer, error)
}

// A Timer fires once per Arm. Arm and Disarm are called by one goroutine at a
// time, Wait by another.
type Timer interface {
	Arm(d time.Duration)
	Disarm()
	// Wait returns when the timer fired; false when it was closed.
	Wait() bool
	Close() error
}

// What to wait for and what came: the bits of epoll(7).
const (
	EventIn        = 0x1
	EventOut       = 0x4
	EventErr       = 0x8
	EventHup       = 0x10
	EventRDHup     = 0x2000
	EventExclusive = 1 << 28
)

// The errnos the loop tells apart. Their boxed values are made once: comparing
// an error with them allocates nothing.
const (
	EAGAIN       = syscall.EAGAIN
	EINTR        = syscall.EINTR
	EMFILE       = syscall.EMFILE
	ENFILE       = syscall.ENFILE
	ENOBUFS      = syscall.ENOBUFS
	ENOMEM       = syscall.ENOMEM
	ECONNABORTED = syscall.ECONNABORTED
	ECONNRESET   = syscall.ECONNRESET
	ETIMEDOUT    = syscall.ETIMEDOUT
	EPIPE        = syscall.EPIPE
	EPERM        = syscall.EPERM
)
