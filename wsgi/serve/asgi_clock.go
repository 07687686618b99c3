// SPDX-License-Identifier: MIT

//go:build cgo && linux

package serve

import (
	"log/slog"
	"sync/atomic"
	"time"

	times "m0serve.dev/wsgi/internal/realtime/clock"
)

// A pulse looks whether the event loop still turns (--timeout). A coroutine that
// awaits may take as long as it likes; one that computes, or waits without await,
// holds up all others. It needs no interpreter's lock.
type pulse struct {
	limit  time.Duration
	log    *slog.Logger
	stacks *stacks
	late   func()      // asks for another worker, once
	at     times.Stamp // when the last turn began
	ended  atomic.Bool // no turn is to come
}

// newPulse returns nil, which is a pulse too, when there is no limit.
func newPulse(limit time.Duration, log *slog.Logger, s *stacks, late func()) *pulse {
	if limit <= 0 {
		return nil
	}
	return &pulse{limit: limit, log: log, stacks: s, late: late}
}

// begin watches the event loop of a thread; rouse asks it for a turn.
func (p *pulse) begin(thread int, rouse func()) {
	if p != nil {
		p.turn()
		go p.watch(thread, rouse)
	}
}

// turn is told of every turn.
func (p *pulse) turn() {
	if p != nil {
		p.at.Set(time.Now())
	}
}

// end is told of the last one.
func (p *pulse) end() {
	if p != nil {
		p.ended.Store(true)
	}
}

// watch ends with the event loop, or with the first turn that is late. A look that is
// late itself proves nothing: then the process, and perhaps the machine, was stopped.
func (p *pulse) watch(thread int, rouse func()) {
	every := lookEvery(p.limit)
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for last := time.Now(); !p.ended.Load(); {
		<-ticker.C
		now := time.Now()
		took, _ := p.at.Since(now)
		switch {
		case now.Sub(last) > 2*every:
			p.turn()
		case took > p.limit:
			p.log.Error("m0serve: the event loop was held up for longer than --timeout; "+
				"the worker is replaced", "limit", p.limit)
			p.stacks.print(thread)
			p.late()
			return
		}
		last = now
		rouse()
	}
}
