// SPDX-License-Identifier: MIT

package loop

import (
	"sync"
	"sync/atomic"
)

// A gate bounds how many handlers run off the loops of a Group, and keeps the
// ones beyond that in order.
type gate struct {
	max, queueMax int // negative: no bound
	full          atomic.Bool

	mu      sync.Mutex
	running int
	queue   queue[*Exchange]
}

type verdict uint8

const (
	admitted verdict = iota // run it now
	queued                  // somebody who leaves will run it
	refused                 // there is no room to wait either
)

// enter asks for a place for x.
func (g *gate) enter(x *Exchange) verdict {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.max < 0 || g.running < g.max {
		g.running++
		g.full.Store(g.running == g.max)
		return admitted
	}
	if g.queueMax >= 0 && g.queue.len() >= g.queueMax {
		return refused
	}
	g.queue.push(x)
	return queued
}

// force counts a handler that is off its loop already.
func (g *gate) force() {
	g.mu.Lock()
	g.running++
	g.full.Store(g.max >= 0 && g.running >= g.max)
	g.mu.Unlock()
}

// leave gives a place back, or to the Exchange it returns.
func (g *gate) leave() *Exchange {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.max < 0 || g.running <= g.max {
		if x, ok := g.queue.pop(); ok {
			return x
		}
	}
	g.running--
	g.full.Store(g.max >= 0 && g.running >= g.max)
	return nil
}

func (g *gate) counts() (running, waiting int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.running, g.queue.len()
}
