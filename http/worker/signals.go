// SPDX-License-Identifier: MIT

package worker

import (
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

// Stops are the signals that ask a process to stop. Nothing in this module
// installs a signal handler unless ArmStops is called: a graceful end is opt-in,
// for each process.
type Stops struct {
	C       <-chan os.Signal // SIGTERM and SIGINT; a full one loses further ones
	c       chan os.Signal
	disarms atomic.Bool
}

// ArmStops takes SIGTERM and SIGINT over from now on, also when the process
// inherited them as ignored.
func ArmStops() *Stops {
	c := make(chan os.Signal, 8)
	signal.Notify(c, syscall.SIGTERM, syscall.SIGINT)
	return &Stops{C: c, c: c}
}

// Armed reports whether a signal would arrive at C.
func (s *Stops) Armed() bool { return s != nil && !s.disarms.Load() }

// Disarm gives the signals back.
func (s *Stops) Disarm() {
	if s.Armed() {
		s.disarms.Store(true)
		signal.Stop(s.c)
	}
}
