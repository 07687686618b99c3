// SPDX-License-Identifier: MIT

package host

import "sync"

// duties are what runs once in a service, in worker 0: the producer and the
// tick. In a rolling restart two processes are worker 0 for a moment; the new
// one begins when the old one has ended its duties.
type duties struct {
	mine <-chan struct{} // closed once they are this process's; nil: they always are
	mu   sync.Mutex
	over bool // guarded by mu
}

// begun reports whether the duties are this process's by now.
func (d *duties) begun() bool {
	if d.mine == nil {
		return true
	}
	select {
	case <-d.mine:
		return true
	default:
		return false
	}
}

// tick wraps an application's tick, so that it runs only as one of the duties.
func (d *duties) tick(tick func()) func() {
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if !d.over && d.begun() {
			tick()
		}
	}
}

// end waits for a tick that runs, and lets none follow.
func (d *duties) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.over = true
}

// giveUpDuties tells the supervisor once the producer and the tick have ended.
// It waits for a step; a process that ends before says it by that.
func (s *service) giveUpDuties() {
	if s.producer != nil {
		<-s.producer.done
	}
	s.duties.end()
	if s.inherited == nil || !s.duties.begun() {
		return
	}
	if err := s.inherited.DutiesDone(); err != nil {
		s.log.Error("host: duties", "err", err)
	}
}
