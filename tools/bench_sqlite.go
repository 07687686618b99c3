// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"m0serve.dev/tools/internal/bench"
	"m0serve.dev/tools/internal/console"
	"m0serve.dev/tools/internal/proc"
)

// Two processes write for writersTime in each round; waitMs is the most that one of
// them may wait for the lock.
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

// A waited is what writers said: the longest wait for the lock and the longest transaction.
type waited struct{ lock, transaction bench.Best }

// twoWriters is how long two processes waited for the lock of one file at most, of the better
// round of each side. Beside it: the slowest transactions, which pay the disk and the turns of
// the processors too, and those of writers who have a file each, who never wait for another.
func (e *env) twoWriters(s *console.Step, o benchOptions) (bench.Figure, error) {
	f := bench.Figure{Name: "sqlite two writers", Unit: "longest ms", Rival: "modernc", Limit: waitMs}
	programs, err := e.buildRivals(s, "writers")
	if err != nil {
		return f, err
	}
	defer programs.remove()
	ours, other, apart := &waited{}, &waited{}, &waited{}
	rounds := o.rounds(writersRounds)
	for round := range rounds {
		s.Doing(fmt.Sprintf("two writers, round %d of %d", round+1, rounds))
		path := func(name string) string {
			return filepath.Join(string(programs), fmt.Sprint(name, round, ".db"))
		}
		for _, pass := range []struct {
			side  string
			files [2]string
			said  *waited
		}{
			{"ours", [2]string{path("ours"), path("ours")}, ours},
			{"modernc", [2]string{path("modernc"), path("modernc")}, other},
			{"ours", [2]string{path("one"), path("two")}, apart},
		} {
			err := e.writeTwice(programs.program("writers"), pass.side, pass.files,
				o.length(writersTime), pass.said)
			if err != nil {
				return f, err
			}
		}
	}
	f.Ours, f.Other = ours.lock.Value(), other.lock.Value()
	f.Why = fmt.Sprintf("slowest transactions %.0f and %.0f; with a file each %.0f, the lock %.0f",
		ours.transaction.Value(), other.transaction.Value(),
		apart.transaction.Value(), apart.lock.Value())
	return f, nil
}

// A writerSaid is what the program writers prints.
type writerSaid struct {
	Commits int     `json:"commits"`
	WaitMs  float64 `json:"wait_ms"`
	WorstMs float64 `json:"worst_ms"`
}

// writeTwice starts two writers at once and adds the longer of what they say.
func (e *env) writeTwice(program, side string, files [2]string, length time.Duration,
	to *waited) error {
	args := func(i int) []string { return []string{program, "-side", side, "-db", files[i]} }
	for i := range files {
		if _, err := proc.Run(e.ctx, proc.Cmd{Args: args(i)}); err != nil {
			return err
		}
	}
	var said [2]writerSaid
	var errs [2]error
	var both sync.WaitGroup
	for i := range said {
		both.Go(func() {
			out, err := proc.Run(e.ctx, proc.Cmd{Args: append(args(i), "-run", length.String())})
			if err == nil {
				err = json.Unmarshal([]byte(out), &said[i])
			}
			if err == nil && said[i].Commits == 0 {
				err = fmt.Errorf("bench: a writer of %s committed nothing", side)
			}
			errs[i] = err
		})
	}
	both.Wait()
	to.lock.Add(max(said[0].WaitMs, said[1].WaitMs))
	to.transaction.Add(max(said[0].WorstMs, said[1].WorstMs))
	return errors.Join(errs[:]...)
}
