// SPDX-License-Identifier: MIT

package loop

import (
	"context"
	"sync"
	"time"
)

// A RequestContext is the context of one request, in memory of whoever made it
// (Exchange.ContextIn). It is cancelled once, makes its channel when somebody asks
// for it, and runs AfterFunc functions itself, so that a derived context needs no
// goroutine.
type RequestContext struct {
	x      *Exchange // for RouteKey, until cancelled
	lookUp func(key any) any

	mu    sync.Mutex
	done  chan struct{}
	ended bool
	next  int
	after map[int]func()
}

// A routeSetter is what SetRoute of this package looks for in a context.
type routeSetter struct{}

// SetRoute is Exchange.SetRoute for code that has the request's context only;
// nothing happens when the request is not served by a loop. Call it on the
// handler's goroutine.
func SetRoute(ctx context.Context, name string) {
	if x, ok := ctx.Value(routeSetter{}).(*Exchange); ok {
		x.SetRoute(name)
	}
}

// closedChan is what Done returns behind a cancel that came first.
var closedChan = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// Deadline implements context.Context; there is none.
func (c *RequestContext) Deadline() (time.Time, bool) { return time.Time{}, false }

// Value implements context.Context.
func (c *RequestContext) Value(key any) any {
	if _, ok := key.(routeSetter); ok && c.Err() == nil {
		return c.x
	}
	if c.lookUp != nil {
		return c.lookUp(key)
	}
	return nil
}

// Done implements context.Context.
func (c *RequestContext) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == nil {
		if c.ended {
			c.done = closedChan
		} else {
			c.done = make(chan struct{})
		}
	}
	return c.done
}

// Err implements context.Context.
func (c *RequestContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return context.Canceled
	}
	return nil
}

// AfterFunc is what package context looks for in a foreign parent.
func (c *RequestContext) AfterFunc(f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		go f()
		return func() bool { return false }
	}
	if c.after == nil {
		c.after = make(map[int]func())
	}
	id := c.next
	c.next++
	c.after[id] = f
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		_, waits := c.after[id]
		delete(c.after, id)
		return waits
	}
}

func (c *RequestContext) cancel() {
	c.mu.Lock()
	if c.ended {
		c.mu.Unlock()
		return
	}
	c.ended = true
	if c.done != nil {
		close(c.done)
	}
	after := c.after
	c.after = nil
	c.mu.Unlock()
	for _, f := range after {
		go f()
	}
}
