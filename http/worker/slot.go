// SPDX-License-Identifier: MIT

package worker

import (
	"fmt"
	"syscall"
	"time"
)

// a job is what a worker is started for.
type job struct {
	index   int
	place   int
	workers int  // of the service, this one included
	duties  bool // those of worker 0 are its own from the start
}

// a child is the supervisor's hold on one process.
type child struct {
	pid int
	// settle is called once the process is dead: it gives up the life line and
	// tells whether the process had reported ready, however late that is read.
	settle func() bool
	say    func(word byte) error // on the life line; never waits
}

// a report is one word of a worker's, as it came over its life line.
type report struct {
	pid  int
	word byte
}

// a death is one process that was waited for.
type death struct {
	pid    int
	status syscall.WaitStatus
	rssKiB int64 // peak memory; 0 when not known
}

// clean reports a worker that left by itself and said that all was well.
func (d death) clean() bool { return d.status.Exited() && d.status.ExitStatus() == 0 }

// reason reads "signal 9 (killed)" or "status 1".
func (d death) reason() string {
	switch {
	case d.status.Signaled():
		return fmt.Sprintf("signal %d (%v)", int(d.status.Signal()), d.status.Signal())
	default:
		return fmt.Sprintf("status %d", d.status.ExitStatus())
	}
}

// a process is one worker from its start to its death. It is the current one of
// a slot, the one that joins it, or one of those that leave.
type process struct {
	*child
	job
	started time.Time
	ready   time.Time // zero until it has reported it
	killAt  time.Time // when it gets SIGKILL; zero: nobody has told it to end
	why     string    // it is killed then
	told    bool      // SIGTERM was sent
	aborted bool      // SIGABRT was sent, since it is stuck

	outdated bool      // it was killed before it was ready, for something newer
	askAt    time.Time // when its replacement is tried again; zero: nobody wants one
}

// a slot is one place in the count of workers: an index, and the process that
// serves at it. It belongs to the supervisor's loop.
//
//	empty ─start→ current ─death→ empty, respawnAt
//	                │ a joining one is ready: it is current now, this one leaves
type slot struct {
	index     int
	place     int       // of current, or of the next one while there is none
	current   *process  // nil: none
	joining   *process  // replaces current once it is ready; nil: none
	respawnAt time.Time // zero: none is due

	added      bool // by SIGTTIN
	everReady  bool // some worker at this index has served
	deaths     int  // in a row, without a healthy stretch between them
	bootDeaths int  // in a row before ready
}

// lose records a death and leaves the slot empty.
func (s *slot) lose(now time.Time) {
	switch p := s.current; {
	case p == nil, p.ready.IsZero():
		s.bootDeaths++
	case now.Sub(p.ready) >= healthyAfter:
		s.deaths = 0
	}
	s.deaths++
	s.current = nil
}

// succeed makes p the slot's current process, which is ready.
func (s *slot) succeed(p *process) {
	s.current, s.place = p, p.place
	s.everReady, s.bootDeaths = true, 0
}

func (s *slot) isReady() bool { return s.current != nil && !s.current.ready.IsZero() }

func (s *slot) isStarting() bool { return s.current != nil && s.current.ready.IsZero() }
