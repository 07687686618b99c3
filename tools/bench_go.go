// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"m0serve.dev/tools/internal/bench"
	"m0serve.dev/tools/internal/console"
	"m0serve.dev/tools/internal/proc"
)

// Lengths of the Go benchmarks: each side runs for a moment, in turns.
const (
	goBenchRounds = 10
	goBenchTime   = 100 * time.Millisecond
	goBenchQuick  = 20 * time.Millisecond
)

// uncounted is the bound of allocations that nothing was promised about.
const uncounted = -1

// pair names two Go benchmarks, the most that ours may take of the rival's time, and
// the most that ours may allocate.
type pair struct {
	ours, rival string
	most        float64
	allocs      int
}

// goBench runs the benchmarks of dir in rounds, so that the sides take turns. They are
// compiled once.
func (e *env) goBench(s *console.Step, o benchOptions, dir, name string,
	pairs []pair) ([]bench.Figure, error) {
	temp, err := os.MkdirTemp("", "m0-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	program, from := filepath.Join(temp, "bench.test"), filepath.Join(e.top, filepath.FromSlash(dir))
	s.Doing("go test -c in " + dir)
	if _, err := proc.Run(e.ctx, proc.Cmd{Dir: from,
		Args: []string{"go", "test", "-c", "-o", program, "."}}); err != nil {
		return nil, err
	}
	length := goBenchTime
	if o.quick {
		length = goBenchQuick
	}
	var out strings.Builder
	rounds := o.rounds(goBenchRounds)
	for round := range rounds {
		s.Doing(fmt.Sprintf("benchmarks of %s, round %d of %d", dir, round+1, rounds))
		got, err := proc.Run(e.ctx, proc.Cmd{Dir: from, Args: []string{program, "-test.run", "^$",
			"-test.bench", ".", "-test.benchtime", length.String()}})
		if err != nil {
			return nil, err
		}
		out.WriteString(got)
	}
	return pairFigures(out.String(), dir, name, pairs)
}

// pairFigures makes figures of what "go test -bench" printed: of the time of the
// processor where both sides say it, else of the time that passed. The error names those of
// ours that allocate.
func pairFigures(out, dir, name string, pairs []pair) (figures []bench.Figure, err error) {
	passed, cpu, allocs := bench.ParseGoBench(out), bench.ParseGoCPU(out), bench.ParseGoAllocs(out)
	for _, p := range pairs {
		best, unit := passed, "us"
		if cpu[p.ours] > 0 && cpu[p.rival] > 0 {
			best, unit = cpu, "CPU us"
		}
		f := bench.Figure{Name: name + " " + p.ours, Unit: unit, Ours: best[p.ours] / 1000,
			Other: best[p.rival] / 1000, Rival: p.rival, Ratio: p.most}
		if f.Ours == 0 || f.Other == 0 {
			return nil, fmt.Errorf("bench: %s has no benchmarks %s and %s", dir, p.ours, p.rival)
		}
		if p.allocs != uncounted {
			got, ok := allocs[p.ours]
			if !ok || got > float64(p.allocs) {
				err = fmt.Errorf("bench: %s allocates %.0f times, want %d", p.ours, got, p.allocs)
			}
			f.Why = fmt.Sprintf("%.0f and %.0f allocations", got, allocs[p.rival])
		}
		figures = append(figures, f)
	}
	return figures, err
}
