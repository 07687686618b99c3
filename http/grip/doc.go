// SPDX-License-Identifier: MIT

// Package grip is the protocol between a server that holds connections and an
// application that says what happens to them (GRIP, pushpin.org/docs/protocols/grip).
// It is the protocol alone: no I/O, no goroutine, no clock but the times that
// are passed in.
//
// # Model
//
// An application answers a request with fields that are for the server
// ([ParseInstruct]): the answer is held open, subscribed to channels, and what
// is published there follows. A publisher sends items ([ParseItems]), each in up
// to three formats, and an item crosses the bus between the processes of a
// service in an encoding of its own ([AppendItem], [ParseItem]). Requests to the
// application and publishers alike are known by a signed token ([Sign],
// [Verify]); where to publish and the key travel in one text ([ParseURL]).
//
//	application ── Grip-Hold, Grip-Channel ──▶ ParseInstruct ─▶ a held connection
//	                                                                   ▲
//	publisher ── {"items": [...]} ──▶ ParseItems                    Filters
//	                                      │                            │
//	                        AppendItem ═ bus ═ ParseItem ─▶ Sequence ──┘
//
// A [Sequence] puts the items of a channel in order and drops what was there
// before. [Filters] say whether an item is for a connection, and change its
// content on the way. A connection that misses something asks the application at
// [Instruct].Next, with what it has ([AppendLast]).
//
// A WebSocket reaches a synchronous application as requests whose bodies are
// events ([AppendEvent], [ParseEvents]); the fields of the answers
// ([ParseSocketAnswer]) and control messages ([ParseControl]) say what happens to
// the socket.
//
// For those who never heard of GRIP there is a short spelling: M0-Hold says
// stream or response, M0-Channel the channels, and M0-Channel alone means a
// stream. [IsField] tells which fields are for the server alone.
//
// # Names
//
// Whoever parses passes the check of channel names (bus.CheckName). A name that
// it refuses, as one that opens with \x01, is an error which names the field
// (contract row B4).
//
// # Errors
//
// Whatever an application or a publisher says wrong is a [FieldError]: which
// field, what it says, what would be right. Nothing is cut in silence. A token is
// refused with [ErrToken], and no error repeats a key.
//
// # Limits
//
// They are constants: a connection has up to 20 channels, a channel up to 5
// filters; an instruct has up to 100,000 bytes, a publish request 1,000,000
// bytes and 1024 items, a body of events 1,000,000 bytes and 10,000 events. A
// Sequence lets 100 items of a channel wait for 5 s, knows ids for 60 s, and
// bounds both over all channels.
//
// # What it does not do
//
// It subscribes and sends nothing, and nobody's items are kept. The filters http-check and
// http-modify, body-patch and sticky sessions (Grip-Session-*) are not supported;
// tokens are HS256 alone.
package grip
