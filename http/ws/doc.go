// SPDX-License-Identifier: MIT

// Package ws speaks WebSocket (RFC 6455), compressed where both sides want it
// (RFC 7692), and sends what is published to the sockets of every process.
//
// The codec does no I/O and allocates nothing: a Parser takes frames apart as
// their bytes arrive, in place, and AppendFrame, AppendMasked and AppendClose make
// them. Text is checked as it arrives, so that bad UTF-8 ends a connection before
// its message does.
//
// Accept turns a request into a Conn and is the last thing a handler does. On the
// server of this module the connection is parked on its loop: an idle socket costs
// no goroutine and no buffer. Handler.Message is called like an HTTP handler: on
// the loop while it is quick, off it when it blocks, always in order and one at a
// time. Over plain net/http (TLS included) the same call blocks its goroutine until
// the socket is closed, and the same code runs there. AcceptExchange does it for
// native handlers. A handler may take its time before it accepts.
//
// Send and Close may be called from any goroutine and never block: what the peer
// does not take waits in a queue that is bounded (Options.QueueBytes). While that
// queue is half full, or between Pause and Resume, nothing is read, so a peer that
// does not read its echoes is slowed down and not cut. Silent peers are pinged, and
// cut when they stay silent.
//
// A server that drains closes its sockets with code 1012. Whatever ends a Conn,
// Handler.Closed is called once and last, with the code.
//
// # Many sockets
//
// A Hub sends a message that any process of the service publishes to each socket that
// has joined its channel, once and in the order of ids. It rides the bus of package
// bus. A Message is encoded once and compressed at most once; the sockets share its
// bytes. A socket that does not take what is published has a bounded queue, and a
// Policy says what happens when that is full. A hub keeps no history: who comes back
// asks the application for what it missed.
//
// # Compression
//
// Options.Compression agrees on permessage-deflate. Nothing is kept between two
// messages unless ClientContext lets a client's messages refer to earlier ones. What
// arrives compressed is inflated and checked as it arrives, and the bound of a message
// is that of what comes out.
//
// There is no client. Other extensions are declined, and a frame that uses what was
// not agreed on ends the connection with 1002.
package ws
