// SPDX-License-Identifier: MIT

package sse

import (
	"slices"
	"sync"

	"m0serve.dev/http/loop"
)

// A Slot is the queue of one stream, between the registry that fills it and the
// server that empties it. It implements loop.Source. Push, Close and Last may
// be called from any goroutine; mu guards what stands below it.
type Slot struct {
	limits   *Limits   // shared by all slots of a kind
	calls    *calls    // of its user; nil: none
	registry *Registry // counts its drops; nil: none
	subs     []sub     // where it stands there; owned by the registry's lock

	mu      sync.Mutex
	held    loop.Held   // nil until the connection is parked
	ending  loop.Ending // how, once closing
	chunked bool
	paused  bool // a snapshot is on its way: nothing is given out before it
	idle    bool // nothing was written since the last heartbeat looked
	quiet   bool // it gets no heartbeats; set before it is registered
	ended   bool
	closing bool
	final   bool // the queue is all that is still written: then it ends
	missed  int32
	gapAt   int32 // frames in the queue that come before the gap of missed ones
	queue   []*Frame
	short   [2]*Frame // memory of a queue that is short
	bytes   int
	last    uint64 // id of the last frame taken in: the redelivery filter
}

// NewSlot makes a slot with limits (nil: the defaults) that takes frames above
// the id floor. closed, when not nil, is called once when the stream is over;
// it must not block.
func NewSlot(limits *Limits, floor uint64, closed func(loop.Reason)) *Slot {
	if limits == nil {
		limits = &Limits{}
	}
	s := &Slot{limits: limits, last: floor}
	if closed != nil {
		s.calls = &calls{closed: closed}
	}
	return s
}

// calls are what a slot asks of its user. Most slots ask nothing, and stay small.
type calls struct {
	closed   func(loop.Reason)   // runs once, after the slot has left; nil: nothing
	pass     func(*Frame) *Frame // see HoldOptions; nil: every frame as it is
	cut      func()              // see HoldOptions.OnCut; nil: nothing
	raw      bool                // see HoldOptions
	attached bool                // it feeds no response; set before it is registered
	coded    *codedStream        // nil: plain; set before it is registered
}

// pass asks what is sent in the place of f; nil: nothing.
func (s *Slot) pass(f *Frame) *Frame {
	if s.calls == nil || s.calls.pass == nil {
		return f
	}
	return s.calls.pass(f)
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
func (s *Slot) Push(f *Frame) bool { return s.push(f, false) }

// push is Push. late says that the frame came behind a higher id and was never
// seen before: a stream that is past its id has missed it and is told so.
func (s *Slot) push(f *Frame, late bool) bool {
	if f = s.pass(f); f == nil {
		return false
	}
	s.mu.Lock()
	taken, cut := s.pushLocked(f, late)
	held := s.held
	s.mu.Unlock()
	switch {
	case cut && late:
		s.cutUnsure()
	case cut:
		s.cut()
	case held != nil && (taken || late):
		held.Wake()
	}
	return taken
}

func (s *Slot) pushLocked(f *Frame, late bool) (taken, cut bool) {
	if s.ended || s.closing {
		return false, false
	}
	if f.id != 0 && f.id <= s.last {
		if !late {
			return false, false
		}
		s.countDrop(f, true)
		s.missLocked(1, len(s.queue))
		return false, s.limits.Policy == Disconnect
	}
	if s.limits.Policy == Coalesce {
		s.replaceLocked(f)
	}
	for s.isFullLocked(f) {
		switch s.limits.Policy {
		case DropOldest, Coalesce:
			s.countDrop(s.popLocked(), false)
			s.missLocked(1, 0)
		case DropNewest:
			s.countDrop(f, false)
			s.missLocked(1, len(s.queue))
			return false, false
		default:
			s.countDrop(f, false)
			return false, true
		}
	}
	s.appendLocked(f)
	return true, false
}

// isFullLocked reports whether f has no place. The first frame always has one.
func (s *Slot) isFullLocked(f *Frame) bool {
	return len(s.queue) > 0 &&
		(len(s.queue) >= s.limits.frames() || s.bytes+len(f.wire) > s.limits.bytes())
}

func (s *Slot) appendLocked(f *Frame) {
	if f.id != 0 {
		s.last = f.id
	}
	if len(f.Body()) == 0 {
		return // nothing to write
	}
	if s.queue == nil {
		s.queue = s.short[:0]
	}
	s.queue = append(s.queue, f)
	s.bytes += len(f.wire)
}

// replaceLocked takes out a waiting frame that f makes pointless.
func (s *Slot) replaceLocked(f *Frame) {
	for i, old := range s.queue {
		if old.kind == f.kind && old.channel == f.channel && old.id != 0 {
			s.queue = slices.Delete(s.queue, i, i+1)
			s.bytes -= len(old.wire)
			if int32(i) < s.gapAt {
				s.gapAt--
			}
			return
		}
	}
}

// missLocked notes that count frames are missing behind the first at frames of
// the queue. What was missed earlier and is still to be announced is announced
// with it, at the earlier place.
func (s *Slot) missLocked(count, at int) {
	if s.missed == 0 || int32(at) < s.gapAt {
		s.gapAt = int32(at)
	}
	s.missed += int32(count)
}

func (s *Slot) countDrop(f *Frame, late bool) {
	if s.registry != nil {
		s.registry.countDrop(f, s.limits.Policy, late)
	}
}

func (s *Slot) popLocked() *Frame {
	f := s.queue[0]
	s.queue[0] = nil
	s.queue = s.queue[1:]
	s.bytes -= len(f.wire)
	if s.gapAt > 0 {
		s.gapAt--
	}
	if len(s.queue) == 0 {
		s.queue = nil // an idle stream keeps no memory of its busy times
	}
	return f
}

// forgetLocked gives up what waits.
func (s *Slot) forgetLocked() {
	s.queue, s.bytes, s.short, s.gapAt = nil, 0, [2]*Frame{}, 0
}

// lose tells the stream that frames were lost on their way to this process,
// nobody knows which.
func (s *Slot) lose() {
	s.mu.Lock()
	if s.closing || s.ended {
		s.mu.Unlock()
		return
	}
	s.missLocked(1, len(s.queue))
	held := s.held
	s.mu.Unlock()
	switch {
	case s.limits.Policy == Disconnect:
		s.cutUnsure()
	case held != nil:
		held.Wake()
	}
}

// cut breaks the stream off because of what it has missed.
func (s *Slot) cut() {
	s.tellCut()
	s.Close(loop.EndCut)
}

// cutUnsure is cut when what was missed may lie below the id that the client has:
// no worker may believe that id, also one that has missed nothing. An id that no
// journal knows takes its place.
func (s *Slot) cutUnsure() {
	if s.isAttached() {
		s.cut() // its user decides what comes in the place of the stream
		return
	}
	s.tellCut()
	s.closeWith(NewFrame(0, "", "", []byte("id: 0\n\n")), loop.EndCut)
}

func (s *Slot) tellCut() {
	if s.calls != nil && s.calls.cut != nil {
		s.calls.cut()
	}
}

// prime puts frames in front of what waits and lets the stream begin. What
// waits and is not above them is passed over: it is in them already.
func (s *Slot) prime(frames ...*Frame) {
	s.mu.Lock()
	if s.closing || s.ended {
		s.mu.Unlock()
		return
	}
	waiting := slices.Clone(s.queue)
	s.forgetLocked()
	floor := uint64(0)
	for _, f := range frames {
		floor = max(floor, f.id)
		s.appendLocked(f)
	}
	s.gapAt = int32(len(s.queue))
	for _, f := range waiting {
		if f.id == 0 || f.id > floor {
			s.appendLocked(f)
		}
	}
	s.paused = false
	held := s.held
	s.mu.Unlock()
	if held != nil {
		held.Wake()
	}
}

// Park joins the slot to what it feeds, which it wakes and closes through held.
// Hold does it; it is for a slot that feeds something else than a response.
func (s *Slot) Park(held loop.Held, chunked bool) {
	s.mu.Lock()
	s.held, s.chunked = held, chunked
	cut, how := s.closing && !s.final, s.ending
	s.mu.Unlock()
	if cut {
		held.Close(how)
	}
	held.Wake()
}

// Next implements loop.Source: a gap is announced where the frames are missing.
func (s *Slot) Next() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls != nil && s.calls.coded != nil {
		return s.nextCodedLocked(s.calls.coded)
	}
	if f := s.nextLocked(); f != nil {
		return f.bytes(s.chunked)
	}
	return nil
}

// NextFrame is Next for a slot that feeds something else than a response.
func (s *Slot) NextFrame() *Frame {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nextLocked()
}

func (s *Slot) nextLocked() *Frame {
	if s.paused || s.ended {
		return nil
	}
	if s.missed > 0 && s.gapAt == 0 && s.limits.Policy != Disconnect {
		gap := NewFrame(0, "", "", s.limits.gap(int(s.missed)))
		s.missed = 0
		if len(gap.Body()) > 0 {
			s.idle = false
			return gap
		}
	}
	if len(s.queue) > 0 {
		s.idle = false
		return s.popLocked()
	}
	if s.final && s.held != nil {
		s.held.Close(s.ending)
	}
	return nil
}

// Received implements loop.Source. A client of an event stream has nothing to
// say; what it says is not kept.
func (s *Slot) Received([]byte) bool { return true }

// Closed implements loop.Source.
func (s *Slot) Closed(why loop.Reason) {
	s.mu.Lock()
	already := s.ended
	s.ended = true
	s.forgetLocked()
	s.mu.Unlock()
	if already {
		return
	}
	if s.registry != nil {
		s.registry.Remove(s)
	}
	if s.calls == nil {
		return
	}
	if s.calls.coded != nil {
		s.calls.coded.leave()
	}
	if s.calls.closed != nil {
		s.calls.closed(why)
	}
}

// Close ends the stream after the frame in hand and gives up what waits behind
// it; the journal has that for a client that comes back. The first Close counts.
func (s *Slot) Close(how loop.Ending) {
	s.mu.Lock()
	held := s.held
	first := !s.closing && !s.ended
	if first {
		s.closing, s.ending, s.missed = true, how, 0
		s.forgetLocked()
	}
	s.mu.Unlock()
	if first && held != nil {
		held.Close(how)
	}
}

// Finish ends the stream when what waits for it is written; it gets no more.
func (s *Slot) Finish(how loop.Ending) {
	s.mu.Lock()
	if s.closing || s.ended {
		s.mu.Unlock()
		return
	}
	s.closing, s.final, s.ending = true, true, how
	held := s.held
	s.mu.Unlock()
	if held != nil {
		held.Wake()
	}
}

// closeWith ends the stream after one last frame. What waits is given up for it.
func (s *Slot) closeWith(f *Frame, how loop.Ending) {
	s.mu.Lock()
	if s.closing || s.ended {
		s.mu.Unlock()
		return
	}
	s.forgetLocked()
	if s.calls == nil || !s.calls.raw {
		s.appendLocked(f)
	}
	s.closing, s.final, s.paused, s.ending, s.missed = true, true, false, how, 0
	held := s.held
	s.mu.Unlock()
	if held != nil {
		held.Wake()
	}
}

// beat pushes the heartbeat where nothing was written since the beat before.
func (s *Slot) beat(hb *Frame) {
	s.mu.Lock()
	due := s.idle && len(s.queue) == 0 && !s.paused && !s.quiet
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
