// SPDX-License-Identifier: MIT

//go:build cgo && linux

package serve

import (
	"log/slog"
	"sync"
	"time"

	"m0serve.dev/http/loop"
	engine "m0serve.dev/wsgi/internal/python"
	times "m0serve.dev/wsgi/internal/realtime/clock"
)

// A clock looks how long calls of the application take (--timeout). It needs no
// interpreter's lock, so a view that holds it is seen as well.
type clock struct {
	limit  time.Duration
	log    *slog.Logger
	stacks *stacks
	late   func() // asks for another worker, once

	mu    sync.Mutex
	seats map[*engine.Seat]*times.Stamp // when the call began
}

// newClock returns nil, which is a clock too, when there is no limit.
func newClock(limit time.Duration, log *slog.Logger, s *stacks, late func()) *clock {
	if limit <= 0 {
		return nil
	}
	c := &clock{limit: limit, log: log, stacks: s, late: late,
		seats: map[*engine.Seat]*times.Stamp{}}
	go c.watch()
	return c
}

func (c *clock) begin(seat *engine.Seat, x *loop.Exchange) {
	if c != nil {
		c.of(seat).Set(x.Entered())
	}
}

func (c *clock) end(seat *engine.Seat) {
	if c != nil {
		c.of(seat).Clear()
	}
}

func (c *clock) of(seat *engine.Seat) *times.Stamp {
	r := seatRequest(seat)
	if r.began == nil {
		r.began = new(times.Stamp)
		c.mu.Lock()
		c.seats[seat] = r.began
		c.mu.Unlock()
	}
	return r.began
}

// lookEvery is how often something is looked at that has a limit.
func lookEvery(limit time.Duration) time.Duration {
	return min(max(limit/10, 10*time.Millisecond), time.Second)
}

// watch ends with the process, or with the first call that is late.
func (c *clock) watch() {
	ticker := time.NewTicker(lookEvery(c.limit))
	defer ticker.Stop()
	for now := range ticker.C {
		if seat := c.stuck(now); seat != nil {
			c.log.Error("m0serve: a request took longer than --timeout; the worker is replaced",
				"limit", c.limit)
			c.stacks.print(seat.Thread())
			c.late()
			return
		}
	}
}

func (c *clock) stuck(now time.Time) *engine.Seat {
	c.mu.Lock()
	defer c.mu.Unlock()
	for seat, began := range c.seats {
		if took, ok := began.Since(now); ok && took > c.limit {
			return seat
		}
	}
	return nil
}
