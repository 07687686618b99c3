// SPDX-License-Identifier: MIT

package main

import (
	"strings"
	"testing"
)

// TestPairFigures takes the best of each side, and fails where ours allocates more than
// was promised, or does not count.
func TestPairFigures(t *testing.T) {
	const out = "BenchmarkA/ours-2 10 3000 ns/op 0 B/op 0 allocs/op\n" +
		"BenchmarkA/ours-2 10 2000 ns/op 0 B/op 0 allocs/op\n" +
		"BenchmarkA/theirs-2 10 8000 ns/op 64 B/op 7 allocs/op\n" +
		"BenchmarkB/ours-2 10 1000 ns/op 64 B/op 1 allocs/op\n" +
		"BenchmarkC/ours-2 10 1000 ns/op\n" +
		"BenchmarkE/ours-2 10 9000 ns/op 500 cpu-ns/op\n" +
		"BenchmarkE/theirs-2 10 1000 ns/op 1000 cpu-ns/op\n"
	tests := []struct {
		ours   string
		allocs int
		fails  string // in the error; "": none
	}{
		{"A/ours", 0, ""}, {"B/ours", uncounted, ""}, {"C/ours", uncounted, ""},
		{"B/ours", 0, "B/ours allocates"}, {"C/ours", 0, "C/ours allocates"},
		{"D/ours", uncounted, "no benchmarks D/ours"},
	}
	for _, tt := range tests {
		got, err := pairFigures(out, "dir", "name", []pair{{tt.ours, "A/theirs", 0.5, tt.allocs}})
		if err == nil && tt.fails != "" || err != nil && (tt.fails == "" ||
			!strings.Contains(err.Error(), tt.fails)) {
			t.Errorf("pairFigures(%s, %d) = %v, want %q", tt.ours, tt.allocs, err, tt.fails)
		}
		if tt.ours == "A/ours" && (len(got) != 1 || got[0].Ours != 2 || got[0].Other != 8 ||
			got[0].Why != "0 and 7 allocations") {
			t.Errorf("pairFigures(%s) = %+v, want 2 and 8 us", tt.ours, got)
		}
	}
	got, err := pairFigures(out, "dir", "name", []pair{{"E/ours", "E/theirs", 0.5, uncounted}})
	if err != nil || got[0].Ours != 0.5 || got[0].Other != 1 || got[0].Unit != "CPU us" {
		t.Errorf("pairFigures(E/ours) = %+v, %v, want the time of the processor", got, err)
	}
}
