// SPDX-License-Identifier: MIT

package client

import (
	"io"
	"sync"

	"m0serve.dev/http/wire"
)

// A Response is an answer with its whole body. All slices lie in its memory and
// are valid until it is used again.
type Response struct {
	wire.Response // Status, Reason, Fields and the method Field
	Body          []byte
	Trailers      []wire.Field // those that mean something behind a body
	receiver
}

func (r *Response) reset() {
	r.receiver.reset()
	r.Response = wire.Response{Fields: r.Fields[:0]}
	r.Body, r.Trailers = nil, nil
}

// readAll reads the body behind the head, in place: data moves to the front of
// what was read, which starts behind it.
func (r *Response) readAll() error {
	first := r.start
	end := first
	for {
		data, n, err := r.body.Append(r.buf[first:end], r.buf[r.r:r.w])
		end = first + len(data)
		r.r += n
		r.Body = r.buf[first:end:end]
		if err != nil {
			return r.fail(err)
		}
		if r.body.Done() {
			break
		}
		if err := r.readMore(end); err != nil {
			if err == io.EOF {
				break
			}
			return r.fail(err)
		}
	}
	r.Trailers = r.body.Trailers
	r.finish(&r.Response)
	return nil
}

// readMore reads behind the data, where there is room for what is known to
// come, though for no more than twice what came.
func (r *Response) readMore(end int) error {
	r.r, r.w = end, end
	room := int(min(r.body.Remaining(), int64(max(end, streamBytes))))
	if need := end + max(room, headBytes/4); need > len(r.buf) {
		if r.ContentLength < 0 {
			need = max(need, 2*len(r.buf))
		}
		grown := make([]byte, need)
		copy(grown, r.buf[:end])
		r.buf = grown
	}
	n, err := r.readBody(r.buf[end:])
	r.w = end + n
	return err
}

// A Stream is an answer whose body is read while it comes. It has one reader;
// Close may be called by anybody.
type Stream struct {
	wire.Response              // Status, Reason, Fields and the method Field
	Trailers      []wire.Field // behind the body's end
	receiver

	mu    sync.Mutex // held by the reader, and by Close behind it
	piece []byte     // of Next, what Read has left of it
	err   error      // once the body has ended
	taken *conn      // what Close ends when it is still the Stream's
}

// Next returns the next piece of the body as it came, valid until the next
// call. The error is io.EOF behind a body that is whole, else an *Error.
func (s *Stream) Next() ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nextLocked()
}

func (s *Stream) nextLocked() ([]byte, error) {
	if len(s.piece) > 0 {
		piece := s.piece
		s.piece = nil
		return piece, nil
	}
	for s.err == nil {
		if s.r == s.w {
			s.readMore()
			continue
		}
		if piece := s.decode(); len(piece) > 0 {
			return piece, nil
		}
	}
	return nil, s.err
}

// decode takes the next piece out of what was read.
func (s *Stream) decode() []byte {
	piece, n, err := s.body.Next(s.buf[s.r:s.w])
	s.r += n
	if err != nil {
		s.err = s.fail(err)
		return nil
	}
	if s.body.Done() {
		s.finish(&s.Response)
	}
	return piece
}

// readMore reads behind the head, whose fields stay where they are.
func (s *Stream) readMore() {
	s.r, s.w = s.start, s.start
	if len(s.buf)-s.start < streamBytes/2 {
		grown := make([]byte, s.start+streamBytes)
		copy(grown, s.buf[:s.start])
		s.buf = grown
	}
	n, err := s.readBody(s.buf[s.start:])
	s.w += n
	switch {
	case err == io.EOF:
		s.finish(&s.Response)
	case err != nil:
		s.err = s.fail(err)
	}
}

// finish makes the end of the body known.
func (s *Stream) finish(head *wire.Response) {
	s.Trailers, s.err = s.body.Trailers, io.EOF
	s.receiver.finish(head)
}

// Read implements io.Reader.
func (s *Stream) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(p) == 0 {
		return 0, nil
	}
	if len(s.piece) == 0 {
		piece, err := s.nextLocked()
		if err != nil {
			return 0, err
		}
		s.piece = piece
	}
	n := copy(p, s.piece)
	s.piece = s.piece[n:]
	return n, nil
}

// Close ends the answer wherever it is, and a Next or Read that waits for more.
// A connection whose answer is not whole by then is closed.
func (s *Stream) Close() error {
	if s.mu.TryLock() {
		for s.err == nil && s.r < s.w {
			s.decode() // the end may be there already
		}
	} else {
		s.closed.Store(true)
		s.taken.abort(&s.receiver)
		s.mu.Lock()
	}
	defer s.mu.Unlock()
	if s.err == nil {
		s.closed.Store(true)
		s.err = s.fail(errClosed)
	}
	s.piece = nil
	return nil
}
