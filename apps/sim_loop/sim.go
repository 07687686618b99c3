// SPDX-License-Identifier: MIT

package main

import (
	"math"
	"sync/atomic"
)

// Hares and foxes, in thousands, after Rosenzweig and MacArthur: hares grow up to
// what the land feeds, foxes eat up to what they can, and no balance is stable.
const (
	capacity  = 3.0 // of the land, in hares
	hunger    = 2.0
	satiety   = 1.0
	growth    = 0.6 // foxes of a hare
	mortality = 0.5 // of foxes
	stepTime  = 0.3 // of the model's time, a step
)

// A state is the size of both populations.
type state struct{ hares, foxes float64 }

var beginning = state{hares: 1, foxes: 0.5}

// rates are the changes of a state in a unit of time.
func (s state) rates() (hares, foxes float64) {
	eaten := hunger * s.hares * s.foxes / (1 + satiety*s.hares)
	return s.hares*(1-s.hares/capacity) - eaten, growth*eaten - mortality*s.foxes
}

// next is the state one step later, by the method of Runge and Kutta.
func (s state) next() state {
	along := func(h, f, by float64) state { return state{s.hares + h*by, s.foxes + f*by} }
	h1, f1 := s.rates()
	h2, f2 := along(h1, f1, stepTime/2).rates()
	h3, f3 := along(h2, f2, stepTime/2).rates()
	h4, f4 := along(h3, f3, stepTime).rates()
	return along(h1+2*h2+2*h3+h4, f1+2*f2+2*f3+f4, stepTime/6)
}

// The simulation's words on the page that all workers share: the number of the last
// step, and the states of the last ones, step n in place n modulo their number.
const (
	keptSteps = 240
	simWords  = 1 + keptSteps
)

// A sim is the simulation as one process sees it. Only the duties of worker 0 step
// it; everybody reads it. A state is one word and is written before its number, so
// that a process that is killed at any moment leaves a whole one.
type sim struct{ words []atomic.Uint64 }

// number is that of the last step, 0 before the first.
func (s *sim) number() uint64 { return s.words[0].Load() }

func (s *sim) at(n uint64) state {
	w := s.words[1+n%keptSteps].Load()
	return state{
		hares: float64(math.Float32frombits(uint32(w >> 32))),
		foxes: float64(math.Float32frombits(uint32(w))),
	}
}

func (s *sim) put(n uint64, now state) {
	hares, foxes := math.Float32bits(float32(now.hares)), math.Float32bits(float32(now.foxes))
	s.words[1+n%keptSteps].Store(uint64(hares)<<32 | uint64(foxes))
}

// step makes the next step. The first is that of a model that has run for a minute.
func (s *sim) step() (n uint64, now state) {
	if n = s.number(); n == 0 {
		for now = beginning; n < keptSteps; n++ {
			s.put(n, now)
			now = now.next()
		}
	} else {
		n++
	}
	s.put(n, s.at(n-1).next())
	s.words[0].Store(n)
	return n, s.at(n) // as the next step finds it
}

// history are the last states, oldest first, and the number of the first of them.
// The oldest are left out, which may be overwritten meanwhile.
func (s *sim) history() (first uint64, states []state) {
	last := s.number()
	if last == 0 {
		return 0, nil
	}
	first = last - (keptSteps - 8)
	for n := first; n <= last; n++ {
		states = append(states, s.at(n))
	}
	return first, states
}
