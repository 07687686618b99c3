// SPDX-License-Identifier: MIT

//go:build linux

package python

// #include "shim.h"
// #cgo noescape m0_wsgi
// #cgo noescape m0_wsgi_done
// #cgo nocallback m0_wsgi_done
// #cgo noescape m0_lock
// #cgo nocallback m0_lock
// #cgo noescape m0_unlock
// #cgo nocallback m0_unlock
import "C"

import (
	"encoding/binary"
	"errors"
	"io"
	"iter"
	"unsafe"
)

// A Seat is a Python thread that serves. It is a loop.Seat. What is not
// documented otherwise is for the thread itself, with the interpreter's lock.
type Seat struct {
	c   *C.m0_call
	tid int       // of the thread, for the kernel
	to  Responder // of the request in hand

	// Own is the server's, for what belongs to this thread.
	Own any
}

// Thread is the number that the kernel knows the thread by.
func (s *Seat) Thread() int { return s.tid }

// Lock takes the interpreter's lock.
func (s *Seat) Lock() { C.m0_lock(s.c) }

// Unlock gives it back.
func (s *Seat) Unlock() { C.m0_unlock(s.c) }

// Sleep waits for Rouse, without the lock.
func (s *Seat) Sleep() { C.m0_sleep(s.c) }

// Rouse ends Sleep. Any goroutine may call it.
func (s *Seat) Rouse() { C.m0_rouse(s.c) }

// Nap waits for a moment, without the lock.
func (s *Seat) Nap() { C.m0_nap() }

// A Responder is one request, as seen from the application.
type Responder interface {
	// Begin is told the head of the answer, before the first Write.
	Begin(Head)
	// Whole is told the whole body at once, in place of Write.
	Whole(p []byte, mayBlock bool) error
	// Write adds to the body. With mayBlock it may wait, and the caller does not
	// have the interpreter's lock; ErrWouldBlock asks for that.
	Write(p []byte, mayBlock bool) error
	// File is told a body that is the rest of a regular file, in place of Write,
	// without the lock.
	File(fd int, at int64) error
	// Read reads the body of the request, without the lock.
	Read(p []byte) (int, error)
	// Break ends every Read, on whatever thread, for good.
	Break()
}

// ErrWouldBlock is what Write returns to be called again without the lock.
var ErrWouldBlock = errors.New("python: would block")

// A Head is the head of an answer, as start_response was told. It is valid
// until the application's call returns.
type Head struct{ c *C.m0_call }

// Status is the status code.
func (h Head) Status() int { return int(h.c.code) }

// Reason is the reason phrase, in latin-1.
func (h Head) Reason() string {
	return unsafe.String((*byte)(unsafe.Pointer(h.c.reason)), int(h.c.reason_len))
}

// Packed are the fields as they came: the same bytes are the same fields.
func (h Head) Packed() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(h.c.fields)), int(h.c.fields_len))
}

// Fields are the header fields in order, checked, in latin-1.
func (h Head) Fields() iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		for at := h.Packed(); len(at) > 0; {
			var name, value string
			name, at = cutText(at)
			value, at = cutText(at)
			if !yield(name, value) {
				return
			}
		}
	}
}

// cutText reads one string of a pack.
func cutText(p []byte) (text string, rest []byte) {
	n := binary.NativeEndian.Uint32(p)
	p = p[4:]
	return unsafe.String(unsafe.SliceData(p), n), p[n:]
}

// Pack appends one string of a request's pack.
func Pack[T string | []byte](dst []byte, text T) []byte {
	dst = binary.NativeEndian.AppendUint32(dst, uint32(len(text)))
	return append(dst, text...)
}

// SetPackLen makes text, which Pack's length prefix was left empty for, a string
// of a pack.
func SetPackLen(text []byte) {
	binary.NativeEndian.PutUint32(text, uint32(len(text)-4))
}

// An Outcome is how a call of the application ended.
type Outcome int

// The outcomes.
const (
	Written Outcome = iota // the answer is complete
	Failed                 // nothing was sent: 500
	Aborted                // the answer cannot be completed
)

// WSGI calls the application with the request in pack: the parts of enum m0_part
// in order, then names and values of fields. body is what was read ahead; whole
// says that it is all.
func (s *Seat) WSGI(pack, body []byte, whole bool, to Responder) Outcome {
	s.to = to
	n := C.ssize_t(len(body))
	if !whole {
		n = -1
	}
	outcome := C.m0_wsgi(C.m0_ref(uintptr(unsafe.Pointer(s.c))),
		(*C.char)(unsafe.Pointer(unsafe.SliceData(pack))), C.size_t(len(pack)),
		(*C.char)(unsafe.Pointer(unsafe.SliceData(body))), n)
	switch outcome {
	case C.M0_WHOLE:
		return s.whole()
	case C.M0_WRITTEN:
		if s.c.sent == 0 { // an empty body
			to.Begin(Head{s.c})
		}
		return Written
	case C.M0_ABORTED:
		return Aborted
	}
	return Failed
}

// whole writes an answer that is in memory.
func (s *Seat) whole() Outcome {
	s.to.Begin(Head{s.c})
	body := unsafe.Slice((*byte)(unsafe.Pointer(s.c.body)), int(s.c.body_len))
	err := s.to.Whole(body, false)
	if err == ErrWouldBlock {
		s.Unlock()
		err = s.to.Whole(body, true)
		s.Lock()
	}
	if s.c.keep != nil {
		C.m0_wsgi_done(s.c)
	}
	if err != nil {
		return Aborted
	}
	return Written
}

//export m0GoWrite
func m0GoWrite(c *C.m0_call, data *C.char, n C.size_t, mayBlock C.int) C.int {
	to := seats[c.seat].Load().to
	if c.sent == 0 {
		c.sent = 1
		to.Begin(Head{c})
	}
	switch to.Write(unsafe.Slice((*byte)(unsafe.Pointer(data)), int(n)), mayBlock != 0) {
	case nil:
		return C.M0_OK
	case ErrWouldBlock:
		return C.M0_WOULD_BLOCK
	}
	return C.M0_GONE
}

//export m0GoFile
func m0GoFile(c *C.m0_call, fd C.int, at C.longlong) C.int {
	to := seats[c.seat].Load().to
	c.sent = 1
	to.Begin(Head{c})
	if to.File(int(fd), int64(at)) != nil {
		return C.M0_GONE
	}
	return C.M0_OK
}

//export m0GoRead
func m0GoRead(c *C.m0_call, data *C.char, n C.size_t) C.ssize_t {
	p := unsafe.Slice((*byte)(unsafe.Pointer(data)), int(n))
	got, err := seats[c.seat].Load().to.Read(p)
	if got == 0 && err != nil && !errors.Is(err, io.EOF) {
		return -1
	}
	return C.ssize_t(got)
}

//export m0GoBreak
func m0GoBreak(c *C.m0_call) { seats[c.seat].Load().to.Break() }
