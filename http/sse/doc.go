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
// # Limits
//
// Frames and bytes a stream, frames a journal; each drop is counted by channel
// and cause. What a slow stream misses is announced or the stream is cut, so
// that its client comes back and is caught up; it is never silent.
package sse
