// SPDX-License-Identifier: MIT

package worker

import (
	"fmt"
	"syscall"
	"time"
)

// a child is one process of a slot.
type child struct {
	pid int
	// settle is called once the process is dead: it gives up the life line and
	// tells whether the process had reported ready, however late that is read.
	settle func() bool
}

// a death is one process that was waited for.
type death struct {
	pid    int
	status syscall.WaitStatus
	rssKiB int64 // peak memory; 0 when not known
}

// clean reports a worker that left by itself and said that all was well.
func (d death) clean() bool { return d.status.Exited() && d.status.ExitStatus() == 0 }

// reason reads "signal killed" or "status 1".
func (d death) reason() string {
	switch {
	case d.status.Signaled():
		return fmt.Sprintf("signal %d (%v)", int(d.status.Signal()), d.status.Signal())
	default:
		return fmt.Sprintf("status %d", d.status.ExitStatus())
	}
}

// a slot is one place of the service: an index and the worker that has it at
// the moment. It belongs to the supervisor's loop.
type slot struct {
	index     int
	child     *child    // nil: no process
	started   time.Time // of child
	ready     time.Time // zero until child has reported it
	respawnAt time.Time // zero: none is due

	everReady  bool // some worker at this index has served
	deaths     int  // in a row, without a healthy stretch between them
	bootDeaths int  // in a row before ready
}

// becomeReady records the report of the slot's child.
func (s *slot) becomeReady(now time.Time) {
	s.ready, s.everReady, s.bootDeaths = now, true, 0
}

// lose records a death and leaves the slot empty.
func (s *slot) lose(now time.Time) {
	if s.ready.IsZero() {
		s.bootDeaths++
	} else if now.Sub(s.ready) >= healthyAfter {
		s.deaths = 0
	}
	s.deaths++
	s.child = nil
}
