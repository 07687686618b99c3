// SPDX-License-Identifier: MIT

//go:build unix

package worker

import (
	"os"
	"syscall"
)

// onOrder takes a signal that changes the service without ending it.
func (s *supervisor) onOrder(sig os.Signal) {
	if s.stopping {
		return
	}
	switch sig {
	case syscall.SIGHUP:
		s.reload("SIGHUP")
	case syscall.SIGTTIN:
		s.grow()
	case syscall.SIGTTOU:
		s.shrink("SIGTTOU")
	case syscall.SIGUSR1:
		s.passOn(syscall.SIGUSR1)
	}
}

// passOn sends a signal that is meant for what the workers do, such as opening their
// log files again. One that is not ready has not taken the signal over, and may die of
// it; it opens its files when it starts.
func (s *supervisor) passOn(sig syscall.Signal) {
	for _, p := range s.processes() {
		if !p.ready.IsZero() {
			s.signal(p, sig)
		}
	}
}
