// SPDX-License-Identifier: MIT

package loop

import (
	"math/bits"
	"time"
)

const (
	// wheelTick is how late a deadline may be noticed.
	wheelTick = 16 * time.Millisecond
	// wheelSlots is a power of two: the wheel looks 16 s ahead, a deadline
	// beyond that is looked at again on the way.
	wheelSlots = 1024
)

// A wheel holds the absolute deadlines of one loop's connections. Only the
// owner of the loop uses it, and it is told what time it is.
//
// Moving a deadline further away does not move the connection: most deadlines
// are pushed back long before they pass, so the slot is only a time at which to
// look again.
type wheel struct {
	slots [wheelSlots]*conn
	used  [wheelSlots / 64]uint64 // a bit per slot that is not empty
	tick  int64                   // the last tick that was looked at
}

// set makes c's deadline at (0: none).
func (w *wheel) set(c *conn, at time.Duration) {
	c.deadline = at
	if at == 0 || c.slot != 0 && w.at(c) <= at {
		return
	}
	w.remove(c)
	w.link(c)
}

// at is the time at which c is looked at.
func (w *wheel) at(c *conn) time.Duration {
	ahead := (int64(c.slot-1) - w.tick) & (wheelSlots - 1)
	return time.Duration(w.tick+ahead) * wheelTick
}

// link puts c into the slot of its deadline, at least one tick from now.
func (w *wheel) link(c *conn) {
	tick := int64((c.deadline + wheelTick - 1) / wheelTick)
	tick = min(max(tick, w.tick+1), w.tick+wheelSlots-1)
	i := tick & (wheelSlots - 1)
	c.slot = int16(i) + 1
	c.later, c.sooner = w.slots[i], nil
	if c.later != nil {
		c.later.sooner = c
	}
	w.slots[i] = c
	w.used[i/64] |= 1 << (i % 64)
}

// remove forgets c.
func (w *wheel) remove(c *conn) {
	if c.slot == 0 {
		return
	}
	i := int(c.slot - 1)
	if c.sooner != nil {
		c.sooner.later = c.later
	} else {
		w.slots[i] = c.later
	}
	if c.later != nil {
		c.later.sooner = c.sooner
	}
	if w.slots[i] == nil {
		w.used[i/64] &^= 1 << (i % 64)
	}
	c.slot, c.later, c.sooner = 0, nil, nil
}

// advance calls late for every connection whose deadline has passed at now.
func (w *wheel) advance(now time.Duration, late func(*conn)) {
	to := int64(now / wheelTick)
	// Each slot is seen once, however far the clock went.
	w.tick = max(w.tick, to-wheelSlots)
	for w.tick < to {
		w.tick++
		i := w.tick & (wheelSlots - 1)
		for c := w.slots[i]; c != nil; c = w.slots[i] {
			w.remove(c)
			switch {
			case c.deadline == 0:
			case c.deadline > now:
				w.link(c)
			default:
				c.deadline = 0
				late(c)
			}
		}
	}
}

// next is how long to wait at most: until the first slot that is not empty, or
// -1 when there is none.
func (w *wheel) next(now time.Duration) time.Duration {
	for ahead := int64(1); ahead < wheelSlots; {
		i := (w.tick + ahead) & (wheelSlots - 1)
		if word := w.used[i/64] >> (i % 64); word != 0 {
			ahead += int64(bits.TrailingZeros64(word))
			if ahead >= wheelSlots {
				break
			}
			return max(time.Duration(w.tick+ahead)*wheelTick-now, 0)
		}
		ahead += 64 - i%64
	}
	return -1
}
