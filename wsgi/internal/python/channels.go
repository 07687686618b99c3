// SPDX-License-Identifier: MIT

//go:build linux

package python

// #include <stdlib.h>
// #include "shim.h"
import "C"

import (
	"errors"
	"unsafe"
)

// Channels are what an application publishes to and subscribes to without a socket.
// The methods may be called from any thread.
type Channels interface {
	// Publish publishes an event to every worker; event and id may be "".
	Publish(channel, data, event, id string) (uint64, error)
	// Subscribe begins a subscription when token is NoToken, and otherwise adds a
	// channel to one that there is.
	Subscribe(token uint32, channel string) (uint32, error)
	// Receive appends the next message of a subscription to out: channel, event, data
	// and id, when it answers MessageComes.
	Receive(token uint32, out *Events) (what Received, missing int)
	// Unsubscribe ends a subscription.
	Unsubscribe(token uint32)
}

// NoToken is no subscription.
const NoToken = ^uint32(0)

// Received is what Receive answers.
type Received C.int

// The answers.
const (
	NothingComes    Received = C.M0_NOTHING // until EventHeard
	MessageComes    Received = C.M0_COMES
	MessagesMissing Received = C.M0_MISSING // so many, ahead of the next
	MessagesEnd     Received = C.M0_OVER
)

// Trouble is an error that the arguments are not to blame for: a RuntimeError of
// Python's, where others are a ValueError.
type Trouble struct{ Err error }

func (t *Trouble) Error() string { return t.Err.Error() }

// Unwrap returns the cause.
func (t *Trouble) Unwrap() error { return t.Err }

// channels is set by Options, before any of the functions below can be reached.
var channels Channels

// SetChannels says where the functions for channels end. It is called once, by
// Options.
func SetChannels(c Channels) { channels = c }

func stringOf(t *C.m0_text) string { return C.GoStringN(t.at, C.int(t.len)) }

// problemOf hands an error to C, which frees its text.
func problemOf(err error, wrong **C.char) C.int {
	if err == nil {
		return C.M0_OK
	}
	*wrong = C.CString(err.Error())
	var trouble *Trouble
	if errors.As(err, &trouble) {
		return C.M0_GONE
	}
	return C.M0_INVALID
}

//export m0GoPublish
func m0GoPublish(first *C.m0_text, id *C.uint64_t, wrong **C.char) C.int {
	t := unsafe.Slice(first, 4)
	n, err := channels.Publish(stringOf(&t[0]), stringOf(&t[1]), stringOf(&t[2]), stringOf(&t[3]))
	*id = C.uint64_t(n)
	return problemOf(err, wrong)
}

//export m0GoSubscribe
func m0GoSubscribe(token *C.uint32_t, channel *C.m0_text, wrong **C.char) C.int {
	n, err := channels.Subscribe(uint32(*token), stringOf(channel))
	*token = C.uint32_t(n)
	return problemOf(err, wrong)
}

//export m0GoReceive
func m0GoReceive(token C.uint32_t, events *C.m0_events, missing *C.int) C.int {
	what, n := channels.Receive(uint32(token), &Events{events})
	*missing = C.int(n)
	return C.int(what)
}

//export m0GoUnsubscribe
func m0GoUnsubscribe(token C.uint32_t) { channels.Unsubscribe(uint32(token)) }
