// SPDX-License-Identifier: MIT

//go:build linux

package python

// #include <stdlib.h>
// #include "shim.h"
import "C"

import (
	"encoding/binary"
	"iter"
	"unsafe"
)

// An ASGI is the server's side of an ASGI application. All its methods are
// called on the thread of the event loop.
type ASGI interface {
	// Attach begins; both descriptors are to be watched.
	Attach() (poller, wakes int, err error)
	// Turn leads the engine for a turn and appends what happened.
	Turn(*Events)
	// Respond begins an answer; more says that Send goes on with it.
	Respond(token uint32, status int, fields Fields, body []byte, more bool) Reply
	Send(token uint32, body []byte, more bool) Reply
	Trailers(token uint32, fields Fields) Reply
	Inform(token uint32, fields Fields) Reply
	// Want asks for the next piece of the request's body.
	Want(token uint32)
	// Finish and Abort end a token.
	Finish(token uint32)
	Abort(token uint32)

	Accept(token uint32, subprotocol string, fields Fields) Reply
	// Room says that so many messages more may come.
	Room(token uint32, messages int)
	SendMessage(token uint32, data []byte, isText bool) Reply
	Close(token uint32, code int, reason string) Reply
}

// A Reply is what a function of ASGI answers.
type Reply C.int

// The replies.
const (
	OK      Reply = C.M0_OK
	Slow    Reply = C.M0_SLOW    // taken; EventDrained follows
	Gone    Reply = C.M0_GONE    // the client is
	Invalid Reply = C.M0_INVALID // it cannot be sent
)

// Fields are packed names and values, in latin-1, valid during the call.
type Fields []byte

// All gives name by name.
func (f Fields) All() iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		for len(f) > 0 {
			var name, value string
			var rest []byte
			name, rest = cutText(f)
			value, rest = cutText(rest)
			if f = rest; !yield(name, value) {
				return
			}
		}
	}
}

// The kinds of events; what each carries stands at take_event in asgi.c.
const (
	EventRequest = C.M0_REQUEST
	EventData    = C.M0_DATA
	EventGone    = C.M0_GONE_AWAY
	EventDrained = C.M0_DRAINED
	EventConnect = C.M0_CONNECT
	EventMessage = C.M0_MESSAGE
	EventClosed  = C.M0_CLOSED
	EventHeard   = C.M0_HEARD
	EventStop    = C.M0_STOP
	EventEnded   = C.M0_ENDED
)

// Events is a buffer of C's that Go writes. It belongs to one Turn.
type Events struct{ c *C.m0_events }

// grow makes room for n more bytes and returns them.
func (e *Events) grow(n int) []byte {
	need := e.c.len + C.size_t(n)
	if need > e.c.cap {
		e.c.cap = 2*need + 4096
		e.c.data = (*C.char)(C.realloc(unsafe.Pointer(e.c.data), e.c.cap))
		if e.c.data == nil {
			panic("python: out of memory")
		}
	}
	at := unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(e.c.data), e.c.len)), n)
	e.c.len = need
	return at
}

// Int appends a number.
func (e *Events) Int(n uint32) { binary.NativeEndian.PutUint32(e.grow(4), n) }

// Flag appends a truth value.
func (e *Events) Flag(on bool) {
	n := uint32(0)
	if on {
		n = 1
	}
	e.Int(n)
}

// Text appends bytes with their length.
func (e *Events) Text(text []byte) {
	e.Int(uint32(len(text)))
	copy(e.grow(len(text)), text)
}

// TextOf is Text for a string.
func (e *Events) TextOf(text string) {
	e.Int(uint32(len(text)))
	copy(e.grow(len(text)), text)
}

// Lower appends the name of a field in lower case.
func (e *Events) Lower(name []byte) {
	e.Int(uint32(len(name)))
	at := e.grow(len(name))
	for i, b := range name {
		if 'A' <= b && b <= 'Z' {
			b |= 0x20
		}
		at[i] = b
	}
}

// Empty reports whether nothing was appended.
func (e *Events) Empty() bool { return e.c.len == 0 }

// asgi is set by Start, before any of the functions below can be reached.
var asgi ASGI

// SetASGI says where the functions for ASGI end. It is called once, by Start.
func SetASGI(a ASGI) { asgi = a }

func bytesOf(p *C.char, n C.size_t) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(p)), int(n))
}

//export m0GoAttach
func m0GoAttach(poller, wakes *C.int) C.int {
	if asgi == nil {
		return -1
	}
	p, w, err := asgi.Attach()
	if err != nil {
		return -1
	}
	*poller, *wakes = C.int(p), C.int(w)
	return 0
}

//export m0GoTurn
func m0GoTurn(events *C.m0_events) {
	events.len = 0
	asgi.Turn(&Events{events})
}

//export m0GoRespond
func m0GoRespond(token C.uint32_t, status C.int, fields *C.char, fieldsLen C.size_t,
	body *C.char, n C.size_t, more C.int) C.int {
	return C.int(asgi.Respond(uint32(token), int(status), bytesOf(fields, fieldsLen),
		bytesOf(body, n), more != 0))
}

//export m0GoSend
func m0GoSend(token C.uint32_t, body *C.char, n C.size_t, more C.int) C.int {
	return C.int(asgi.Send(uint32(token), bytesOf(body, n), more != 0))
}

//export m0GoFields
func m0GoFields(token C.uint32_t, fields *C.char, n C.size_t, isTrailers C.int) C.int {
	if isTrailers != 0 {
		return C.int(asgi.Trailers(uint32(token), bytesOf(fields, n)))
	}
	return C.int(asgi.Inform(uint32(token), bytesOf(fields, n)))
}

//export m0GoEnd
func m0GoEnd(token C.uint32_t, how C.int) {
	switch how {
	case C.M0_WANT:
		asgi.Want(uint32(token))
	case C.M0_FINISH:
		asgi.Finish(uint32(token))
	case C.M0_ABORT:
		asgi.Abort(uint32(token))
	}
}

//export m0GoAccept
func m0GoAccept(token C.uint32_t, subprotocol, fields *C.char, n C.size_t) C.int {
	return C.int(asgi.Accept(uint32(token), C.GoString(subprotocol), bytesOf(fields, n)))
}

//export m0GoRoom
func m0GoRoom(token C.uint32_t, messages C.int) { asgi.Room(uint32(token), int(messages)) }

//export m0GoSendMessage
func m0GoSendMessage(token C.uint32_t, data *C.char, n C.size_t, isText C.int) C.int {
	return C.int(asgi.SendMessage(uint32(token), bytesOf(data, n), isText != 0))
}

//export m0GoClose
func m0GoClose(token C.uint32_t, code C.int, reason *C.char) C.int {
	return C.int(asgi.Close(uint32(token), int(code), C.GoString(reason)))
}
