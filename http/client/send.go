// SPDX-License-Identifier: MIT

package client

import (
	"errors"
	"io"
	"sync/atomic"
	"time"

	"m0serve.dev/http/wire"
)

const (
	// streamBytes is read from a body at a time.
	streamBytes = 32 << 10
	// lastWrite is how long a whole answer waits for the write of the request's last
	// bytes to return: the server has them, so it is about to.
	lastWrite = 50 * time.Millisecond
)

var errTrailer = errors.New("a trailer that means something in a head only")

// A sender writes a long body while its answer is awaited. It owns the writing
// half of the connection until done is closed; what is below done is read after
// that alone.
type sender struct {
	conn     *conn
	head     []byte
	body     []byte
	stream   io.Reader
	length   int64
	trailers func() []Field
	limit    time.Duration
	last     atomic.Bool // the last write is under way or over

	done     chan struct{}
	err      error
	mine     bool // err is of the caller's Stream
	consumed bool // Stream was read
	endedAt  time.Time
}

// startSender sends req on a goroutine of its own; stopSending waits for it.
func startSender(req *Request, r *receiver) *sender {
	s := &sender{conn: r.conn, head: r.out, body: req.Body, stream: req.Stream,
		length: req.Length, trailers: req.Trailers, limit: r.bodyTimeout,
		done: make(chan struct{})}
	go s.run()
	return s
}

func (s *sender) run() {
	s.err = s.sendAll()
	closeStream(s.stream)
	s.endedAt = time.Now()
	failed := s.mine || s.err != nil && kindOf(s.err, false) == Timeout
	close(s.done)
	if failed { // the reader would wait for an answer to half a request
		_ = s.conn.raw.Close()
	}
}

// due is when an answer is due: limit behind the end of the request.
func (s *sender) due(now time.Time, limit time.Duration) time.Time {
	select {
	case <-s.done:
		return s.endedAt.Add(limit)
	default:
		return now.Add(limit)
	}
}

func (s *sender) sendAll() error {
	s.last.Store(s.stream == nil)
	if err := s.write(s.head); err != nil {
		return err
	}
	switch {
	case s.stream == nil:
		return s.write(s.body)
	case s.length > 0:
		return s.sendLength()
	}
	return s.sendChunks()
}

func (s *sender) write(b []byte) error {
	return s.conn.write(b, s.limit, time.Now())
}

// sendLength sends as many bytes as were announced.
func (s *sender) sendLength() error {
	b := make([]byte, min(s.length, streamBytes))
	for left := s.length; left > 0; {
		n, err := s.readStream(b[:min(left, int64(len(b)))])
		left -= int64(n)
		if n > 0 {
			s.last.Store(left == 0)
			if err := s.write(b[:n]); err != nil {
				return err
			}
		}
		if err != nil && left > 0 {
			s.mine = true
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
	}
	return nil
}

// sendChunks sends the stream to its end, each piece as it comes.
func (s *sender) sendChunks() error {
	b := make([]byte, streamBytes)
	out := make([]byte, 0, streamBytes+16)
	for {
		n, err := s.readStream(b)
		if n > 0 {
			out = wire.AppendChunk(out[:0], b[:n])
			if err := s.write(out); err != nil {
				return err
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			s.mine = true
			return err
		}
	}
	var err error
	if out, err = s.appendEnd(out[:0]); err != nil {
		s.mine = true
		return err
	}
	s.last.Store(true)
	return s.write(out)
}

func (s *sender) readStream(b []byte) (int, error) {
	s.consumed = true
	return s.stream.Read(b)
}

// appendEnd appends the last chunk with the trailers.
func (s *sender) appendEnd(out []byte) ([]byte, error) {
	if s.trailers == nil {
		return append(out, wire.LastChunk...), nil
	}
	out = append(out, "0\r\n"...)
	for _, f := range s.trailers() {
		if isOwn(f.Name) {
			return out, errTrailer
		}
		var err error
		if out, err = wire.AppendField(out, f.Name, f.Value); err != nil {
			return out, err
		}
	}
	return append(out, wire.LineEnd...), nil
}

// closeStream ends a Read of a body that can be closed.
func closeStream(stream io.Reader) {
	if c, ok := stream.(io.Closer); ok {
		_ = c.Close()
	}
}
