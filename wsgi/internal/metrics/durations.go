// SPDX-License-Identifier: MIT

package metrics

import (
	"sync/atomic"
	"time"

	"m0serve.dev/http/loop"
)

// classes are the first digits of a status; 0 is a connection that was cut
// without an answer.
const classes = 6

// bounds are the upper ends of the buckets; a last one has no end. Read only.
var bounds = [...]time.Duration{
	500 * time.Microsecond, time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond,
	10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond,
	250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2500 * time.Millisecond,
	5 * time.Second, 10 * time.Second, 30 * time.Second,
}

// A Histogram is how long the answers of one class took.
type Histogram struct {
	Buckets [len(bounds) + 1]uint64 // each without those below
	Seconds float64                 // of all together
}

// Count is the number of answers.
func (h *Histogram) Count() (n uint64) {
	for _, b := range h.Buckets {
		n += b
	}
	return n
}

// Durations counts how long handlers took, by class of status. The zero value
// is ready; it may be used by any number of goroutines.
type Durations struct {
	buckets [classes][len(bounds) + 1]atomic.Uint64
	nanos   [classes]atomic.Uint64
}

// Answered counts an answer. Requests that were refused before a handler saw
// them are not counted here; Stats of the loop has them.
func (d *Durations) Answered(a loop.Answer) {
	if a.Exchange == nil {
		return
	}
	class := a.Status / 100
	if class < 0 || class >= classes {
		class = 0
	}
	took := max(a.Took, 0)
	i := 0
	for i < len(bounds) && took > bounds[i] {
		i++
	}
	d.buckets[class][i].Add(1)
	d.nanos[class].Add(uint64(took))
}

// Snapshot is what was counted so far, by class.
func (d *Durations) Snapshot() (all [classes]Histogram) {
	for class := range all {
		h := &all[class]
		for i := range h.Buckets {
			h.Buckets[i] = d.buckets[class][i].Load()
		}
		h.Seconds = time.Duration(d.nanos[class].Load()).Seconds()
	}
	return all
}
