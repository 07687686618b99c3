// SPDX-License-Identifier: MIT

package contest

import (
	"slices"
	"strings"
	"testing"

	"m0serve.dev/tools/internal/bench"
)

func allWorkloads() []Workload {
	return slices.Concat(WSGIWorkloads(), ASGIWorkloads(), MixedWorkloads())
}

// TestWorkloadsAreWhole asks for the command of every side and the rival of every
// target.
func TestWorkloadsAreWhole(t *testing.T) {
	h := House{Python: "/v/bin/python", Command: "/b/m0serve", Apps: "/a"}
	for _, w := range allWorkloads() {
		if w.Answer == 0 || w.Conns == 0 && !w.Idle {
			t.Errorf("%s %s: Answer = %d, Conns = %d, want both", w.Kind, w.Name, w.Answer, w.Conns)
		}
		if e := entries[w.Sides[0]]; e.name != ours {
			t.Errorf("%s %s: the first side is %q, want ours", w.Kind, w.Name, e.name)
		}
		for _, target := range w.Targets {
			if !slices.Contains(w.Sides, target.Rival) {
				t.Errorf("%s %s: target %q is no side", w.Kind, w.Name, target.Rival)
			}
		}
		for _, side := range w.Sides {
			e, ok := entries[side]
			if e.name == ceiling || e.name == bare {
				continue
			}
			args := strings.Join(h.command(e, w, 4711), " ")
			app, _, _ := strings.Cut(w.App, ":")
			if !ok || !strings.Contains(args, "4711") || !strings.Contains(args, app) {
				t.Errorf("%s %s: command of %s = %q, want port and application",
					w.Kind, w.Name, side, args)
			}
		}
	}
}

// TestThreadsAreEqual looks at the threads of the sides where that is the promise.
func TestThreadsAreEqual(t *testing.T) {
	h := House{Python: "/v/bin/python", Command: "/b/m0serve", Apps: "/a"}
	for _, w := range MixedWorkloads() {
		for _, side := range w.Sides {
			args := h.command(entries[side], w, 1)
			if n := []string{"4", "8"}; !slices.Contains(args, n[len(n)*w.Threads/16]) {
				t.Errorf("%s: %s = %q, want %d threads", w.Name, side, args, w.Threads)
			}
		}
	}
}

func TestRowKeepsTheBestOfEach(t *testing.T) {
	var r Row
	r.add(Row{Rate: 10, CPU: 5, P50: 2, P99: 9, Full: true, Memory: bench.Memory{Pss: 7, RSS: 1}})
	r.add(Row{Rate: 20, CPU: 6, P50: 1, P99: 8, Memory: bench.Memory{Pss: 6, RSS: 2}})
	r.add(Row{Rate: 15, CPU: 4, P50: 3, P99: 7, Full: true, Memory: bench.Memory{Pss: 8, RSS: 3}})
	want := Row{Rate: 20, CPU: 4, P50: 1, P99: 7, Memory: bench.Memory{Pss: 6, RSS: 2}, rounds: 3}
	if r != want {
		t.Errorf("best of three = %+v, want %+v", r, want)
	}
}

func TestFigures(t *testing.T) {
	w := Workload{Kind: WSGI, Name: "w", Targets: []Target{{Rival: "r", Ratio: 2}}}
	idle := Workload{Kind: WSGI, Name: "w", Idle: true, Targets: []Target{{Rival: "r", Over: 12}}}
	mb := func(x float64) bench.Memory { return bench.Memory{Pss: x} }
	tests := []struct {
		name      string
		w         Workload
		our, rive Row
		want      string // in the line
		met       bool
	}{
		{"by rate", w, Row{Rate: 30, rounds: 1}, Row{Rate: 10, rounds: 1}, "requests/s", true},
		{"too slow", w, Row{Rate: 19, rounds: 1}, Row{Rate: 10, rounds: 1}, "1.90x", false},
		{"the load was full", w, Row{Rate: 11, CPU: 1, Full: true, rounds: 1},
			Row{Rate: 10, CPU: 3, rounds: 1}, "the load's core was full", true},
		{"ours did not start", w, Row{Side: "m", Why: "no"}, Row{Rate: 1, rounds: 1},
			"NOT MEASURED (m has no figure)", false},
		{"it stopped in the second round", w, Row{Rate: 30, rounds: 1},
			Row{Side: "r", Rate: 1, rounds: 1, Why: "no"}, "NOT MEASURED (r has no figure)", false},
		{"memory of the worker", idle, Row{Memory: mb(30), Worker: mb(15), rounds: 1},
			Row{Memory: mb(4), Worker: mb(4), rounds: 1}, "MB Pss", true},
		{"too much memory", idle, Row{Worker: mb(17), rounds: 1}, Row{Worker: mb(4), rounds: 1},
			"<= rival + 12.0", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.rive.Side = "r"; tt.our.Side == "" {
				tt.our.Side = "m"
			}
			got := tt.w.Figures([]Row{tt.our, tt.rive})
			if len(got) != 1 || !strings.Contains(got[0].String(), tt.want) || got[0].Met() != tt.met {
				t.Errorf("Figures = %v, want one, met %v, with %q", got, tt.met, tt.want)
			}
		})
	}
}

func TestTable(t *testing.T) {
	w := Workload{Kind: WSGI, Name: "hello", Targets: []Target{{Rival: "bjoern", Ratio: 2}}}
	got := w.Table([]Row{
		{Side: ours, Rate: 3000, Full: true, CPU: 10, rounds: 1},
		{Side: "bjoern", Rate: 1000, CPU: 20, Trouble: "read 3", rounds: 1},
		{Side: "granian", Why: "bench: granian ended, and printed:\nno such option"},
	})
	for _, want := range []string{
		"\nm0serve  3000*    10.0       -  ",
		"2.00x  >= 2.00x met (the load's core was full)  (read 3)\n",
		"\ngranian  not measured: bench: granian ended, and printed:\n" +
			"         no such option\n",
		"\n* the load's core was full: compare CPU",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("Table =\n%s\nwant %q in it", got, want)
		}
	}
}
