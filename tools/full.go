// SPDX-License-Identifier: MIT

package main

import (
	"path/filepath"

	"m0serve.dev/tools/internal/console"
	"m0serve.dev/tools/internal/gotest"
	"m0serve.dev/tools/internal/tree"
)

// raceTimeout bounds the test binary of one package under the race detector.
const raceTimeout = "10m"

// full is everything that must pass before a change lands. What is slow but finds
// races runs under the race detector; applications run as their users run them.
func full(e *env, args []string) error {
	offline, err := offlineFlag(args)
	if err != nil {
		return err
	}
	err = e.con.Step("setup", "programs and files that the rest needs", func(s *console.Step) error {
		return e.setupStep(s, offline)
	})
	if err != nil {
		return errFailed
	}
	tally := &gotest.Tally{}
	if err := quickSteps(e, tally, nil); err != nil {
		return err
	}
	err = e.steps([]step{
		{"race", "go test -race, long tests too, of all modules but apps", func(s *console.Step) error {
			return e.race(s, tally)
		}},
		{"smokes", "real binaries over real sockets", func(s *console.Step) error {
			return e.test(s, tally, "", "-count=1", "-timeout", raceTimeout, "./apps/...")
		}},
		{"build-apps", "every application as a binary", e.buildAppsStep},
		{"isolate", isolateWhat, func(s *console.Step) error {
			return e.isolateStep(s, tally)
		}},
	}, nil)
	if err != nil {
		return err
	}
	for _, name := range tally.Skips() {
		e.con.Printf("skipped %s", name)
	}
	ok := e.con.Close("full")
	passed, failed, skipped := tally.Counts()
	e.con.Printf("%d passed, %d failed, %d skipped", passed, failed, skipped)
	if !ok {
		return errFailed
	}
	return nil
}

func (e *env) race(s *console.Step, tally *gotest.Tally) error {
	args := []string{"-race", "-timeout", raceTimeout}
	for _, m := range tree.Names {
		if m != "apps" && hasGo(filepath.Join(e.top, m)) {
			args = append(args, "./"+m+"/...")
		}
	}
	return e.test(s, tally, "", args...)
}
