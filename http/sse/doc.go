// SPDX-License-Identifier: MIT

// Package sse sends events to many held streams (WHATWG HTML, section 9.2):
// the encoder, the queue of one stream, the registry of all, the journal that
// catches up those who come back, and the Hub that ties them to the bus.
//
// # Model
//
// A Frame is one encoded event. It is made once and never changes; ten thousand
// streams share its bytes. A Slot is one stream: a bounded queue of frames that
// the server pulls from when its peer can take more, so a slow peer costs its
// queue and delays nobody. A Registry delivers a frame to the slots of its
// channel, and only where its id is above what the slot had last. A Journal
// keeps the last frames of a channel by id. A Hub publishes over the bus, and
// what comes back from it, from this process as from any other, goes into the
// journal and then to the slots: there is no other way in.
//
// Hold ends a handler: on the server of this module it parks the connection and
// returns; over net/http it serves the stream on the handler's goroutine.
//
// Over the bus frames arrive in id order as far as it waits for the lower one. A
// frame that comes later than that is not delivered, since ids never go back in
// a stream: the streams that missed it are cut or told, as with every loss.
//
// # Limits
//
// Frames and bytes a stream, frames a journal, journals and their bytes a hub;
// each drop is counted by channel and cause. What a stream misses is announced
// in it or the stream is cut, so that its client comes back and is caught up; it
// is never silent. The package stores nothing: what survives a restart is what
// the application stores and restores.
//
// # Where the time goes
//
// Of the CPU of a broadcast to ten thousand streams 93 % is write(2), with the receiving
// side of loopback in it, and 5 % is what runs here and in the loop (perf): the floor is one
// write for each stream. Beside a thread that does nothing else a delivery takes 1.0 to
// 1.2 times the CPU. One write for many sockets is io_uring, see DECISIONS.md.
//
// A stream keeps 256 bytes of a connection, 64 of its hold, 144 of its slot and 24 of its
// channels, and about 100 in the tables of all: 670 bytes in use. What the system counts is
// up to twice that, because a Go heap grows between collections.
//
// How long the last stream waits on a busy machine is decided by the machine: while ours
// had 3.3 s of a core it waited 8.2 s for one, and a bare loop 14 s for 3.7 s.
package sse
