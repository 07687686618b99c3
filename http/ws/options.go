// SPDX-License-Identifier: MIT

package ws

import (
	"sync"
	"sync/atomic"
	"time"
)

// Options are the limits of connections. One Options serves any number of them,
// counts for them together and lends them buffers; it may not be copied or changed
// once it is in use. The zero value is a good one.
type Options struct {
	// MessageBytes bounds a message of the peer, whole; 1 MiB. Negative: no bound.
	MessageBytes int64
	// FrameBytes bounds one data frame of it; no bound of its own.
	FrameBytes int64
	// QueueBytes bounds what waits to be written; 1 MiB. The first message always
	// has a place, however long it is.
	QueueBytes int
	// KeepWhenFull makes a message that has no place the sender's matter: Send
	// returns ErrFull and that is all. Otherwise the connection is closed with
	// CodeOverload as well, since a peer that misses a message seldom knows.
	KeepWhenFull bool

	// PingEvery is how long a peer may be silent before it is pinged; 30 s.
	// Negative: never. PingTimeout is how long it may stay silent then; 30 s.
	PingEvery   time.Duration
	PingTimeout time.Duration
	// CloseTimeout is how long the peer's answer to a close is awaited; 5 s.
	CloseTimeout time.Duration
	// WriteTimeout is, over net/http, how long the peer may take no byte; 30 s. On
	// the server of this module its own limit holds.
	WriteTimeout time.Duration

	// Protocols are the subprotocols that are spoken, the preferred one first. The
	// first that the client offers is chosen; when it offers none, none is.
	Protocols []string
	// Origins are the sites whose pages may connect, as "https://example.com", or
	// "*" for all. nil: those of the same host. A client that is no browser sends
	// no Origin and may.
	Origins []string

	// Compression is agreed on with clients that offer it; nil: with none.
	Compression *Compression

	buffers   sync.Pool // of *buffer
	deflaters sync.Pool // of *deflater
	inflaters sync.Pool // of *inflating
	counts    counters
}

// Stats counts what connections of one Options did.
type Stats struct {
	Opened, Closed uint64
	Refused        uint64 // handshakes
	MessagesIn     uint64
	MessagesOut    uint64
	Violations     uint64 // closed with 1002, 1007 or 1009
	Overflows      uint64 // messages that had no place in the queue
	PongsMerged    uint64 // pings answered by the pong to a later one
	PingTimeouts   uint64 // peers that stayed silent
	CloseTimeouts  uint64 // peers that did not answer a close
	Inflated       uint64 // of MessagesIn, those that came compressed
	Deflated       uint64 // of MessagesOut, those that were sent so
}

type counters struct {
	opened, closed, refused, in, out, violations, overflows, pongs,
	pingTimeouts, closeTimeouts, inflated, deflated atomic.Uint64
}

// Stats returns the counters.
func (o *Options) Stats() Stats {
	c := &o.counts
	return Stats{
		Opened: c.opened.Load(), Closed: c.closed.Load(), Refused: c.refused.Load(),
		MessagesIn: c.in.Load(), MessagesOut: c.out.Load(),
		Violations: c.violations.Load(), Overflows: c.overflows.Load(),
		PongsMerged: c.pongs.Load(), PingTimeouts: c.pingTimeouts.Load(),
		CloseTimeouts: c.closeTimeouts.Load(), Inflated: c.inflated.Load(),
		Deflated: c.deflated.Load(),
	}
}

func (o *Options) messageBytes() int64 {
	if o.MessageBytes == 0 {
		return 1 << 20
	}
	return max(o.MessageBytes, 0)
}

func (o *Options) frameBytes() int64 { return max(o.FrameBytes, 0) }

func (o *Options) queueBytes() int {
	if o.QueueBytes <= 0 {
		return 1 << 20
	}
	return o.QueueBytes
}

func (o *Options) pingEvery() time.Duration    { return timeOr(o.PingEvery, 30*time.Second) }
func (o *Options) pingTimeout() time.Duration  { return timeOr(o.PingTimeout, 30*time.Second) }
func (o *Options) closeTimeout() time.Duration { return timeOr(o.CloseTimeout, 5*time.Second) }
func (o *Options) writeTimeout() time.Duration { return timeOr(o.WriteTimeout, 30*time.Second) }

func timeOr(d, normal time.Duration) time.Duration {
	if d == 0 {
		return normal
	}
	return d
}
