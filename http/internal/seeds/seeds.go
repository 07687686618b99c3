// SPDX-License-Identifier: MIT

// Package seeds runs simulations, for tests. A simulation is a function of its
// seed alone; this package says which seeds are run, and how a failure is seen
// again: M0_SEED=n runs one seed, M0_SEEDS=n runs the first n.
package seeds

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// Each runs the first usual seeds, or the first short ones under -short, until
// one fails, and says then which command repeats it.
func Each(t *testing.T, usual, short uint64, run func(seed uint64)) {
	t.Helper()
	first, end := choose(t, usual, short)
	for seed := first; seed < end; seed++ {
		one(t, seed, run)
		if t.Failed() {
			return
		}
	}
}

func choose(t *testing.T, usual, short uint64) (first, end uint64) {
	t.Helper()
	if n, ok := number(t, "M0_SEED"); ok {
		return n, n + 1
	}
	if n, ok := number(t, "M0_SEEDS"); ok {
		return 0, n
	}
	if testing.Short() {
		return 0, short
	}
	return 0, usual
}

func number(t *testing.T, name string) (n uint64, ok bool) {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return 0, false
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s is %q, want a number", name, text)
	}
	return n, true
}

// one runs one seed; also a run that panics or ends the test names it.
func one(t *testing.T, seed uint64, run func(seed uint64)) {
	t.Helper()
	over := false
	defer func() {
		if t.Failed() || !over {
			t.Logf("again: %s", command(t.Name(), seed))
		}
	}()
	run(seed)
	over = true
}

// command repeats a seed, in the folder of the module.
func command(test string, seed uint64) string {
	return fmt.Sprintf("M0_SEED=%d go test -count=1 -run '^%s$' %s", seed, test, folder())
}

// folder is that of the package under test, from the one of its module.
func folder() string {
	here, err := os.Getwd()
	if err != nil {
		return "."
	}
	for up := here; up != filepath.Dir(up); up = filepath.Dir(up) {
		if _, err := os.Stat(filepath.Join(up, "go.mod")); err != nil {
			continue
		}
		if path, err := filepath.Rel(up, here); err == nil {
			return "./" + filepath.ToSlash(path)
		}
	}
	return "."
}
