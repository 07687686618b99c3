// SPDX-License-Identifier: MIT

// Package socket is the WebSockets of a synchronous application (contract rows R3
// and B5).
//
// # Model
//
// An opening handshake is shown to the application as the GET that it is. The
// application accepts it by an answer with M0-Hold: websocket, and is done. From then
// on the socket costs it nothing: what is published to the socket's channels is sent
// by the worker alone, and each message of the client becomes a request from inside
// the process, POST /ws/message, whose answer is the reply.
//
//	client ── message ──▶ ws.Conn ──▶ queue ──▶ POST /ws/message ──▶ application
//	client ◀── ws.Conn ◀── the answer's body ◀───────────────────────────┘
//	client ◀── ws.Conn ◀── slot ◀── hub ◀── bus ◀── publishers
//
// An application that speaks GRIP gets the events of its socket at the target of the
// opening instead, many in one request, and answers with events (WebSocket-over-HTTP).
// The two are a talk each; queue, feed and limits are the same.
//
// # Order and limits
//
// The messages of one socket are asked for in order and one at a time. What the
// application has not answered yet waits in a queue; when that is full nothing more
// is read from this client. A socket whose client does not read what is published is
// closed with 1013, like one whose message finds the server full.
//
// # What it does not do
//
// It speaks no WebSocket (http/ws does) and keeps no history: a client that lost its
// socket asks for what it missed.
package socket
