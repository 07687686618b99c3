// SPDX-License-Identifier: MIT

package main

import (
	"sync/atomic"
	"testing"
)

// TestSimNeverSettles: the populations go up and down for ever, within bounds, and
// whoever is killed between two words of a step leaves one that can be gone on from.
func TestSimNeverSettles(t *testing.T) {
	s := &sim{words: make([]atomic.Uint64, simWords)}
	if first, states := s.history(); first != 0 || states != nil {
		t.Errorf("history ahead of the first step = %d, %v; want none", first, states)
	}
	least, most := 9.0, 0.0
	for i := range uint64(5000) {
		n, now := s.step()
		if n != keptSteps+i {
			t.Fatalf("step %d has number %d, want %d", i, n, keptSteps+i)
		}
		if i > 4000 {
			least, most = min(least, now.hares), max(most, now.hares)
		}
	}
	if !(least > 0.05 && least < 0.4 && most > 1.5 && most < capacity) {
		t.Errorf("hares go from %v to %v thousand, want about 0.14 to 2", least, most)
	}
	n := s.number()
	s.put(n+1, state{}) // killed ahead of the number
	if _, now := s.step(); now == (state{}) {
		t.Error("a step whose maker was killed is not made again")
	}
	first, states := s.history()
	if last := s.at(n + 1); states[len(states)-1] != last || first+uint64(len(states)) != n+2 {
		t.Errorf("history from %d has %d states and ends with %v, want %v",
			first, len(states), states[len(states)-1], last)
	}
}
