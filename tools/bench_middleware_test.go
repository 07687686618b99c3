// SPDX-License-Identifier: MIT

package main

import "testing"

// TestCostsAreTheBestOfAllRounds: a round that was disturbed does not count.
func TestCostsAreTheBestOfAllRounds(t *testing.T) {
	costs := map[string]*cost{}
	for _, out := range []string{
		"BenchmarkA/ours-2 \t 10\t 200 ns/op\t 94.7 cpu-ns/op\t 32 B/op\t 3 allocs/op\n" +
			"BenchmarkA/theirs-2 \t 10\t 300 ns/op\t 1.5e+06 cpu-ns/op\t 32 B/op\t 2 allocs/op\n",
		"BenchmarkA/ours \t 10\t 900 ns/op\t 120 cpu-ns/op\t 32 B/op\t 2 allocs/op\nPASS\n",
	} {
		addCosts(costs, out)
	}
	if len(costs) != 2 {
		t.Fatalf("%d benchmarks; want 2", len(costs))
	}
	ours, theirs := costs["A/ours"], costs["A/theirs"]
	if ours.ns.Value() != 94.7 || ours.allocs.Value() != 2 || theirs.ns.Value() != 1.5e6 {
		t.Errorf("ours %v ns and %v allocations, theirs %v ns; want 94.7, 2 and 1500000",
			ours.ns.Value(), ours.allocs.Value(), theirs.ns.Value())
	}
	if _, err := middlewareFigures(costs); err == nil {
		t.Error("a benchmark that is missing is no error")
	}
}
