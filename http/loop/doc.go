// SPDX-License-Identifier: MIT

// Package loop is the server engine: one goroutine per loop around a
// level-triggered epoll set, and the seam for connections that are held open
// (Source, Held, HolderOf).
//
// Bytes are read into a buffer of the loop, parsed in place by package wire and
// given to a Handler on the loop's own goroutine; the answers of one batch leave
// with one write. A connection that waits owns a small struct and no buffer.
//
// A handler may block. The loop's word says what its owner is at (ownerState): loop
// code, which nobody may take from it, or a handler. A handler that is found at the
// same word twice, about a millisecond after it began, loses the loop to a new owner; it
// finishes on its goroutine and posts its answer to the loop's inbox. Routes that
// are often late start on a goroutine of their own (see routes), and so does a
// request whose body is not read ahead. What a handler asks of its connection
// while it runs (hold, close, route) is recorded in its Exchange; what cannot wait
// (Flush, a long answer, Hijack) makes it give the loop away first.
//
// Requests of Config.Seated are served by threads with a lock that all of them
// share, an interpreter's. Such a seat (Seat, Group.Sit) leads the first loop and
// runs handlers inline; it holds the lock except in the kernel's wait, after which
// it may have to wait for it with events in hand, and may lose the loop then as
// well. While no seat leads, a goroutine does: it serves what needs no seat and
// hands the rest over.
//
//	seat leads ──late, or waits for the lock──▶ goroutine leads
//	     ▲  │ handler blocks: a standby           │  nothing to do,
//	     │  ▼ has the lock, and takes it          │  a seat is idle
//	another seat leads ◀──────────────────────────┘
//
// Instead of seats there may be one Guest, an event loop of another kind, that
// answers later and leads in between (Group.Turn).
//
// Owner state is touched by the owner alone: the goroutine that runs Loop.run, or
// the one that has just taken the word. Everybody else goes through the inbox.
// Lists are popped before an entry is worked on, because working on it may lose
// the loop.
//
// Everything is bounded and what a bound drops is counted in Stats. The package
// reads no clock and makes no system call: both come from internal/sys. It knows
// no net/http handlers, no routes and no events; packages server, sse and ws do.
package loop
