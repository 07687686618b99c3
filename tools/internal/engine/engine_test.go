// SPDX-License-Identifier: MIT

package engine

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"m0serve.dev/tools/internal/bench"
)

// everything is all workloads of both benches.
func everything() []Workload { return append(Workloads(false), BlockingWorkloads()...) }

// TestWorkloadsAreWhole wants a program for each side, each script, and targets of sides
// that run.
func TestWorkloadsAreWhole(t *testing.T) {
	scripts := filepath.Join("..", "..", "rivals", "httpd")
	_, errScripts := os.Stat(scripts)
	seen := map[string]bool{}
	for _, w := range everything() {
		name := w.Bench + " " + w.Name
		if seen[name] || w.What == "" || w.Kind == "" || len(w.Targets) == 0 {
			t.Errorf("%s: %+v, want a name of its own, what it is, and targets", name, w)
		}
		seen[name] = true
		for _, side := range w.Sides {
			if _, ok := flags[side]; !ok {
				t.Errorf("%s: nothing is known of side %q", name, side)
			}
		}
		for _, target := range w.Targets {
			if !w.has(target.Ours) || CanDrop(target.Ours) || target.Rival != "" && !w.has(target.Rival) {
				t.Errorf("%s: target %+v is not of its sides %q", name, target, w.Sides)
			}
		}
		if w.Kind == Saturated && w.Load.Conns == 0 {
			t.Errorf("%s: no connections", name)
		}
		if script := w.Load.Script; script != "" && errScripts == nil {
			if _, err := os.Stat(filepath.Join(scripts, script)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if got := len(browser) + 1; got != 12 { // and Host
		t.Errorf("a browser sends %d fields, want 12", got)
	}
}

// TestTargets is what was promised.
func TestTargets(t *testing.T) {
	want := map[string]string{
		"plain native/nethttp": "1.60", "plain std/nethttp": "1.50", "plain native/fasthttp": "1.00",
		"plain native/gnet": "0.95", "headers native/nethttp": "1.90", "headers native/fasthttp": "1.10",
		"pipelined native/nethttp": "10.00", "pipelined native/fasthttp": "1.00",
		"close native/nethttp": "1.00", "storm native/nethttp": "0.95", "storm std/nethttp": "0.95",
		"guard native/native, no watchdog": "0.98", "guard std/std, no watchdog": "0.96",
		"loops native, 2 loops/native": "1.70",
		"mix native/nethttp":           "1.30", "mix std/nethttp": "1.30",
		"mix native/native, all pooled": "0.95", "mix std/std, all pooled": "0.95",
		"one native/nethttp": "1.30", "one std/nethttp": "1.30",
		"one native/native, all pooled": "0.95", "one std/std, all pooled": "0.95",
		"storm native/": "5 takeovers", "storm std/": "5 takeovers",
		"still native/": "still", "still std/": "still",
		"held native/nethttp": "1 ms", "rate native/nethttp": "5 ms", "rate std/nethttp": "5 ms",
	}
	got := map[string]string{}
	for _, w := range everything() {
		for _, target := range w.Targets {
			value := fmt.Sprintf("%.2f", target.Rate)
			switch {
			case target.Takeovers > 0:
				value = fmt.Sprintf("%.0f takeovers", target.Takeovers)
			case target.Still:
				value = "still"
			case target.P99 == 1:
				value = fmt.Sprintf("%.0f ms", target.P99Ms)
			}
			got[w.Name+" "+target.Ours+"/"+target.Rival] = value
			if target.Rival != "" && target.CPU == 0 {
				t.Errorf("%s: %+v has no bound on CPU", w.Name, target)
			}
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("targets = %v\nwant %v", got, want)
	}
}

// TestRowKeepsTheBest of each measure, but the fewest seconds without a wake-up, and
// nothing of a round in which the load was late.
func TestRowKeepsTheBest(t *testing.T) {
	r := Row{Side: native}
	for _, round := range []Row{
		{Generator: generatorLateMs + 1, Rate: 99, P99: 0.1},
		{Rate: 10, CPU: 5, P50: 2, P99: 9, P999: 20, Takeovers: 3, Still: 5, Watched: 5, Full: true},
		{Rate: 20, CPU: 6, P50: 1, P99: 8, P999: 30, Takeovers: 4, Still: 4, Watched: 5, Woken: 2},
	} {
		r.add(round)
	}
	want := Row{Side: native, Rate: 20, CPU: 5, P50: 1, P99: 8, P999: 20, Takeovers: 3, Still: 4,
		Watched: 5, Woken: 2, Late: 1, rounds: 2}
	if r != want {
		t.Errorf("row = %+v\nwant  %+v", r, want)
	}
	late := Row{Side: native}
	late.add(Row{Generator: 7, P99: 1})
	if late.isMeasured() || !strings.Contains(late.whyNot(), "late, by 7.0 ms") {
		t.Errorf("a row of late rounds = %+v, %q, want that the load was late", late, late.whyNot())
	}
}

func TestFigures(t *testing.T) {
	measured := func(r Row) Row {
		r.rounds = 1
		return r
	}
	w := Workload{Bench: "hello", Name: "x", Sides: []string{native, nethttp, gnet},
		Targets: []Target{{Ours: native, Rival: nethttp, Rate: 1.5, CPU: 0.5, P99: 1, P99Ms: 2},
			{Ours: native, Rival: gnet, Rate: 1, Cores: 1 << 20}, {Ours: native, Takeovers: 5},
			{Ours: native, Still: true}, {Ours: native, Rival: fasthttp, Rate: 1}}}
	our := Row{Side: native, Rate: 30, CPU: 2, P99: 1, Takeovers: 3, Still: 4, Watched: 5, Woken: 1}
	rival, third := Row{Side: nethttp, Rate: 10, CPU: 4, P99: 4}, Row{Side: gnet, Rate: 60, CPU: 1}
	rows := []Row{measured(our), measured(rival), measured(third)}
	got := w.Figures(rows)
	want := []bench.Figure{
		{Unit: "requests/s", Ours: 30, Other: 10, Rival: nethttp, Ratio: 1.5, MoreIsBetter: true},
		{Unit: "CPU us/request", Ours: 2, Other: 4, Rival: nethttp, Ratio: 0.5},
		{Unit: "p99 ms", Ours: 1, Other: 4, Rival: nethttp, Ratio: 1, Limit: 2},
		{Unit: "requests/s", Ours: 30, Other: 60, Rival: gnet, MoreIsBetter: true},
		{Unit: "takeovers of the route", Ours: 3, Other: 5, Rival: "bound", Ratio: 1},
		{Unit: "seconds without a wake-up", Ours: 4, Other: 5, Rival: "watched", Ratio: 1,
			MoreIsBetter: true, Why: "1 wake-ups"},
	}
	if len(got) != len(want) {
		t.Fatalf("%d figures, want %d: %+v", len(got), len(want), got)
	}
	for i, f := range got {
		if i == 3 && strings.Contains(f.Why, "cores do not allow the target of 1.0x") {
			f.Why = ""
		}
		want[i].Name = "hello x native"
		if f != want[i] {
			t.Errorf("figure = %+v\nwant     %+v", f, want[i])
		}
	}
	if f := got[5]; f.Met() {
		t.Errorf("%+v is met with a wake-up", f)
	}
	rows[1].Full = true
	if f := w.Figures(rows)[0]; f.Unit != "requests/CPU s" || f.Ours != 5e5 || f.Other != 2.5e5 {
		t.Errorf("where the load was full: %+v, want requests of a second of CPU", f)
	}
	rows[1].Why = "no such engine"
	if f := w.Figures(rows)[0]; f.Ours != 0 || f.Why != "nethttp has no figure" || f.Met() {
		t.Errorf("where the rival failed: %+v, want that it has no figure", f)
	}
}

func TestTable(t *testing.T) {
	rows := []Row{{Side: native, Rate: 1234, CPU: 7, Full: true, rounds: 1, Late: 1},
		{Side: nethttp, Why: "no such\nengine"}}
	for _, w := range everything() {
		got := w.Table(rows)
		for _, want := range []string{w.Name, "not measured: no such\n", "compare CPU",
			"(1 rounds do not count"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: table\n%s\nhas no %q", w.Name, got, want)
			}
		}
	}
}
