// SPDX-License-Identifier: MIT

package loop

import (
	"errors"
	"iter"

	"m0serve.dev/http/internal/sys"
	"m0serve.dev/http/wire"
)

// The part of Exchange that a Guest uses, on its own thread. None of it waits.

// ErrNotYet says that there is nothing to read yet; Readable follows.
var ErrNotYet = errors.New("loop: nothing yet")

// guestOutMax is how much of an answer a guest may leave unsent before Send says
// that the peer is slow.
const guestOutMax = 64 << 10

// tellGuest hands news over, if x is a guest's.
func (x *Exchange) tellGuest(what News) {
	if g := x.guest; g != nil {
		g.Post(x, what)
	}
}

// Append adds to the body without sending anything.
func (x *Exchange) Append(p []byte) error {
	if err := x.admit(len(p)); err != nil {
		return err
	}
	if !x.isHead() {
		x.out = append(x.out, p...)
	}
	return nil
}

// Send sends what was appended so far. slow says that the peer does not keep up:
// Written comes when it does.
func (x *Exchange) Send() (slow bool, err error) {
	if x.gone.Load() {
		return false, ErrGone
	}
	if x.asking != nil {
		return false, nil
	}
	if !x.inflight {
		err = x.startFlight()
	}
	return x.inflight && len(x.out) > guestOutMax, err
}

// Sent is called for the news Written. drained says that the peer has caught
// up; ended that End, which was called before, has completed x now.
func (x *Exchange) Sent() (drained, ended bool) {
	select {
	case err := <-x.replies:
		x.inflight = false
		if err != nil {
			x.aborted = true
		}
	default:
		return false, false
	}
	switch {
	case x.ending:
		x.complete()
		return false, true
	case len(x.out) > 0 && !x.aborted:
		_ = x.startFlight() // the loop is gone: so is the peer, and Gone says so
	}
	return len(x.out) <= guestOutMax, false
}

// End completes the answer, or breaks it off after Abort. Once it has ended, now
// or when Sent says so, x must not be touched any more: it is another request's.
func (x *Exchange) End() (ended bool) {
	if x.ending = true; x.inflight {
		return false
	}
	x.complete()
	return true
}

func (x *Exchange) complete() {
	x.endHandler()
	x.completeOffLoop()
}

// ReadNow reads what is there of the body: ErrNotYet, or io.EOF at its end.
func (x *Exchange) ReadNow(p []byte) (int, error) {
	if x.pipe == nil {
		return x.Read(p)
	}
	n, _, err := x.pipe.readNow(p)
	if n == 0 && err == nil {
		err = ErrNotYet
	}
	return n, err
}

// InformNow is Inform for a guest. While something else is being sent, the
// interim response, which is a hint, is left out.
func (x *Exchange) InformNow(status int, fields iter.Seq2[string, string]) error {
	if !x.mayInform(status) {
		return ErrStarted
	}
	if x.req.Minor == 0 || x.inflight || x.asking != nil {
		return nil
	}
	var err error
	x.flight = wire.AppendStatusLine(x.flight[:0], status)
	for name, value := range fields {
		if x.flight, err = wire.AppendField(x.flight, name, value); err != nil {
			return err
		}
	}
	x.flight = append(x.flight, wire.LineEnd...)
	return x.ask(noteChunk)
}

// Notifier makes a descriptor for a guest's own poller: Notify makes it
// readable, from any thread, and Quiet makes it unreadable again.
func Notifier() (fd int, err error) {
	k, err := sys.Linux()
	if err != nil {
		return -1, err
	}
	return k.Notifier()
}

// Notify makes fd readable.
func Notify(fd int) {
	if k, err := sys.Linux(); err == nil {
		k.Notify(fd)
	}
}

// Quiet makes fd unreadable.
func Quiet(fd int) {
	if k, err := sys.Linux(); err == nil {
		k.Quiet(fd)
	}
}
