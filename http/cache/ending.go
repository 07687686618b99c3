// SPDX-License-Identifier: MIT

package cache

import (
	"context"
	"sync"
	"time"
)

// An ending is the context of a handler: it has the values of a request and ends when
// nobody wants the answer any more. Most handlers never ask for its end, and until one
// does there is nothing that could end, nor does anybody listen to the client.
type ending struct {
	run *run
	of  context.Context // the request's; nil where asked is there from the start

	mu    sync.Mutex
	asked context.Context // nil: nobody has asked
	end   context.CancelFunc
	still func() bool // listens to the client no more
	over  bool
}

// Deadline implements context.Context: that of a request is no matter of the others.
func (x *ending) Deadline() (at time.Time, ok bool) {
	if x.of == nil {
		return x.asked.Deadline()
	}
	return at, false
}

// Done implements context.Context.
func (x *ending) Done() <-chan struct{} { return x.ask().Done() }

// Err implements context.Context.
func (x *ending) Err() error { return x.ask().Err() }

// Value implements context.Context. Package context asks for the end first, and then for
// what ends: that is no longer the request's, and costs a child no goroutine.
func (x *ending) Value(key any) any {
	x.mu.Lock()
	asked := x.asked
	x.mu.Unlock()
	if asked == nil {
		asked = x.of
	}
	return asked.Value(key)
}

// ask makes what can end, and listens to the client.
func (x *ending) ask() context.Context {
	x.mu.Lock()
	left := false
	if x.asked == nil {
		x.asked, x.end = context.WithCancel(context.WithoutCancel(x.of))
		switch left = !x.over && x.of.Err() != nil; {
		case x.over:
			x.end()
		case !left && x.of.Done() != nil:
			x.still = context.AfterFunc(x.of, x.leave)
		}
	}
	asked := x.asked
	x.mu.Unlock()
	if left {
		x.leave() // not within the lock, which comes behind the Cache's
	}
	return asked
}

func (x *ending) leave() { x.run.c.leaveLead(&x.run.f) }

// cancel ends the context.
func (x *ending) cancel() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.over = true
	if x.end != nil {
		x.end()
	}
}

// close is called when the handler has returned.
func (x *ending) close() {
	x.cancel()
	if x.still != nil { // nobody writes it any more
		x.still()
	}
}
