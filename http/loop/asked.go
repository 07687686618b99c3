// SPDX-License-Identifier: MIT

package loop

import (
	"errors"
	"net/netip"
)

// The errors of Ask, beside those of the parser and ErrClosed.
var (
	ErrBusy   = errors.New("loop: too many requests wait already")
	ErrTooBig = errors.New("loop: the answer to a request from inside is too long")
	errPart   = errors.New("loop: a request from inside has to be whole, with its length")
)

// askedMax is how long the body of an answer to Ask may be.
const askedMax = 1 << 20

// An Asking is a request that no connection has sent.
type Asking struct {
	Raw  []byte // head and body, HTTP/1.1, with Content-Length; it becomes the Group's
	Peer netip.AddrPort
	// Done gets the answer: Status, AnswerField, AnswerBody. It is called once, with
	// the lock of the handler's seat, if it has one; it must not block, nor keep x.
	Done func(x *Exchange)
	// For tells the Handler what the request is for, see Exchange.Asked.
	For any
}

// Ask gives the Handler a request from inside the process: a message of a WebSocket,
// for one, that an application answers like any other request. What is said of the
// connection (Flush, Hijack, HoldConn) is refused or does nothing. An error means that
// the Handler is not called. Any goroutine may call it; it does not wait.
func (g *Group) Ask(a Asking) error {
	l := g.loops[0]
	x := &Exchange{replies: make(chan error, 1), raw: a.Raw}
	x.reset(l, nil, nil)
	x.asking, x.peer = &a, a.Peer
	x.parser.Limits = &g.cfg.Limits
	n, err := x.parser.Parse(x.raw, &x.req)
	switch {
	case err != nil:
		return err
	case n == 0, x.req.Chunked, max(x.req.ContentLength, 0) != int64(len(x.raw)-n):
		return errPart
	}
	x.body = x.raw[n:]
	x.route = routeOf(x.req.Method, x.req.Path)
	x.seated = l.seated(&x.req)
	if l.isDead() {
		return ErrClosed
	}
	enter := g.gate.enter
	if x.seated {
		enter = g.seats.enter
	}
	switch enter(x) {
	case admitted:
		go g.runOffLoop(x)
	case refused:
		g.dropsBlocking.Add(1)
		return ErrBusy
	}
	l.seeQueued()
	return nil
}

// seeQueued makes a seat that leads and sleeps see what waits for one.
func (l *Loop) seeQueued() {
	l.posted.Store(true) // before the look whether it sleeps
	l.rouse()
}

// Asked is what the request is for, as Asking.For has it, and whether it comes from
// inside at all.
func (x *Exchange) Asked() (what any, inside bool) {
	if x.asking == nil {
		return nil, false
	}
	return x.asking.For, true
}

// AnswerBody is the body of the answer to Ask.
func (x *Exchange) AnswerBody() []byte { return x.out }

// answered gives the answer to who has asked.
func (x *Exchange) answered() { x.asking.Done(x) }
