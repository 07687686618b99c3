// SPDX-License-Identifier: MIT

package loop

import (
	"bytes"
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"m0serve.dev/http/wire"
)

const (
	pipeHigh = 256 << 10 // a reader that is so far behind stops the peer
	pipeLow  = 64 << 10  // and starts it again when so much is left
	// dropMax is how much of a body that nobody read is read to keep the
	// connection; a longer one costs it.
	dropMax = 256 << 10
)

// A bodySpan is where the body of a request lies behind its head.
type bodySpan struct {
	raw     int // bytes on the wire, when whole
	chunked bool
	stream  bool // not whole and not worth waiting for
	ending  bool // not whole, but all its data is there
}

// findBody looks for the whole body in rest.
func (l *Loop) findBody(c *conn, req *wire.Request, rest []byte) (
	b bodySpan, whole bool, err error) {
	cfg := &l.g.cfg
	if !req.Chunked {
		n := req.ContentLength
		if cfg.MaxBody >= 0 && n > cfg.MaxBody {
			return b, false, wire.ErrBodyTooLarge
		}
		b.stream = req.Expect100 || n > int64(cfg.ReadAhead) && !l.awaitsLong(c, n)
		if int64(len(rest)) < n {
			return b, false, nil
		}
		b.raw = int(n)
		return b, true, nil
	}
	b.chunked = true
	b.stream = req.Expect100 || len(rest) >= cfg.ReadAhead
	var dec wire.Decoder
	dec.StartChunked(&cfg.Limits, max(cfg.MaxBody, 0))
	dataEnd := 0
	for b.raw < len(rest) && !dec.Done() {
		data, n, err := dec.Next(rest[b.raw:])
		if err != nil {
			return b, false, err
		}
		if b.raw += n; len(data) > 0 {
			dataEnd = b.raw
		}
	}
	b.ending = dec.Remaining() == 0 && isLastChunk(rest[dataEnd:])
	return b, dec.Done(), nil
}

// awaitsLong reports whether a body of n bytes is awaited although it is long.
func (l *Loop) awaitsLong(c *conn, n int64) bool {
	cfg := &l.g.cfg
	return c.long > 0 ||
		n <= int64(cfg.ReadAheadLong) && int64(l.long)+n <= int64(cfg.ReadAheadBudget)
}

// settleLong gives back what c had of the budget for long bodies.
func (l *Loop) settleLong(c *conn) {
	l.long -= c.long
	c.long = 0
}

// isLastChunk reports whether the framing behind the data so far, which was
// found right, opens the last chunk.
func isLastChunk(framing []byte) bool {
	framing = bytes.TrimPrefix(framing, []byte(wire.LineEnd))
	rest := bytes.TrimLeft(framing, "0")
	return len(rest) < len(framing) && len(rest) > 0 && (rest[0] == '\r' || rest[0] == ';')
}

// readAhead is the body in src, which is whole and was looked at by findBody.
// Chunks are moved together in place.
func (x *Exchange) readAhead(b *bodySpan, src []byte) []byte {
	if !b.chunked {
		return src
	}
	cfg := &x.l.g.cfg
	x.dec.StartChunked(&cfg.Limits, max(cfg.MaxBody, 0))
	body, _, _ := x.dec.Append(src[:0], src)
	return body
}

// awaitBody keeps a request until its body is there.
func (l *Loop) awaitBody(t *Turn, c *conn, data []byte, head int, b *bodySpan) {
	need := 0
	if !b.chunked {
		need = head + int(t.x.req.ContentLength)
	}
	l.keep(t, c, data, need)
	if c.state == stateAhead {
		return // the deadline is absolute
	}
	if need-head > l.g.cfg.ReadAhead {
		c.long = need - head
		l.long += c.long
	}
	c.state, c.chunked = stateAhead, b.chunked
	wait := l.g.cfg.BodyTimeout
	if b.chunked && (wait < 0 || wait > chunkedWait) {
		wait = chunkedWait
	}
	l.setRead(c, l.after(wait))
}

// A bodyPipe carries a body that is longer than the read-ahead from the loop to
// a handler off it. It is bounded: a reader that falls behind stops the peer.
type bodyPipe struct {
	x *Exchange

	// The owner's.
	dec      wire.Decoder
	began    time.Duration // time spent with the pipe stopped is added
	stopAt   time.Duration
	received int64
	stopped  bool
	dropping bool
	dropped  int

	ownLimit atomic.Bool   // the handler has set its own deadline
	ready    chan struct{} // room for one: something changed

	mu       sync.Mutex
	buf      []byte // guarded by mu, from at on
	at       int
	expected int64 // bytes announced and not received; -1: unknown
	err      error // io.EOF when the body is whole
	full     bool  // the owner has stopped
	asks     bool  // the peer waits for 100
	deadline time.Time
	trailers []wire.Field
}

func newBodyPipe(x *Exchange, now time.Duration) *bodyPipe {
	p := &bodyPipe{x: x, began: now, ready: make(chan struct{}, 1)}
	p.asks, p.expected = x.req.Expect100, x.req.ContentLength
	cfg := &x.l.g.cfg
	if x.req.Chunked {
		p.dec.StartChunked(&cfg.Limits, max(cfg.MaxBody, 0))
	} else {
		p.dec.StartLength(x.req.ContentLength)
	}
	return p
}

// feed gives the pipe what the peer sent, and returns how much of it belongs to
// the body. The owner calls it.
func (p *bodyPipe) feed(src []byte) (n int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.at > 0 && p.at == len(p.buf) {
		p.buf, p.at = p.buf[:0], 0
	}
	if len(src) > 0 {
		p.asks = false // it did not wait
	}
	for n < len(src) && !p.dec.Done() {
		piece, k, err := p.dec.Next(src[n:])
		if err != nil {
			p.err = err
			p.signal()
			return n, err
		}
		if p.dropping {
			p.dropped += k
		} else {
			p.buf = append(p.buf, piece...)
		}
		if p.expected >= 0 {
			p.expected -= int64(len(piece))
		}
		n += k
	}
	p.received += int64(n)
	if p.dec.Done() {
		p.err, p.trailers = io.EOF, p.dec.Trailers
	}
	p.full = len(p.buf)-p.at >= pipeHigh
	p.stopped = p.full
	p.signal()
	return n, nil
}

func (p *bodyPipe) signal() {
	p.x.tellGuest(Readable)
	select {
	case p.ready <- struct{}{}:
	default:
	}
}

// fail ends the body with err.
func (p *bodyPipe) fail(err error) {
	p.mu.Lock()
	if p.err == nil {
		p.err = err
	}
	p.signal()
	p.mu.Unlock()
}

// read gives a handler what is there, or waits for it.
func (p *bodyPipe) read(b []byte) (int, error) {
	for {
		n, deadline, err := p.readNow(b)
		if n > 0 || len(b) == 0 || err != nil {
			return n, err
		}
		if err := p.wait(deadline); err != nil {
			return 0, err
		}
	}
}

// readNow gives what is there, asks the peer for more when that is due, and
// returns until when it may be waited for.
func (p *bodyPipe) readNow(b []byte) (n int, deadline time.Time, err error) {
	p.mu.Lock()
	n = copy(b, p.buf[p.at:])
	p.at += n
	resume := p.full && len(p.buf)-p.at <= pipeLow
	if resume {
		p.full = false
	}
	ask := n == 0 && p.asks && p.err == nil
	if ask {
		p.asks = false
	}
	err, deadline = p.err, p.deadline
	p.mu.Unlock()
	switch {
	case resume:
		p.x.l.post(note{kind: noteResume, x: p.x})
	case ask:
		p.x.l.post(note{kind: noteContinue, x: p.x})
	}
	if n > 0 || err == nil {
		return n, deadline, nil
	}
	return 0, deadline, bodyError(err)
}

// wait waits for a signal.
func (p *bodyPipe) wait(deadline time.Time) error {
	if deadline.IsZero() {
		<-p.ready
		return nil
	}
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	select {
	case <-p.ready:
		return nil
	case <-timer.C:
		return os.ErrDeadlineExceeded
	}
}

// BreakBody ends every Read of a streamed body, on whatever goroutine, with
// ErrGone. The connection ends behind the answer, unless the body is whole.
func (x *Exchange) BreakBody() {
	if x.pipe != nil {
		x.pipe.fail(ErrGone)
	}
}

func bodyError(err error) error {
	if errors.Is(err, wire.ErrTruncated) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (p *bodyPipe) setDeadline(t time.Time) {
	p.ownLimit.Store(true)
	p.mu.Lock()
	p.deadline = t
	p.signal()
	p.mu.Unlock()
}

func (p *bodyPipe) trailerFields() []wire.Field {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.trailers
}

func (p *bodyPipe) isWhole() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err == io.EOF
}

// unwanted says that the connection cannot go on behind this body: the peer
// was never asked for it, too much of it is to come, or it was broken.
func (p *bodyPipe) unwanted() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asks || p.expected > dropMax || p.err != nil && p.err != io.EOF
}

// readBody reads a streamed body.
func (l *Loop) readBody(t *Turn, c *conn) {
	n, err := l.read(c, t.in)
	switch {
	case err == errWait:
		return
	case err != nil:
		l.close(c, ClosedByPeer)
		return
	case n == 0:
		c.eof = true
		l.poison(c, wire.ErrTruncated)
		return
	}
	l.feedBody(c, t.in[:n])
}

// feedBody gives data to c's pipe and keeps what is behind the body.
func (l *Loop) feedBody(c *conn, data []byte) {
	p := c.body
	n, err := p.feed(data)
	switch {
	case err != nil:
		l.poison(c, err)
		return
	case p.dec.Done():
		c.body = nil
		if n < len(data) {
			c.in = append(c.in, data[n:]...)
		}
		l.setRead(c, 0)
		if p.dropping {
			c.state = stateIdle
			l.setRead(c, l.after(l.g.cfg.IdleTimeout))
			l.next(c)
		}
	case p.dropping && p.dropped > dropMax:
		c.closing = true
		c.body, c.state = nil, stateIdle
		l.next(c)
	case p.stopped:
		p.stopAt = l.now
		l.setRead(c, 0)
	default:
		l.pushBodyDeadline(c)
	}
	if c.state == stateBusy {
		l.rearm(c)
	}
}

// pushBodyDeadline sets the deadline of the whole body from what has arrived.
func (l *Loop) pushBodyDeadline(c *conn) {
	limit := l.g.cfg.BodyTimeout
	if limit < 0 || c.body.ownLimit.Load() {
		l.setRead(c, 0)
		return
	}
	l.setRead(c, c.body.began+limit+l.earned(c.body.received))
}

// resumeBody lets the peer go on.
func (l *Loop) resumeBody(x *Exchange) {
	c := x.c
	if c == nil || c.x != x || c.body == nil || !c.body.stopped {
		return
	}
	c.body.stopped = false
	c.body.began += l.now - c.body.stopAt
	l.pushBodyDeadline(c)
	l.rearm(c)
}

// poison ends a body that is broken or late. The handler still answers, and
// nothing behind the body is read: its framing is lost.
func (l *Loop) poison(c *conn, err error) {
	p := c.body
	if err == error(ErrBodyTimeout) && p.ownLimit.Load() {
		return
	}
	c.body, c.broken = nil, true
	p.fail(err)
	l.setRead(c, 0)
	if p.dropping {
		c.state, c.closing = stateIdle, true
		l.next(c)
		return
	}
	l.rearm(c)
}
