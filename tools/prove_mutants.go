// SPDX-License-Identifier: MIT

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"m0serve.dev/tools/internal/mutate"
	"m0serve.dev/tools/internal/proc"
	"m0serve.dev/tools/internal/prove"
)

// A change that makes tests compute for ever, or ask for memory without end, is stopped
// by the bounds of its process: so many times the processor time that the tests take
// without a change and some seconds more, and an address space, in kilobytes. One that
// makes them wait for ever is stopped after so many times what they take by the clock, and
// the patience.
const (
	mutantTimes    = 3
	mutantSeconds  = 3
	mutantMemory   = 8 << 20
	mutantWaits    = 10
	mutantPatience = 10 * time.Second
)

// mutantsAtOnce is how many changes are tried at a time: most that are noticed late wait.
const mutantsAtOnce = 3

// mutantRun runs the test binary of a package with a switch thrown.
type mutantRun struct {
	dir, tmp string
	quick    string // matches the tests that are over at once, which are asked first
	bounds   [2]int // of processor time in seconds: of the quick tests, of all
	patience [2]time.Duration
}

// mutantQuick is the share of the time of all tests that the quick ones may take.
const mutantQuick = 0.1

// passedLine is what a test binary says of a test or a part of one that passed, with
// -test.v. The time of a test is without that of its parallel parts.
var passedLine = regexp.MustCompile(`(?m)^ *--- (?:PASS|SKIP): ([^\s/]+)\S* \(([\d.]+)s\)$`)

// quickTests makes the pattern of the tests that are over at once: as many as take a
// small share of the time, the quickest first.
func quickTests(said string) string {
	took, all := map[string]float64{}, 0.0
	for _, m := range passedLine.FindAllStringSubmatch(said, -1) {
		if seconds, err := strconv.ParseFloat(m[2], 64); err == nil {
			took[m[1]] += seconds
			all += seconds
		}
	}
	byTime := slices.SortedFunc(maps.Keys(took), func(a, b string) int {
		return cmp.Or(cmp.Compare(took[a], took[b]), strings.Compare(a, b))
	})
	names, sum := []string{"-"}, 0.0 // no test is called so: a pattern without names matches all
	for _, name := range byTime {
		if sum += took[name]; sum > mutantQuick*all {
			break
		}
		names = append(names, name)
	}
	return "^(" + strings.Join(names, "|") + ")$"
}

// cpuLine is what the shell says of the processor time of what it ran, at the end.
var cpuLine = regexp.MustCompile(`(\d+)m([\d.]+)s (\d+)m([\d.]+)s\n$`)

// cpuSeconds reads what "times" prints.
func cpuSeconds(said string) (seconds float64, err error) {
	m := cpuLine.FindStringSubmatch(said)
	if m == nil {
		return 0, errors.New("the shell does not say how long the tests took")
	}
	for i, unit := range []float64{60, 1, 60, 1} {
		n, err := strconv.ParseFloat(m[i+1], 64)
		if err != nil {
			return 0, err
		}
		seconds += n * unit
	}
	return seconds, nil
}

// before runs the tests without a change: to learn which switches they pass, that they
// pass, and how long they take.
func (r *mutantRun) before(ctx context.Context) (reached map[int]bool, err error) {
	seen := filepath.Join(r.tmp, "seen")
	// Noting is slow, and tests that look at the clock may fail: the next run says whether
	// they pass.
	_, _ = r.test(ctx, mutate.SeenVariable+"="+seen, 0, "-test.failfast=false")
	for i := range 2 {
		flags := []string{"-test.v"} // all, which says what is quick
		if i == 1 {
			flags = []string{"-test.run", r.quick}
		}
		begun := time.Now()
		said, err := r.test(ctx, mutate.Variable+"=", 0, flags...)
		if err != nil {
			return nil, fmt.Errorf("without a change: %w", err)
		}
		r.patience[1-i] = mutantPatience + mutantWaits*time.Since(begun)
		took, err := cpuSeconds(said)
		if err != nil {
			return nil, err
		}
		r.bounds[1-i] = mutantSeconds + int(mutantTimes*took)
		if i == 0 {
			r.quick = quickTests(said)
		}
	}
	text, err := os.ReadFile(seen)
	if err != nil {
		return nil, err
	}
	reached = map[int]bool{}
	for field := range strings.FieldsSeq(string(text)) {
		id, err := strconv.Atoi(field)
		if err != nil {
			return nil, err
		}
		reached[id] = true
	}
	return reached, nil
}

// tryMutants tries so many changes and tells what became of each, one at a time, until the
// context ends.
func tryMutants(ctx context.Context, count int, try func(i int) string,
	tell func(i int, fate string)) {
	var next atomic.Int64
	var mu sync.Mutex
	var workers sync.WaitGroup
	for range mutantsAtOnce {
		workers.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= count {
					return
				}
				fate := try(i)
				if ctx.Err() != nil {
					return
				}
				mu.Lock()
				tell(i, fate)
				mu.Unlock()
			}
		})
	}
	workers.Wait()
}

// one throws a switch and says what became of it.
func (r *mutantRun) one(ctx context.Context, id int) (fate string) {
	thrown := mutate.Variable + "=" + strconv.Itoa(id)
	var said string
	var err error
	for i, flag := range []string{"-test.run", "-test.skip"} {
		if said, err = r.patiently(ctx, i, thrown, flag, r.quick); err != nil {
			break
		}
	}
	switch {
	case err == nil:
		return prove.Lived
	case errors.Is(err, proc.ErrTimeout) || strings.Contains(said, killedBySystem):
		return prove.TimedOut
	}
	return prove.Killed
}

// patiently runs the quick tests (0) or the others (1), for as long as they may take.
func (r *mutantRun) patiently(ctx context.Context, i int, variable string,
	flags ...string) (said string, err error) {
	ctx, cancel := context.WithTimeout(ctx, r.patience[i])
	defer cancel()
	return r.test(ctx, variable, r.bounds[i], flags...)
}

// killedBySystem is in what is printed of a run that used up its bound.
const killedBySystem = "mutant: stopped"

// test runs the short tests until the first fails, with a bound of processor seconds, 0
// for none. The shell stays, to say how long it took or that it was stopped.
func (r *mutantRun) test(ctx context.Context, variable string, bound int,
	flags ...string) (said string, err error) {
	limit := fmt.Sprintf("ulimit -v %d; ", mutantMemory)
	if bound > 0 {
		limit += fmt.Sprintf("ulimit -t %d; ", bound)
	}
	args := append([]string{"sh", "-c", limit + `"$0" "$@"; status=$?
[ $status -lt 128 ] || echo "` + killedBySystem + `"; times; exit $status`,
		filepath.Join(r.tmp, "x.test"), "-test.short", "-test.failfast", "-test.timeout=0"}, flags...)
	return proc.Run(ctx, proc.Cmd{Dir: r.dir, Env: []string{"TMPDIR=" + r.tmp, variable}, Args: args})
}
