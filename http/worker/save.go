// SPDX-License-Identifier: MIT

package worker

import "syscall"

// With Config.Reload somebody edits the program while it runs. What does not
// start then is waited for: the next save may mend it.

// onSave replaces every worker. One that is only starting is ended at once: it
// is made of what was there before, and may never become ready.
func (s *supervisor) onSave(what string, ok bool) {
	if !ok {
		s.cfg.Reload = nil // nobody watches any more
	}
	if !ok || s.stopping {
		return
	}
	s.reload(what)
	for _, slot := range s.slots {
		for _, p := range []*process{slot.current, slot.joining} {
			if p != nil && p.ready.IsZero() && !p.outdated {
				p.outdated = true
				s.signal(p, syscall.SIGKILL)
			}
		}
	}
}

// awaitSave leaves a slot empty until something changes.
func (s *supervisor) awaitSave(slot *slot, reason string) {
	s.log.Error("worker: the worker did not start, waiting for a change",
		"index", slot.index, "reason", reason)
	s.dropReload()
	s.endReload(", the last reload failed")
}
