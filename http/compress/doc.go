// SPDX-License-Identifier: MIT

// Package compress sends answers in the content codings zstd and gzip (RFC 9110
// sections 8.4 and 12.5.3, RFC 8878, RFC 1952), and codes the frames of event streams
// once for all who listen (contract row D5).
//
//	handler := compress.New(compress.Config{}).Wrap(mux)
//
//	codings := []sse.Coding{compress.ZstdFrames(), compress.GzipFrames()}
//	hub.Hold(w, r, sse.HoldOptions{Channels: …, Codings: codings})
//
// # Answers
//
// An answer is coded when the client prefers a coding to plain bytes, when its type
// is one that becomes shorter, and when it has MinBytes. It says Vary, loses its
// Content-Length and Accept-Ranges and the digests of plain bytes, and has a weak
// entity tag in the place of a strong one. Left as they are: what is coded already,
// ranges (206), answers without a body, and those that say no-transform. Nothing
// waits for more: an answer is kept back until it has MinBytes or is flushed, and a
// flush goes through the coder. Event streams are not coded unless Streams is set,
// since each of them costs a coder; see Frames.
//
// A client that takes neither a coding nor plain bytes gets plain bytes: section
// 12.4.1 lets a server disregard the field, and the work is done by then.
//
// # Frames
//
// ZstdFrames and GzipFrames code each frame for itself: for zstd a frame of its own,
// for gzip blocks without references that end on a byte (a sync flush), behind the one
// header of the stream. So the same bytes fit every stream, whenever
// it began, and a stream keeps nothing. What earlier frames had in common with a
// frame is not made use of; that is the price.
//
// # Limits
//
// Config.Coders bounds the coders at work; what comes then is sent plain and
// counted. A coder of gzip has some 1 MiB and one of zstd some 2 MiB.
//
// # What it cannot know
//
// Where a page holds a secret and text that an attacker chooses, its coded length
// gives the secret away, a guess at a time (BREACH). Do not wrap what answers with
// both, or give each answer a fresh mask of its secret.
//
// Not here: br and deflate, requests that are coded, and files compressed beforehand,
// which package static serves.
package compress
