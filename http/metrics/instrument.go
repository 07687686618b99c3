// SPDX-License-Identifier: MIT

package metrics

import (
	"math"
	"sync/atomic"
)

// A Counter counts what only becomes more. The zero value is ready.
type Counter struct{ n atomic.Uint64 }

// Inc adds one.
func (c *Counter) Inc() { c.n.Add(1) }

// Add adds n.
func (c *Counter) Add(n uint64) { c.n.Add(n) }

// Value is the count.
func (c *Counter) Value() uint64 { return c.n.Load() }

// A Gauge shows how many there are of something now. The zero value is ready.
type Gauge struct{ n atomic.Int64 }

// Set makes it n.
func (g *Gauge) Set(n int64) { g.n.Store(n) }

// Add adds n, which may be negative.
func (g *Gauge) Add(n int64) { g.n.Add(n) }

// Value is what it shows.
func (g *Gauge) Value() int64 { return g.n.Load() }

// A Histogram counts observations by size. NewHistogram makes one.
type Histogram struct {
	bounds []float64 // upper ends, growing; never written
	counts []atomic.Uint64
	sum    atomic.Uint64 // bits of a float64
}

// NewHistogram makes a histogram that stands in no registry. The last bucket has no
// bound. It panics when the bounds do not grow.
func NewHistogram(bounds []float64) *Histogram {
	for i, b := range bounds {
		if math.IsNaN(b) || math.IsInf(b, 0) || i > 0 && b <= bounds[i-1] {
			panic("metrics: the bounds of a histogram have to grow, and to be finite")
		}
	}
	return &Histogram{bounds: bounds, counts: make([]atomic.Uint64, len(bounds)+1)}
}

// Observe counts v: in the first bucket that is not below it, and in the sum.
func (h *Histogram) Observe(v float64) {
	i := 0
	for i < len(h.bounds) && v > h.bounds[i] {
		i++
	}
	h.counts[i].Add(1)
	for {
		old := h.sum.Load()
		if h.sum.CompareAndSwap(old, math.Float64bits(math.Float64frombits(old)+v)) {
			return
		}
	}
}

// Snapshot is what was counted so far: by bucket, each without the ones below it,
// and all values added up.
func (h *Histogram) Snapshot() (counts []uint64, sum float64) {
	counts = make([]uint64, len(h.counts))
	for i := range counts {
		counts[i] = h.counts[i].Load()
	}
	return counts, math.Float64frombits(h.sum.Load())
}

// Seconds are bounds for how long requests take. The slice is the caller's.
func Seconds() []float64 {
	return []float64{
		0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
	}
}
