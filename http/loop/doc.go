// SPDX-License-Identifier: MIT

// Package loop is the server engine: one goroutine per loop around a
// level-triggered epoll set, and the seam for connections that are held open
// (Source, Held, HolderOf).
//
// Bytes are read into a buffer of the loop, parsed in place by package wire and
// given to a Handler on the loop's own goroutine; the answers of one batch leave
// with one write. A connection that waits owns a small struct and no buffer.
//
// A handler may block. The loop's word says whether its owner is in loop code
// (even) or inside a handler (odd). A handler that is found at the same odd word
// twice, about a millisecond after it began, loses the loop to a new owner; it
// finishes on its goroutine and posts its answer to the loop's inbox. Routes that
// are often late start on a goroutine of their own (see routes), and so does a
// request whose body is not read ahead. What a handler asks of its connection
// while it runs (hold, close, route) is recorded in its Exchange; what cannot wait
// (Flush, a long answer, Hijack) makes it give the loop away first.
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
