// SPDX-License-Identifier: MIT

package loop

import (
	"runtime"
	"sync/atomic"

	"m0serve.dev/http/wire"
)

// An offer is what of an answer in the making may be sent by whoever takes the
// loop from its handler. On the loop the pieces of a body wait for the end of the
// turn; when the handler blocks between two of them, they must not (PEP 3333: no
// block is delayed).
//
// The handler writes a slot and offers it; the taker claims it with one swap and
// says when it has sent it. A handler that has lost the loop offers at most once
// more, into the other slot, so the two never touch the same one.
type offer struct {
	state   atomic.Uint32 // offerNone, a slot, offerClaimed or offerSent
	slots   [2][]byte     // of Exchange.out
	head    []byte        // as if the answer were streamed
	chunked bool
	close   bool
	sent    int // bytes of Exchange.out; the handler's from offerSent on
}

const (
	offerNone    = iota
	offerFirst   // slots[0]
	offerSecond  // slots[1]
	offerClaimed // the taker sends what was offered
	offerSent
)

// Offer lets what was written so far be sent while the handler blocks. It does
// nothing when the handler has left the loop: Flush does that then.
func (x *Exchange) Offer() {
	if x.word == 0 || x.started || len(x.out) == 0 || x.asking != nil {
		return
	}
	o := &x.offer
	state := o.state.Load()
	switch state {
	case offerNone:
		x.encodeOffer()
		o.slots[0] = x.out
		o.state.CompareAndSwap(state, offerFirst)
	case offerFirst:
		o.slots[1] = x.out
		o.state.CompareAndSwap(state, offerSecond)
	case offerSecond:
		o.slots[0] = x.out
		o.state.CompareAndSwap(state, offerFirst)
	}
	// Whoever takes the loop looks behind the take, and the handler behind the offer.
	if !x.OnLoop() {
		x.detach()
		_ = x.startFlight() // the next call says whether the peer is there
	}
}

// encodeOffer encodes the head as a streamed answer has it, and leaves x as it
// was.
func (x *Exchange) encodeOffer() {
	o := &x.offer
	shut := x.close
	o.head = x.appendHead(o.head[:0], -1)
	o.chunked, o.close = x.chunked, x.close
	x.started, x.chunked, x.close = false, false, shut
}

// settleOffer is called by a handler that has lost the loop, before it goes on
// with its answer: what was sent for it is sent.
func (x *Exchange) settleOffer() {
	o := &x.offer
	for {
		switch state := o.state.Load(); state {
		case offerNone:
			return
		case offerFirst, offerSecond:
			if o.state.CompareAndSwap(state, offerNone) {
				return // the taker comes too late for it
			}
		case offerClaimed:
			runtime.Gosched() // the taker is at it
		case offerSent:
			o.state.Store(offerNone)
			x.started, x.chunked, x.close = true, o.chunked, o.close
			x.out = append(x.out[:0], x.out[o.sent:]...)
			return
		}
	}
}

// sendOffer sends what the late handler of x had offered. The caller has just
// taken the loop.
func (l *Loop) sendOffer(x *Exchange) {
	o := &x.offer
	state := o.state.Load()
	for state == offerFirst || state == offerSecond {
		if o.state.CompareAndSwap(state, offerClaimed) {
			break
		}
		state = o.state.Load()
	}
	if state == offerNone {
		return
	}
	data := o.slots[state-offerFirst]
	l.scratch = append(l.scratch[:0], o.head...)
	if o.chunked {
		l.scratch = wire.AppendChunk(l.scratch, data)
	} else if !x.isHead() {
		l.scratch = append(l.scratch, data...)
	}
	o.sent = len(data)
	l.send(x.c, l.scratch)
	o.state.Store(offerSent)
}
