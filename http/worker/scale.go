// SPDX-License-Identifier: MIT

package worker

// grow adds a worker, up to the places that were made before any started.
func (s *supervisor) grow() {
	index := len(s.slots)
	if index >= s.cfg.workersMax() {
		s.log.Warn("worker: SIGTTIN: the maximum was reached before", "workers", index)
		return
	}
	place := s.freePlace()
	if place < 0 {
		s.log.Warn("worker: SIGTTIN: no place is free until a worker has left, try again",
			"workers", index)
		return
	}
	slot := &slot{index: index, place: place, added: true}
	s.slots = append(s.slots, slot)
	s.log.Info("worker: SIGTTIN: one worker more", "workers", len(s.slots))
	s.sys.floor.expect(place, index)
	s.start(slot)
}

// shrink tells the last worker to drain and leave. One always stays.
func (s *supervisor) shrink(why string) {
	last := len(s.slots) - 1
	if last < 1 {
		s.log.Warn("worker: " + why + ": the last worker stays")
		return
	}
	slot := s.slots[last]
	s.slots = s.slots[:last]
	s.log.Info("worker: "+why+": one worker less", "workers", len(s.slots))
	if slot.joining != nil {
		s.dismiss(slot.joining)
	}
	if slot.current != nil {
		s.dismiss(slot.current)
	} else {
		s.sys.floor.vacate(slot.place)
	}
	s.announce() // it may have been the one that everybody waited for
}

// withdraw gives up a worker that SIGTTIN added and that did not start: what
// cannot be had is no reason to end what serves. Those added after it go, too.
func (s *supervisor) withdraw(slot *slot, reason string) {
	s.log.Error("worker: the added worker did not start", "index", slot.index, "reason", reason)
	for len(s.slots) > slot.index {
		s.shrink("withdrawn")
	}
}
