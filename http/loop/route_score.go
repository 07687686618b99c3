// SPDX-License-Identifier: MIT

package loop

import "time"

// The rule by which a route runs inline or on a goroutine of its own: a
// takeover costs everybody about a millisecond, a hand-over about three
// microseconds. So a route that is late more often than in 0.3 % of its
// requests is handed over, and comes back after a thousand quick ones in a row.
const (
	scoreTakeover = 1000
	scoreQuick    = 3
	scoreLimit    = 3000
	quickOffLoop  = 500 * time.Microsecond

	// routeSlots bounds the table. Routes that fall into one slot share a score.
	routeSlots = 1024
	// Many routes, each rarely late, are bounded together: above a hundred
	// takeovers a second everything is handed over for a while.
	globalPerMs = 100
	globalLimit = 20 * scoreTakeover
	globalPause = time.Second
)

// routes holds the scores of one loop's routes. Only the owner uses it.
type routes struct {
	slots       [routeSlots]routeSlot
	global      int64
	globalAt    time.Duration
	pooledUntil time.Duration
}

type routeSlot struct {
	score  int32 // 0 … scoreLimit, while inline
	credit int32 // -scoreLimit … scoreLimit, while pooled
	pooled bool
	alias  uint16 // slot+1 of the route that a router found behind this path
}

func (r *routes) slot(i uint16) *routeSlot {
	s := &r.slots[i]
	if s.alias != 0 {
		s = &r.slots[s.alias-1]
	}
	return s
}

// pooled says whether a request of slot i starts off the loop.
func (r *routes) pooled(i uint16, now time.Duration) bool {
	return r.slot(i).pooled || now < r.pooledUntil
}

// quick notes a handler that came back in time.
func (r *routes) quick(i uint16) {
	if s := r.slot(i); s.score > 0 {
		s.score = max(0, s.score-scoreQuick)
	}
}

// late notes a takeover.
func (r *routes) late(i uint16, now time.Duration) {
	s := r.slot(i)
	if s.score += scoreTakeover; s.score >= scoreLimit {
		s.score, s.credit, s.pooled = 0, 0, true
	}
	r.global -= int64((now - r.globalAt) / time.Millisecond * globalPerMs)
	r.global, r.globalAt = max(r.global, 0)+scoreTakeover, now
	if r.global >= globalLimit {
		r.global, r.pooledUntil = 0, now+globalPause
	}
}

// took notes how long a handler of a pooled route ran.
func (r *routes) took(i uint16, d time.Duration) {
	s := r.slot(i)
	if !s.pooled {
		return
	}
	if d >= quickOffLoop {
		s.credit = max(s.credit-scoreTakeover, -scoreLimit)
		return
	}
	if s.credit += scoreQuick; s.credit >= scoreLimit {
		s.score, s.credit, s.pooled = 0, 0, false
	}
}

// found notes that the path of slot i led to the route in slot to.
func (r *routes) found(i, to uint16) {
	if s := &r.slots[i]; s.alias != to+1 && i != to {
		s.alias = to + 1
	}
}

const (
	fnvBasis = 2166136261
	fnvPrime = 16777619
)

// routeOf guesses the route of a request before any router has seen it: the
// method, the first two segments without a digit in them, and their number.
func routeOf(method, path []byte) uint16 {
	h := uint32(fnvBasis)
	for _, b := range method {
		h = (h ^ uint32(b)) * fnvPrime
	}
	segments := uint32(0)
	for i := 0; i < len(path) && segments < 8; segments++ {
		i++ // the slash
		start, digit := i, false
		for i < len(path) && path[i] != '/' {
			digit = digit || path[i]-'0' <= 9
			i++
		}
		if segments < 2 && !digit {
			for _, b := range path[start:i] {
				h = (h ^ uint32(b)) * fnvPrime
			}
		}
		h = (h ^ '/') * fnvPrime
	}
	return uint16(h>>16^h) % routeSlots
}

// routeNamed is the slot of a route whose name is known.
func routeNamed(name string) uint16 {
	h := uint32(fnvBasis)
	for i := 0; i < len(name); i++ {
		h = (h ^ uint32(name[i])) * fnvPrime
	}
	return uint16(h>>16^h) % routeSlots
}
