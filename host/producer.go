// SPDX-License-Identifier: MIT

package host

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"
)

// a runner steps a producer on a goroutine of its own.
type runner struct {
	name     string
	producer Producer
	out      *Publisher
	log      *slog.Logger
	mine     <-chan struct{} // closed when the first step may begin; nil: at once
	stopping sync.Once
	done     chan struct{} // closed when the goroutine has ended
}

// startRunner starts producer once mine is closed (nil: at once), unless it says
// that it is not wanted: then the runner has ended before it began.
func startRunner(
	name string, producer Producer, out *Publisher, log *slog.Logger, mine <-chan struct{},
) *runner {
	r := &runner{
		name: name, producer: producer, out: out, log: log, mine: mine, done: make(chan struct{}),
	}
	if w, ok := producer.(interface{ Wanted() bool }); ok && !w.Wanted() {
		close(r.done)
		return r
	}
	go r.run()
	return r
}

// run steps until it is stopped or a step fails. The timer, not the step, is
// what a stop interrupts.
func (r *runner) run() {
	defer close(r.done)
	if r.mine != nil {
		select {
		case <-r.mine:
		case <-r.out.stopping:
			return
		}
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	due := time.Now()
	for {
		select {
		case <-r.out.stopping:
			return
		case <-timer.C:
		}
		period, err := r.step()
		if err != nil {
			r.log.Error("host: the producer has ended, serving goes on", "app", r.name, "err", err)
			return
		}
		// Never catch up: what is already past is not made up for.
		due = due.Add(period)
		if now := time.Now(); due.Before(now) {
			due = now
		}
		timer.Reset(time.Until(due))
	}
}

// step turns a panic into an error, with the stack that it needs.
func (r *runner) step() (period time.Duration, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic in a step: %v\n%s", v, debug.Stack())
		}
	}()
	return r.producer.Step(r.out)
}

// stop asks for the end and does not wait for it.
func (r *runner) stop() { r.stopping.Do(func() { close(r.out.stopping) }) }
