// SPDX-License-Identifier: MIT

package worker

import "fmt"

// notify logs that the service manager cannot be told, once until it can; the
// service goes on without it.
func (s *supervisor) notify(err error) {
	if err != nil && !s.deaf {
		s.log.Warn("worker: the service manager cannot be told", "err", err)
	}
	s.deaf = err != nil
}

// status is the service in a line.
func (s *supervisor) status() string { return fmt.Sprintf("%d workers serve", len(s.slots)) }
