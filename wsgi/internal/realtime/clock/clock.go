// SPDX-License-Identifier: MIT

// Package clock wakes many who wait with one timer: held answers wait for a quiet time, a
// timeout or another try, and ten thousand timers of the runtime would be more than what
// they time. It is coarse, and cheap to ask.
package clock

import (
	"container/heap"
	"sync"
	"time"
)

// tick is how coarse a clock is: who asks for a moment gets it up to that later.
const tick = 100 * time.Millisecond

// A Clock wakes many sleepers with one timer. It has a goroutine at work only while
// somebody is due. Its methods may be called from any goroutine; mu guards all of it.
type Clock struct {
	mu    sync.Mutex
	queue sleepers
	timer *time.Timer
	at    int64 // when the timer fires, as after; 0: it does not
}

// A Sleeper wants to be woken. Who has one sets its Waker once; the rest is the clock's.
type Sleeper struct {
	Waker Waker
	at    int64 // as after
	place int   // in the queue, plus one; 0: not there
}

// A Waker is what is called when it is time, without a lock: it may ask the clock again.
type Waker interface{ Wake(now time.Time) }

// New makes a clock that nobody waits for.
func New() *Clock {
	c := &Clock{}
	c.timer = time.AfterFunc(time.Hour, c.run)
	c.timer.Stop()
	return c
}

// Set wakes s at a moment, and no more at the one before.
func (c *Clock) Set(s *Sleeper, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.at = after(at)
	if s.place == 0 {
		heap.Push(&c.queue, s)
	} else {
		heap.Fix(&c.queue, s.place-1)
	}
	c.armLocked()
}

// Stop lets s sleep.
func (c *Clock) Stop(s *Sleeper) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.place != 0 {
		heap.Remove(&c.queue, s.place-1)
	}
}

// armLocked sets the timer to the first sleeper, if it is not earlier already.
func (c *Clock) armLocked() {
	if len(c.queue) == 0 {
		return
	}
	first := c.queue[0].at
	if c.at == 0 || first < c.at {
		c.at = first
		c.timer.Reset(max(time.Until(began.Add(time.Duration(first))), 0) + tick/2)
	}
}

// run is the timer's.
func (c *Clock) run() {
	now := time.Now()
	var due []Waker
	c.mu.Lock()
	for len(c.queue) > 0 && c.queue[0].at <= after(now) {
		due = append(due, heap.Pop(&c.queue).(*Sleeper).Waker)
	}
	c.at = 0
	c.armLocked()
	c.mu.Unlock()
	for _, w := range due {
		w.Wake(now)
	}
}

// sleepers is a heap.Interface, the one that is due first in front.
type sleepers []*Sleeper

func (q sleepers) Len() int           { return len(q) }
func (q sleepers) Less(i, j int) bool { return q[i].at < q[j].at }

func (q sleepers) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i+1, j+1
}

// Push is heap's.
func (q *sleepers) Push(x any) {
	s := x.(*Sleeper)
	*q = append(*q, s)
	s.place = len(*q)
}

// Pop is heap's.
func (q *sleepers) Pop() any {
	old := *q
	s := old[len(old)-1]
	old[len(old)-1] = nil
	*q = old[:len(old)-1]
	s.place = 0
	return s
}
