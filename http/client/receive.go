// SPDX-License-Identifier: MIT

package client

import (
	"context"
	"errors"
	"io"
	"os"
	"sync/atomic"
	"time"

	"m0serve.dev/http/wire"
)

const (
	// headBytes is the room that the first read has: a small answer whole.
	headBytes = 4 << 10
	// interimMax bounds the 1xx answers before the one that counts.
	interimMax = 32
)

var (
	errInterim = errors.New("too many interim answers")
	errUpgrade = errors.New("101 for a request that asked for no upgrade")
	errClosed  = errors.New("the stream was closed")
)

// A receiver reads one answer. It belongs to the caller's goroutine; the
// connection it has goes back to the pool, or is closed, when the answer ends.
// Its memory serves the next answer.
type receiver struct {
	client *Client
	ctx    context.Context
	conn   *conn   // nil: given back
	send   *sender // nil: the request was sent in one go
	key    hostKey
	method string

	parser wire.ResponseParser
	body   wire.Decoder
	out    []byte // the request's head and short body
	buf    []byte // the head, then what is read of the body; all of it is room
	start  int    // where the head under way begins, in the end where the body does
	r, w   int    // buf[r:w] was read and not used

	limit       time.Duration // between reads; of the head or the body
	bodyTimeout time.Duration
	heard       bool        // a byte of the answer came
	consumed    bool        // a byte of the request's Stream may be gone
	untilClose  bool        // the body ends with the connection
	sendErr     error       // of a request sent in one go
	closed      atomic.Bool // by Close of a Stream
}

// reset forgets the answer before and keeps its memory.
func (r *receiver) reset() {
	*r = receiver{body: r.body, out: r.out, buf: r.buf}
}

// readHead reads the head of the final answer.
func (r *receiver) readHead(req *Request, head *wire.Response) error {
	r.parser.Reset()
	for interims := 0; ; {
		n := 0
		var err error
		if r.w > r.start {
			n, err = r.parser.Parse(r.buf[r.start:r.w], head)
		}
		if err == nil && n == 0 {
			err = r.fill(headBytes)
		}
		if err != nil {
			return err
		}
		if n == 0 {
			continue
		}
		switch r.start += n; {
		case head.Status == 101:
			return errUpgrade
		case !head.Interim():
			r.r = r.start
			return nil
		case interims == interimMax:
			return errInterim
		}
		interims++
		if req.Interim != nil {
			req.Interim(head)
		}
		r.w = copy(r.buf, r.buf[r.start:r.w])
		r.start = 0
	}
}

// fill reads more behind what is there; room is the least to make when there is
// none.
func (r *receiver) fill(room int) error {
	r.makeRoom(room)
	n, err := r.read(r.buf[r.w:])
	r.w += n
	return err
}

// lookForAnswer takes the beginning of an answer that is there almost at once.
// Where several requests are under way the runtime waits for all of them in one
// call, which costs less.
func (r *receiver) lookForAnswer() {
	if cn := r.conn; cn.alone && cn.peek.raw != nil && cn.nc == cn.raw {
		r.makeRoom(headBytes)
		r.w = cn.peek.spin(r.buf)
		r.heard = r.w > 0
	}
}

// makeRoom makes room when there is none.
func (r *receiver) makeRoom(room int) {
	if r.w == len(r.buf) {
		grown := make([]byte, max(2*len(r.buf), r.w+room))
		copy(grown, r.buf)
		r.buf = grown
	}
}

// read reads with the deadline of the phase. While the request is being sent
// nobody can expect an answer, so time runs from its end.
func (r *receiver) read(b []byte) (int, error) {
	for {
		n, err := r.conn.read(b)
		if n > 0 {
			r.heard = true
			return n, nil
		}
		if r.send == nil || !errors.Is(err, os.ErrDeadlineExceeded) {
			return 0, err
		}
		now := time.Now()
		if r.conn.reads.by = r.send.due(now, r.limit); !now.Before(r.conn.reads.by) {
			return 0, err
		}
	}
}

// readBody reads body bytes into b, with a deadline from now on.
func (r *receiver) readBody(b []byte) (int, error) {
	if r.limit > 0 {
		r.conn.reads.by = time.Now().Add(r.limit)
	} else {
		r.conn.reads.by = time.Time{}
	}
	n, err := r.read(b)
	if err == io.EOF && !r.conn.wasCut() && r.body.End() == nil {
		return 0, io.EOF
	}
	if err == io.EOF {
		err = wire.ErrTruncated
	}
	return n, err
}

// finish is called behind the body: the connection goes back to the pool when
// nothing at all speaks against it.
func (r *receiver) finish(head *wire.Response) {
	cn, p := r.conn, &r.client.pool
	stray := r.r < r.w
	if stray {
		p.count(&p.stats.Stray)
	}
	sent := r.stopSending() && r.sendErr == nil
	r.conn = nil
	if cn.disown() && sent && !stray && head.KeepAlive && !r.untilClose &&
		!r.client.cfg.NoKeepAlive {
		p.put(cn)
		return
	}
	cn.drop()
	p.leave(cn.host)
}

// fail ends an answer whose head came, and gives the place back.
func (r *receiver) fail(err error) error {
	h := r.conn.host
	err = r.abandon(err)
	r.conn = nil
	r.client.pool.leave(h)
	return err
}

// abandon closes the connection and says why as an *Error.
func (r *receiver) abandon(err error) error {
	e := r.diagnose(err)
	if e.Kind == TooLarge {
		r.client.pool.count(&r.client.pool.stats.Limited)
	}
	r.conn.abort(r)
	r.stopSending()
	r.conn.drop()
	return e
}

// diagnose finds what an error of reading stands for.
func (r *receiver) diagnose(err error) *Error {
	if r.ctx.Err() != nil {
		return ended(r.ctx, r.key.host)
	}
	if r.closed.Load() {
		return &Error{Canceled, r.key.host, errClosed}
	}
	sendErr := r.sendErr
	if s := r.send; s != nil {
		select {
		case <-s.done:
			if sendErr = s.err; s.mine {
				return &Error{Body, r.key.host, s.err}
			}
		default:
		}
	}
	switch {
	case errors.Is(err, errInterim), errors.Is(err, errUpgrade):
		return &Error{Protocol, r.key.host, err}
	case sendErr != nil && !r.heard:
		err = sendErr
	case err == io.EOF && r.heard:
		err = wire.ErrTruncated
	case err == io.EOF:
		err = io.ErrUnexpectedEOF
	}
	return &Error{kindOf(err, r.heard), r.key.host, err}
}

// stopSending ends the sender, and reports whether all was sent. One that is
// about to end is waited for; else the connection is closed under it.
func (r *receiver) stopSending() bool {
	s := r.send
	if s == nil {
		return true
	}
	if s.last.Load() {
		timer := time.NewTimer(lastWrite)
		defer timer.Stop()
		select {
		case <-s.done:
		case <-timer.C:
		}
	}
	select {
	case <-s.done:
	default:
		r.conn.abort(r)
		closeStream(s.stream)
		<-s.done
	}
	r.send = nil
	r.consumed = r.consumed || s.consumed
	return s.err == nil
}
