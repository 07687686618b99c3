// SPDX-License-Identifier: MIT

package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"m0serve.dev/tools/internal/contest"
	"m0serve.dev/tools/internal/engine"
	"m0serve.dev/tools/internal/fanout"
)

func TestBenchFlags(t *testing.T) {
	got, err := parseBench(strings.Fields(
		"wsgi --json --runs 3 --only hello,page --sides bjoern --seconds=2"))
	if err != nil || got.name != "wsgi" || !got.json ||
		!slices.Equal(got.only, []string{"hello", "page"}) ||
		!slices.Equal(got.sides, []string{"bjoern"}) {
		t.Errorf("parseBench = %+v, %v, want all of it", got, err)
	}
	if n, d := got.rounds(5), got.length(time.Minute); n != 3 || d != 2*time.Second {
		t.Errorf("rounds, length = %d, %v, want 3, 2s", n, d)
	}
	after, err := parseBench([]string{"--quick", "asgi"})
	if n, d := after.rounds(5), after.length(time.Minute); err != nil || after.name != "asgi" ||
		n != 1 || d != time.Second {
		t.Errorf("parseBench(--quick asgi) = %+v, %v, %d, %v, want 1, 1s", after, err, n, d)
	}
	for _, bad := range []string{"wsgj", "wsgi asgi", "--fast", "--runs x", "--runs -1"} {
		if got, err := parseBench(strings.Fields(bad)); err == nil {
			t.Errorf("parseBench(%q) = %+v, want an error", bad, got)
		}
	}
}

// TestBenchChoice leaves out workloads and rivals, never ours.
func TestBenchChoice(t *testing.T) {
	o := benchOptions{only: []string{"page", "hello"}, sides: []string{"bjoern", "ceiling"}}
	got, err := choose(contest.WSGIWorkloads(), o)
	if err != nil || len(got) != 2 {
		t.Fatalf("choose = %d workloads, %v, want 2", len(got), err)
	}
	for _, w := range got {
		if want := []string{"m0serve", "bjoern", "ceiling"}; !slices.Equal(w.Sides, want) {
			t.Errorf("%s: sides = %q, want %q", w.Name, w.Sides, want)
		}
	}
	if _, err := choose(contest.WSGIWorkloads(), benchOptions{only: []string{"pages"}}); err == nil ||
		!strings.Contains(err.Error(), "page") {
		t.Errorf("choose(pages) = %v, want the names there are", err)
	}
	if all, err := choose(contest.WSGIWorkloads(), benchOptions{}); err != nil ||
		len(all) != len(contest.WSGIWorkloads()) {
		t.Errorf("choose without flags = %d workloads, %v, want all", len(all), err)
	}
}

// TestEngineChoice leaves out rivals, and none of ours, whose sides are rivals of each other.
func TestEngineChoice(t *testing.T) {
	o := benchOptions{only: []string{"plain", "guard"}, sides: []string{"gnet"}}
	got, err := chooseEngine(engine.Workloads(false), o)
	if err != nil || len(got) != 2 {
		t.Fatalf("chooseEngine = %d workloads, %v, want 2", len(got), err)
	}
	if want := []string{"native", "std", "gnet"}; !slices.Equal(got[0].Sides, want) {
		t.Errorf("plain: sides = %q, want %q", got[0].Sides, want)
	}
	if n := len(got[1].Sides); n != 4 {
		t.Errorf("guard: %d sides, want 4", n)
	}
	_, err = chooseEngine(engine.Workloads(false), benchOptions{only: []string{"x"}})
	if err == nil || !strings.Contains(err.Error(), "pipelined") {
		t.Errorf("chooseEngine(x) = %v, want the names there are", err)
	}
}

// TestRealtimeChoice leaves out rivals, never ours nor a pair of conditions.
func TestRealtimeChoice(t *testing.T) {
	o := benchOptions{only: []string{"fanout", "busy"}, sides: []string{"nchan"}}
	got, err := chooseFanout(fanout.Workloads(false), o)
	if err != nil || len(got) != 2 {
		t.Fatalf("chooseFanout = %d workloads, %v, want 2", len(got), err)
	}
	if want := []string{"m0serve", "m0serve-grip", "nchan"}; !slices.Equal(got[0].Sides, want) {
		t.Errorf("fanout: sides = %q, want %q", got[0].Sides, want)
	}
	if want := []string{"idle", "busy"}; !slices.Equal(got[1].Sides, want) {
		t.Errorf("busy: sides = %q, want %q", got[1].Sides, want)
	}
	_, err = chooseFanout(fanout.Workloads(false), benchOptions{only: []string{"x"}})
	if err == nil || !strings.Contains(err.Error(), "stalled") {
		t.Errorf("chooseFanout(x) = %v, want the names there are", err)
	}
}
