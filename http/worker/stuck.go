// SPDX-License-Identifier: MIT

package worker

import (
	"syscall"
	"time"
)

// abortGrace is what a stuck worker gets to say where it is: SIGABRT makes the
// Go runtime and Python's faulthandler print every stack.
const abortGrace = 2 * time.Second

// stuck is the supervisor's watch over heartbeats.
type stuck struct {
	lookAt time.Time // zero: nobody looks
}

// lookEvery is how often heartbeats are looked at.
func (c *Config) lookEvery() time.Duration { return max(c.StaleAfter/4, time.Millisecond) }

// lookForStuck ends workers whose heartbeat has stopped. A look that is late
// itself proves nothing: then this process, and perhaps the machine, was stopped.
func (s *supervisor) lookForStuck(now time.Time) {
	if !isDue(s.stuck.lookAt, now) {
		return
	}
	late := now.Sub(s.stuck.lookAt)
	s.stuck.lookAt = now.Add(s.cfg.lookEvery())
	if late > s.cfg.lookEvery() || s.stopping {
		return
	}
	for _, slot := range s.slots {
		p := slot.current
		if !slot.isReady() || p.aborted {
			continue
		}
		silence := s.sys.floor.silence(p.place)
		if silence <= s.cfg.StaleAfter {
			continue
		}
		s.log.Error("worker: stuck, its heartbeat has stopped", "pid", p.pid, "index", p.index,
			"silence", silence.Round(time.Millisecond))
		p.aborted, p.killAt, p.why = true, now.Add(abortGrace), "stuck"
		s.signal(p, syscall.SIGABRT)
	}
}
