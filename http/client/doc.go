// SPDX-License-Identifier: MIT

// Package client sends HTTP/1.1 requests (RFC 9110, RFC 9112; contract row H11).
// It stands on the strict response parser of package wire, runs on the caller's
// goroutine and, where requests repeat, allocates nothing.
//
// # Model
//
// A Client keeps connections. Get, Post and Do read a whole answer, bounded by
// Config.BodyMax, into a Response whose memory can be used again; Open returns a
// Stream as soon as the head is there. An answer of any status is an answer: 3xx
// is a response, not an instruction.
//
// A connection is used again only when nothing speaks against it: not behind
// Connection: close, HTTP/1.0 without keep-alive, a body that ends with its
// connection, bytes behind an answer, contradictory framing, or a request that
// was not sent to its end. One that its server has closed is noticed before it
// is used. Where that happens in the same moment, a request that may be repeated
// (RFC 9110 section 9.2.2) is sent once more on a new connection, provided that
// no byte of an answer came and no byte of its Stream is gone.
//
// An answer that ends too early is an error in each form: a short body, a cut
// chunk, a missing last chunk, a TLS connection without its farewell.
//
// # Limits
//
// Connections by host and in all, requests that wait for one (in order), the
// bytes of heads, bodies and trailers, interim answers; and the time to connect,
// to the head, between two pieces of a body, and of an unused connection. The
// whole of a request is bounded by its context, which ends it at any stage:
// nothing stays behind, neither goroutine nor connection.
//
// # What it does not do
//
// No redirects, cookies, proxies, decompression, HTTP/2 or upgrade. The
// packages below it: eventsource reads event streams, transport is an
// http.RoundTripper.
package client
