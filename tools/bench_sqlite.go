// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"m0serve.dev/tools/internal/bench"
	"m0serve.dev/tools/internal/console"
	"m0serve.dev/tools/internal/proc"
)

// Two processes write for writersTime in each round; waitMs is the most that one of
// them may wait.
const (
	writersRounds = 3
	writersTime   = 3 * time.Second
	waitMs        = 100
)

// benchSQLite compares queries with database/sql on the same engine and with zombiezen's
// package, and lets two processes write to one file.
func (e *env) benchSQLite(s *console.Step, o benchOptions) ([]bench.Figure, error) {
	figures, err := e.goBench(s, o, "tools/rivals/sqlite", "sqlite", []pair{
		{"Point/ours", "Point/modernc", 1 / 1.6, uncounted},
		{"Point/one", "Point/modernc", 0.8, uncounted},
		{"Scan/ours", "Scan/modernc", 1 / 2.5, uncounted},
		{"Scan/query", "Scan/modernc", 0.6, uncounted},
		{"Bulk/ours", "Bulk/modernc", 0.5, uncounted},
		{"Autocommit/ours", "Autocommit/modernc", 1, uncounted},
		{"Point/ours", "Point/zombiezen", 1 / 1.1, uncounted},
		{"Scan/ours", "Scan/zombiezen", 1, uncounted},
		{"Bulk/ours", "Bulk/zombiezen", 1 / 1.3, uncounted},
		{"Autocommit/ours", "Autocommit/zombiezen", 0, uncounted},
	})
	if err != nil {
		return figures, err
	}
	wait, err := e.twoWriters(s, o)
	return append(figures, wait), err
}

// twoWriters is how long the slowest transaction of two processes took, of the better
// round of each side.
func (e *env) twoWriters(s *console.Step, o benchOptions) (bench.Figure, error) {
	f := bench.Figure{Name: "sqlite two writers", Unit: "longest ms", Rival: "modernc", Limit: waitMs}
	programs, err := e.buildRivals(s, "writers")
	if err != nil {
		return f, err
	}
	defer programs.remove()
	worst := map[string]*bench.Best{"ours": {}, "modernc": {}}
	rounds := o.rounds(writersRounds)
	for round := range rounds {
		for _, side := range []string{"ours", "modernc"} {
			s.Doing(fmt.Sprintf("two writers, %s, round %d of %d", side, round+1, rounds))
			file := filepath.Join(string(programs), fmt.Sprint(side, round, ".db"))
			ms, err := e.writeTwice(programs.program("writers"), side, file, o.length(writersTime))
			if err != nil {
				return f, err
			}
			worst[side].Add(ms)
		}
	}
	f.Ours, f.Other = worst["ours"].Value(), worst["modernc"].Value()
	return f, nil
}

// writeTwice starts two writers at once and returns the longest of their waits.
func (e *env) writeTwice(program, side, file string, length time.Duration) (float64, error) {
	args := []string{program, "-side", side, "-db", file}
	if _, err := proc.Run(e.ctx, proc.Cmd{Args: args}); err != nil {
		return 0, err
	}
	var worst [2]float64
	var errs [2]error
	var both sync.WaitGroup
	for i := range worst {
		both.Go(func() {
			out, err := proc.Run(e.ctx, proc.Cmd{Args: append(slices.Clone(args), "-run", length.String())})
			var said struct {
				Commits int     `json:"commits"`
				WorstMs float64 `json:"worst_ms"`
			}
			if err == nil {
				err = json.Unmarshal([]byte(out), &said)
			}
			if err == nil && said.Commits == 0 {
				err = fmt.Errorf("bench: a writer of %s committed nothing", side)
			}
			worst[i], errs[i] = said.WorstMs, err
		})
	}
	both.Wait()
	for _, err := range errs {
		if err != nil {
			return 0, err
		}
	}
	return max(worst[0], worst[1]), nil
}
