// SPDX-License-Identifier: MIT

package worker

import (
	"syscall"
	"time"
)

// rolling is what a rolling restart still has to do. Workers are replaced one
// at a time: the next turn begins when nobody joins or leaves any more, so one
// spare place is enough for any number of workers.
type rolling struct {
	turns []turn
	now   turn      // of the process that joins
	began time.Time // of the reload; zero: none is under way
}

// a turn replaces the worker at one index.
type turn struct {
	index  int
	reload bool // of all workers
	pid    int  // the one that asked for it, or 0
}

// reload replaces every worker. One that is already on its way joins first, and
// is replaced then: it may have started from what was there before.
func (s *supervisor) reload(why string) {
	s.log.Info("worker: rolling restart", "why", why, "workers", len(s.slots))
	s.dropReload()
	s.rolling.began = time.Now()
	s.notify(s.cfg.Notify.Reloading())
	for i := range s.slots {
		s.rolling.turns = append(s.rolling.turns, turn{index: i, reload: true})
	}
}

func (s *supervisor) dropReload() {
	var kept []turn
	for _, t := range s.rolling.turns {
		if !t.reload {
			kept = append(kept, t)
		}
	}
	s.rolling.turns = kept
}

// roll takes the turns that can be taken now. It is called after every event.
func (s *supervisor) roll() {
	for !s.stopping && !s.isChanging() && len(s.rolling.turns) > 0 {
		t := s.rolling.turns[0]
		if t.index < len(s.slots) && s.slots[t.index].isStarting() {
			return // it comes by here again when that is decided
		}
		s.rolling.turns = s.rolling.turns[1:]
		if t.index < len(s.slots) {
			s.takeTurn(s.slots[t.index], t)
		}
	}
	if !s.stopping && !s.rolling.began.IsZero() && len(s.rolling.turns) == 0 && s.isSettled() {
		s.log.Info("worker: every worker is replaced",
			"took", time.Since(s.rolling.began).Round(time.Millisecond))
		s.endReload("")
	}
}

// endReload tells the manager that the service is as ready as it will be.
func (s *supervisor) endReload(trouble string) {
	if !s.rolling.began.IsZero() {
		s.rolling.began = time.Time{}
		if s.announced {
			s.notify(s.cfg.Notify.Ready(s.status() + trouble))
		}
	}
}

// isSettled reports that nobody starts, joins or leaves.
func (s *supervisor) isSettled() bool {
	for _, slot := range s.slots {
		if !slot.isReady() {
			return false
		}
	}
	return !s.isChanging()
}

// isChanging reports that a replacement is under way.
func (s *supervisor) isChanging() bool {
	for _, slot := range s.slots {
		if slot.joining != nil {
			return true
		}
	}
	return len(s.leaving) > 0
}

// takeTurn starts the process that replaces slot's current one. Where there is
// none, the one that comes anyway is new enough, and comes now.
func (s *supervisor) takeTurn(slot *slot, t turn) {
	if slot.current == nil {
		s.start(slot)
		return
	}
	if t.pid != 0 && t.pid != slot.current.pid {
		return // it was replaced for another reason
	}
	place := s.freePlace()
	if place < 0 {
		s.dropReload()
		s.endReload(", not reloaded")
		s.log.Error("worker: not replaced, there is no spare place", "index", slot.index)
		return
	}
	s.rolling.now = t
	s.sys.floor.expect(place, slot.index)
	p, err := s.spawn(slot.index, place, false)
	if err != nil {
		s.sys.floor.vacate(place)
		s.onJoinFailed(slot, err.Error())
		return
	}
	p.killAt, p.why = time.Now().Add(s.cfg.boot()), "it was not ready in time"
	slot.joining = p
}

// promote makes the joining process the current one, which leaves.
func (s *supervisor) promote(slot *slot) {
	p, old, place := slot.joining, slot.current, slot.place
	p.killAt = time.Time{}
	slot.joining, slot.deaths = nil, 0
	slot.succeed(p)
	if old != nil {
		s.log.Info("worker: replaced", "index", p.index, "pid", p.pid, "old", old.pid)
		s.dismiss(old)
	} else {
		s.sys.floor.vacate(place)
	}
	s.assignDuties()
}

// dismiss tells a process to drain and leave, while the service goes on.
func (s *supervisor) dismiss(p *process) {
	p.killAt, p.why = time.Now().Add(s.cfg.drain()+killGrace), "drain outlasted its bound"
	p.askAt = time.Time{}
	s.leaving = append(s.leaving, p)
	s.tell(p)
}

// tell asks a process to end, once.
func (s *supervisor) tell(p *process) {
	if !p.told {
		p.told = true
		s.signal(p, syscall.SIGTERM)
	}
}

// onLeft takes the death of a process that was dismissed.
func (s *supervisor) onLeft(p *process) {
	for i := range s.leaving {
		if s.leaving[i] == p {
			s.leaving = append(s.leaving[:i:i], s.leaving[i+1:]...)
			break
		}
	}
	s.sys.floor.vacate(p.place)
}

// onJoinDied takes the death of a process before it could replace another.
func (s *supervisor) onJoinDied(slot *slot, reason string) {
	outdated := slot.joining.outdated
	s.sys.floor.vacate(slot.joining.place)
	slot.joining = nil
	switch {
	case s.stopping:
	case outdated:
		// Its turn comes again. An empty slot is filled by that, too.
	default:
		s.onJoinFailed(slot, reason)
	}
}

// onJoinFailed leaves everything as it was: what does not start is no reason to
// end what serves.
func (s *supervisor) onJoinFailed(slot *slot, reason string) {
	s.log.Error("worker: the new worker did not start, the old ones go on serving",
		"index", slot.index, "reason", reason)
	if s.rolling.now.reload {
		s.dropReload()
		s.endReload(", the last reload failed")
	}
	if slot.current == nil { // it died meanwhile
		slot.lose(time.Now())
		s.replace(slot, reason)
	} else if s.rolling.now.pid != 0 {
		slot.current.askAt = time.Now().Add(recycleRetry)
	}
}

// isFreeOfDuties reports that no process has the duties of worker 0.
func (s *supervisor) isFreeOfDuties() bool {
	for _, p := range s.processes() {
		if p.duties {
			return false
		}
	}
	return true
}

// assignDuties hands worker 0's duties to the process at index 0 once nobody
// has them: whoever had them is dead or has said that it is done.
func (s *supervisor) assignDuties() {
	p := s.slots[0].current
	if s.stopping || p == nil || !s.isFreeOfDuties() {
		return
	}
	p.duties = true
	if err := p.say(lineYours); err != nil {
		s.log.Error("worker: duties not handed over", "pid", p.pid, "err", err)
	}
}
