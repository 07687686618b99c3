// SPDX-License-Identifier: MIT

package clock

import (
	"sync/atomic"
	"time"
)

// began is what moments are counted from. Both it and they have a reading of the
// monotonic clock, so that whoever sets the wall clock moves none of them.
var began = time.Now()

// after is how long after began a moment is.
func after(at time.Time) int64 { return int64(at.Sub(began)) }

// A Stamp is when something happened last. It may be set and read by any goroutine,
// and goes by the monotonic clock. Its zero value says that it never did.
type Stamp struct{ at atomic.Int64 } // nanoseconds after began, plus one; 0: never

// Set says that it happened now.
func (s *Stamp) Set(now time.Time) { s.at.Store(after(now) + 1) }

// Clear says that it never happened.
func (s *Stamp) Clear() { s.at.Store(0) }

// Since is how long before now it happened, and whether it did.
func (s *Stamp) Since(now time.Time) (d time.Duration, ok bool) {
	at := s.at.Load()
	return time.Duration(after(now) - (at - 1)), at != 0
}

// Once sets the stamp and reports true, unless it was set less than d before now: of
// many who come at once, one has that true.
func (s *Stamp) Once(now time.Time, d time.Duration) bool {
	at, moment := s.at.Load(), after(now)+1
	return (at == 0 || moment-at >= int64(d)) && s.at.CompareAndSwap(at, moment)
}
