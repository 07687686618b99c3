// SPDX-License-Identifier: MIT

// Package realtime is what m0serve does behind --realtime: answers that are held
// (contract rows R1, R3, R6).
//
// # Model
//
// An application answers a request as always, and says in fields of the answer that
// it is to be held. The application is done then: its thread, and whatever it has
// open, serve the next request. What it answered is the beginning of a stream, or
// what a long poll gets when its time is over; what comes later comes from the hub.
//
//	application ── answer with M0-Hold or Grip-Hold ──▶ Answer ──▶ Service.Hold
//	publishers ──▶ bus ──▶ sse.Hub ──▶ slot of each held answer ──▶ its client
//
// A Service is one worker's. It keeps nothing of its own that the hub has already.
package realtime
