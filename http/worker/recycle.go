// SPDX-License-Identifier: MIT

package worker

import (
	"slices"
	"time"
)

// recycleRetry is how long a worker that asked to be replaced goes on after its
// successor did not start.
const recycleRetry = time.Minute

// recycle puts a worker that asks to be replaced behind those that wait.
func (s *supervisor) recycle(p *process) {
	slot := s.slotOf(p)
	t := turn{index: p.index, pid: p.pid}
	if slot == nil || slot.current != p || slices.Contains(s.rolling.turns, t) {
		return // it is on its way out, or waits already
	}
	s.log.Info("worker: asks to be replaced", "pid", p.pid, "index", p.index)
	s.rolling.turns = append(s.rolling.turns, t)
}

// recycleDue asks again for workers whose successor did not start.
func (s *supervisor) recycleDue(now time.Time) {
	for _, slot := range s.slots {
		if slot.current != nil && isDue(slot.current.askAt, now) {
			slot.current.askAt = time.Time{}
			s.recycle(slot.current)
		}
	}
}
