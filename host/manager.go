// SPDX-License-Identifier: MIT

package host

import (
	"fmt"
	"strconv"
	"time"

	"m0serve.dev/http/config"
	"m0serve.dev/http/worker/systemd"
)

// adoptManager takes over what a service manager left in the environment for the
// process that it started: where to report, and a listener in place of M0_HOST
// and M0_PORT. With several workers the supervisor reports.
func (s *service) adoptManager() (err error) {
	if s.inherited != nil {
		return nil
	}
	if s.manager, err = systemd.AdoptNotifier(); err != nil {
		return err
	}
	sockets, err := systemd.AdoptSockets()
	if err != nil {
		return err
	}
	if len(sockets) > 1 {
		for _, socket := range sockets {
			_ = socket.Listener.Close()
		}
		return &config.Error{Var: "LISTEN_FDS", Value: strconv.Itoa(len(sockets)),
			Cure: "one socket can be served: leave one ListenStream= in the socket unit"}
	}
	if len(sockets) == 1 {
		s.activated = sockets[0].Listener
	}
	return nil
}

// tell logs that the manager cannot be told, once until it can; serving goes on.
func (s *service) tell(err error) {
	if wasDeaf := s.deaf.Swap(err != nil); err != nil && !wasDeaf {
		s.log.Warn("host: the service manager cannot be told", "err", err)
	}
}

// tellReady reports a process that serves alone, and its signs of life until the
// returned function is called.
func (s *service) tellReady() (stop func()) {
	if s.manager == nil {
		return func() {}
	}
	s.tell(s.manager.Ready(fmt.Sprintf("serving on %s", s.listener.Addr())))
	stopped, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		every := s.manager.WatchdogEvery()
		if every <= 0 {
			return
		}
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				s.tell(s.manager.Watchdog())
			case <-stopped:
				return
			}
		}
	}()
	return func() { close(stopped); <-done }
}
