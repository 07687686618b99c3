// SPDX-License-Identifier: MIT

package sse

import (
	"sync"

	"m0serve.dev/http/loop"
)

// A Slot is the queue of one stream, between the registry that fills it and the
// server that empties it. It implements loop.Source. Push, Close and Last may
// be called from any goroutine; mu guards what stands below it.
type Slot struct {
	limits *Limits // shared by all slots of a kind
	count  func(f *Frame, p Policy)
	closed func(loop.Reason) // runs once, after the slot has left; nil: nothing
	leave  func(*Slot)       // takes the slot out of its registry; nil: none

	subs []sub // where it stands in the registry; owned by the registry's lock

	mu      sync.Mutex
	held    loop.Held // nil until the connection is parked
	chunked bool
	paused  bool // a snapshot is on its way: nothing is given out before it
	idle    bool // nothing was written since the last heartbeat looked
	ended   bool
	ending  loop.Ending // how, once closing
	closing bool
	final   bool // the queue is all that is still written: then it ends
	queue   []*Frame
	bytes   int
	missed  int    // frames dropped since the last announcement
	last    uint64 // id of the last frame taken in: the redelivery filter
}

// NewSlot makes a slot with limits (nil: the defaults) that takes frames above
// the id floor. closed, when not nil, is called once when the stream is over;
// it must not block.
func NewSlot(limits *Limits, floor uint64, closed func(loop.Reason)) *Slot {
	if limits == nil {
		limits = &Limits{}
	}
	return &Slot{limits: limits, last: floor, closed: closed}
}

// Last is the id of the last frame that was taken in.
func (s *Slot) Last() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// Push gives the stream a frame. One whose id is not above the last one is
// passed over, which is what makes redelivery harmless; one that does not fit
// goes by the policy. It reports whether the frame will be written.
func (s *Slot) Push(f *Frame) bool {
	s.mu.Lock()
	taken, cut := s.pushLocked(f)
	held := s.held
	s.mu.Unlock()
	switch {
	case cut:
		s.Close(loop.EndCut)
	case taken && held != nil:
		held.Wake()
	}
	return taken
}

func (s *Slot) pushLocked(f *Frame) (taken, cut bool) {
	if s.ended || s.closing || f.id != 0 && f.id <= s.last {
		return false, false
	}
	if s.limits.Policy == Coalesce {
		s.replaceLocked(f)
	}
	size := len(f.wire)
	for len(s.queue) > 0 &&
		(len(s.queue) >= s.limits.frames() || s.bytes+size > s.limits.bytes()) {
		switch s.limits.Policy {
		case Disconnect:
			s.noteDropLocked(f)
			return false, true
		case DropNewest:
			s.noteDropLocked(f)
			return false, false
		default:
			s.noteDropLocked(s.queue[0])
			s.popLocked()
		}
	}
	s.appendLocked(f)
	return true, false
}

func (s *Slot) appendLocked(f *Frame) {
	s.queue = append(s.queue, f)
	s.bytes += len(f.wire)
	if f.id != 0 {
		s.last = f.id
	}
}

// replaceLocked takes out a waiting frame that f makes pointless.
func (s *Slot) replaceLocked(f *Frame) {
	for i, old := range s.queue {
		if old.kind == f.kind && old.channel == f.channel && old.id != 0 {
			s.queue = append(s.queue[:i], s.queue[i+1:]...)
			s.bytes -= len(old.wire)
			return
		}
	}
}

func (s *Slot) noteDropLocked(f *Frame) {
	s.missed++
	if s.count != nil {
		s.count(f, s.limits.Policy)
	}
}

func (s *Slot) popLocked() *Frame {
	f := s.queue[0]
	s.queue[0] = nil
	s.queue = s.queue[1:]
	s.bytes -= len(f.wire)
	if len(s.queue) == 0 {
		s.queue = nil // an idle stream keeps no memory of its busy times
	}
	return f
}

// prime puts frames in front of what waits and lets the stream begin. What
// waits and is not above them is passed over: it is in them already.
func (s *Slot) prime(frames ...*Frame) {
	s.mu.Lock()
	if s.closing || s.ended {
		s.mu.Unlock()
		return
	}
	floor := uint64(0)
	for _, f := range frames {
		floor = max(floor, f.id)
	}
	waiting := s.queue
	s.queue, s.bytes = nil, 0
	for _, f := range frames {
		s.appendLocked(f)
	}
	for _, f := range waiting {
		if f.id == 0 || f.id > floor {
			s.appendLocked(f)
		}
	}
	s.last = max(s.last, floor)
	s.paused = false
	held := s.held
	s.mu.Unlock()
	if held != nil {
		held.Wake()
	}
}

// park joins the slot to the connection that it feeds.
func (s *Slot) park(held loop.Held, chunked bool) {
	s.mu.Lock()
	s.held, s.chunked = held, chunked
	cut, how := s.closing && !s.final, s.ending
	s.mu.Unlock()
	if cut {
		held.Close(how)
	}
	held.Wake()
}

// Next implements loop.Source: a gap is announced before the frame behind it.
func (s *Slot) Next() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.paused || len(s.queue) == 0 {
		if s.final && s.held != nil {
			s.held.Close(s.ending)
		}
		return nil
	}
	s.idle = false
	if s.missed > 0 && s.limits.Policy != Disconnect {
		gap := NewFrame(0, "", "", s.limits.gap(s.missed))
		s.missed = 0
		return gap.bytes(s.chunked)
	}
	return s.popLocked().bytes(s.chunked)
}

// Received implements loop.Source. A client of an event stream has nothing to
// say; what it says is not kept.
func (s *Slot) Received([]byte) bool { return true }

// Closed implements loop.Source.
func (s *Slot) Closed(why loop.Reason) {
	s.mu.Lock()
	already := s.ended
	s.ended = true
	s.queue, s.bytes = nil, 0
	s.mu.Unlock()
	if already {
		return
	}
	if s.leave != nil {
		s.leave(s)
	}
	if s.closed != nil {
		s.closed(why)
	}
}

// Close ends the stream after the frame in hand and gives up what waits behind
// it; the journal has that for a client that comes back. The first Close counts.
func (s *Slot) Close(how loop.Ending) {
	s.mu.Lock()
	held := s.held
	first := !s.closing && !s.ended
	if first {
		s.closing, s.ending = true, how
		s.queue, s.bytes = nil, 0
	}
	s.mu.Unlock()
	if first && held != nil {
		held.Close(how)
	}
}

// closeWith ends the stream after one last frame. What waits is given up for it.
func (s *Slot) closeWith(f *Frame, how loop.Ending) {
	s.mu.Lock()
	if s.closing || s.ended {
		s.mu.Unlock()
		return
	}
	s.queue, s.bytes = nil, 0
	s.appendLocked(f)
	s.closing, s.final, s.paused, s.ending = true, true, false, how
	held := s.held
	s.mu.Unlock()
	if held != nil {
		held.Wake()
	}
}

// beat pushes the heartbeat where nothing was written since the beat before.
func (s *Slot) beat(hb *Frame) {
	s.mu.Lock()
	due := s.idle && len(s.queue) == 0 && !s.paused
	s.idle = true
	s.mu.Unlock()
	if due {
		s.Push(hb)
	}
}

// queued is what waits at this moment.
func (s *Slot) queued() (frames, bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.queue), s.bytes
}
