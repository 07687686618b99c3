// SPDX-License-Identifier: MIT

package bus

import (
	"slices"
	"time"
)

// Bounds of what waits for a gap to close. At either, the lower half of the
// ids is delivered as if its window had passed.
const (
	heldFramesMax = 8192
	heldBytesMax  = 16 << 20
)

// order puts the frames of several publishers back in id order. Frames without
// a gap before them pass at once; behind a gap they wait until it closes, for
// at most the window after their arrival. It is a pure state machine: time
// comes in as an argument, frames go out through emit. One goroutine owns it.
type order struct {
	window time.Duration
	emit   func(Frame)
	last   uint64      // highest id emitted in order
	held   []heldFrame // ascending by id
	bytes  int         // of the bodies held
	due    time.Time   // when the oldest held frame has waited enough; zero: none

	late   uint64 // frames at or below an id already emitted
	forced uint64 // frames emitted before their window by a bound
}

type heldFrame struct {
	frame Frame
	due   time.Time
}

// holds reports whether f, were it pushed, would have to wait for a lower id.
func (o *order) holds(f *Frame) bool {
	return f.ordered() && o.window > 0 && f.ID > o.last+1
}

// push takes a frame that arrived at now, which matters only if o holds it.
func (o *order) push(f Frame, now time.Time) {
	switch {
	case o.holds(&f):
		o.hold(f, now)
	case !f.ordered():
		o.emit(f)
	case f.ID <= o.last:
		// Out of order for good. The redelivery filter above decides: a stream
		// that has seen a higher id drops it, a journal inserts it. Several
		// frames may carry one id, so the last one itself is not late.
		if f.ID < o.last {
			o.late++
		}
		o.emit(f)
	default:
		o.last = f.ID
		o.emit(f)
		o.release(0)
	}
}

// hold keeps f in its place, behind frames of the same id.
func (o *order) hold(f Frame, now time.Time) {
	at := len(o.held)
	for at > 0 && o.held[at-1].frame.ID > f.ID {
		at--
	}
	o.held = append(o.held, heldFrame{})
	copy(o.held[at+1:], o.held[at:])
	due := now.Add(o.window)
	o.held[at] = heldFrame{f, due}
	o.bytes += len(f.Body)
	if o.due.IsZero() {
		o.due = due
	}
	for len(o.held) > heldFramesMax || o.bytes > heldBytesMax {
		half := (len(o.held) + 1) / 2
		o.forced += uint64(half)
		o.release(half)
	}
}

// expire emits what has waited enough at now, and everything below it.
func (o *order) expire(now time.Time) {
	count := 0
	for i := range o.held {
		if !o.held[i].due.After(now) {
			count = i + 1
		}
	}
	o.release(count)
}

// flush emits everything.
func (o *order) flush() { o.release(len(o.held)) }

// release emits the first count frames, then those that follow without a gap.
func (o *order) release(count int) {
	n := 0
	for n < len(o.held) && (n < count || o.held[n].frame.ID <= o.last+1) {
		f := o.held[n].frame
		o.last = max(o.last, f.ID)
		o.bytes -= len(f.Body)
		o.emit(f)
		n++
	}
	if n == 0 {
		return
	}
	o.held = slices.Delete(o.held, 0, n)
	o.due = time.Time{}
	for i := range o.held {
		if o.due.IsZero() || o.held[i].due.Before(o.due) {
			o.due = o.held[i].due
		}
	}
	if len(o.held) == 0 {
		o.held = nil // a burst's memory goes when it is over
	}
}
