// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"m0serve.dev/tools/internal/bench"
	"m0serve.dev/tools/internal/console"
	"m0serve.dev/tools/internal/proc"
)

// The sides of bench core take turns within milliseconds, and often, because a
// call lasts nanoseconds and any other work on the machine is longer.
const (
	coreRounds = 25
	coreTime   = 20 * time.Millisecond
)

// corePairs are benchmarks of tools/rivals/core that have a side of ours, a rival,
// and how many times as fast ours has to be.
//
// wyhash was promised beside zeebo/wyhash, which the module proxy does not serve;
// its time beside hash/maphash's, measured once in one run (16.4 to 15.1 ns at
// 256 bytes, 214 to 305 at 4096), gives the bounds that stand here.
var corePairs = []struct {
	name, rival string
	times       float64
}{
	{"Escape/20B", "segmentio", 1.35},
	{"Escape/1K", "sonic", 4},
	{"Escape/1K_html", "sonic", 1.2},
	{"Escape/1K_html_safe", "sonic", 1.2},
	{"Escape/64K", "sonic", 1},
	{"Escape/1K_utf8", "sonic_validated", 1.1},
	{"Field/60B", "jsonparser", 1.25},
	{"Field/60B", "fastjson", 1.5},
	{"Field/2K", "fastjson", 1.65},
	{"Field/100K", "fastjson", 1.65},
	{"Document/100K", "simdjson", 1},
	{"Hash/wy/256", "maphash", 1.15},
	{"Hash/wy/4096", "maphash", 1.78},
	{"Hash/fnv/1024", "std", 0.98}, // the same loop: it decides which side was disturbed
	{"Hash/xxh32/64", "oneofone", 0.97},
	{"Hash/xxh32/4096", "oneofone", 0.97},
}

// benchCore measures the three packages of core beside their rivals.
func (e *env) benchCore(s *console.Step, o benchOptions) ([]bench.Figure, error) {
	const dir = "tools/rivals"
	temp, err := os.MkdirTemp("", "m0-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	program := filepath.Join(temp, "core.test")
	build := proc.Cmd{Dir: filepath.Join(e.top, filepath.FromSlash(dir)),
		Args: []string{"go", "test", "-c", "-o", program, "./core"}}
	if _, err := proc.Run(e.ctx, build); err != nil {
		return nil, err
	}
	var out string
	rounds := o.rounds(coreRounds)
	for round := range rounds {
		s.Doing(fmt.Sprintf("round %d of %d", round+1, rounds))
		got, err := proc.Run(e.ctx, proc.Cmd{Dir: temp, Args: []string{program,
			"-test.run", "^$", "-test.bench", ".", "-test.benchtime", coreTime.String()}})
		if err != nil {
			return nil, err
		}
		out += got
	}
	return coreFigures(bench.ParseGoBench(out))
}

func coreFigures(best map[string]float64) ([]bench.Figure, error) {
	var figures []bench.Figure
	for _, p := range corePairs {
		ours, rival := p.name+"/ours", p.name+"/"+p.rival
		f := bench.Figure{Name: "core " + p.name, Unit: "ns", Ours: best[ours],
			Other: best[rival], Rival: p.rival, Ratio: 1 / p.times}
		if f.Ours == 0 || f.Other == 0 {
			return nil, fmt.Errorf("bench: tools/rivals/core has no benchmarks %s and %s", ours, rival)
		}
		figures = append(figures, f)
	}
	return figures, nil
}
