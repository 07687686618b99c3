// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"m0serve.dev/tools/internal/console"
	"m0serve.dev/tools/internal/gotest"
	"m0serve.dev/tools/internal/proc"
	"m0serve.dev/tools/internal/prove"
	"m0serve.dev/tools/internal/tree"
)

// Variables that lengthen tests: how many seeds a simulation plays, that faults run as
// often as before a release, and for how many hours a worker is killed every minute.
const (
	seedsVariable  = "M0_SEEDS"
	faultsVariable = "M0_PROVE"
	hoursVariable  = "M0_SOAK_HOURS"

	// soakShare is the share of its hours that a soak goes on: what is built before it and
	// looked at behind it has the rest.
	soakShare = 0.85
)

// raceLong bounds the test binary of one package in the long run.
const raceLong = "60m"

// What other verbs print, as parts tell it.
const (
	killedLine      = `(?m)^ *(\d+ killed of \d+)$`
	missedLine      = `(?m)^ *(\S+testdata/sabotage/\S+\.txt: .*)$`
	interpreterLine = `(?m)^ *ok (\S+ [\d.]+), `
	failedLine      = `(?m)^ *(FAILED .*)$`
	noAutobahnLine  = `(?m)^ *skipped autobahn: (.*)$`
	casesLine       = `(?m)^ *all of (\w+: \d+ cases: .*)$`
	failedTest      = `(?m)^FAIL (\S+ Test\w+)$`
)

// proveSabotage breaks every promise.
func (e *env) proveSabotage(s *console.Step, _ proveOptions) (r prove.Result, err error) {
	text, err := e.within(s, func(e *env) error { return sabotage(e, nil) })
	r.Ran = lastMatch(text, killedLine)
	r.Found = allMatches(text, missedLine)
	return r, err
}

// proveInterpreters runs the WSGI suite on every CPython.
func (e *env) proveInterpreters(s *console.Step, _ proveOptions) (r prove.Result, err error) {
	text, err := e.within(s, func(e *env) error { return everyPython(e, nil) })
	tested := allMatches(text, interpreterLine)
	r.Ran = fmt.Sprintf("%d interpreters: %s", len(tested), strings.Join(tested, ", "))
	r.Found = allMatches(text, failedLine)
	var none usageError
	if errors.As(err, &none) {
		return prove.Result{Skipped: err.Error()}, nil
	}
	return r, err
}

// proveAutobahn runs all cases, on both engines.
func (e *env) proveAutobahn(s *console.Step, _ proveOptions) (r prove.Result, err error) {
	text, err := e.within(s, func(e *env) error { return autobahn(e, []string{"*"}) })
	r.Skipped = lastMatch(text, noAutobahnLine)
	r.Ran = strings.Join(allMatches(text, casesLine), "; ")
	return r, err
}

// proveRace runs all tests, the long ones too, under the race detector.
func (e *env) proveRace(s *console.Step, _ proveOptions) (prove.Result, error) {
	return e.proveTests(s, "", nil, "-race", "-count=1", "-timeout", raceLong, "work")
}

// proveSeeds runs the packages with simulations, with many seeds.
func (e *env) proveSeeds(s *console.Step, o proveOptions) (r prove.Result, err error) {
	packages, err := packagesThatAsk(e.top, seedsVariable)
	if err != nil {
		return r, err
	}
	if len(packages) == 0 {
		return prove.Result{Skipped: "no test asks for " + seedsVariable}, nil
	}
	r, err = e.proveTests(s, "", []string{fmt.Sprintf("%s=%d", seedsVariable, o.seeds)},
		append([]string{"-count=1", "-timeout=0"}, packages...)...)
	r.Ran = fmt.Sprintf("%s with %d seeds: %s", strings.Join(packages, " "), o.seeds, r.Ran)
	return r, err
}

// proveFaults runs the faults in whole servers.
func (e *env) proveFaults(s *console.Step, _ proveOptions) (r prove.Result, err error) {
	if !hasGo(filepath.Join(e.top, "apps", "faults")) {
		return prove.Result{Skipped: "there is no apps/faults"}, nil
	}
	return e.proveTests(s, "apps", []string{faultsVariable + "=1"},
		"-count=1", "-timeout=0", "./faults")
}

// proveKills runs the soak with kills for hours.
func (e *env) proveKills(s *console.Step, o proveOptions) (r prove.Result, err error) {
	if !hasGo(filepath.Join(e.top, "apps", "faults")) {
		return prove.Result{Skipped: "there is no apps/faults"}, nil
	}
	hours := o.hours * soakShare
	if hours == 0 {
		hours = 1
	}
	r, err = e.proveTests(s, "apps", []string{faultsVariable + "=1",
		fmt.Sprintf("%s=%g", hoursVariable, hours)},
		"-count=1", "-timeout=0", "-run=^TestSoak$", "./faults")
	r.Ran = fmt.Sprintf("%g hours: %s", hours, r.Ran)
	return r, err
}

// proveTests runs go test and counts.
func (e *env) proveTests(s *console.Step, dir string, env []string,
	args ...string) (r prove.Result, err error) {
	tally := &gotest.Tally{}
	s.Doing("builds, which says nothing")
	err = tally.Test(e.ctx, proc.Cmd{Dir: filepath.Join(e.top, dir), Env: env,
		Args: append([]string{"go", "test", "-json"}, args...)}, s.Doing)
	passed, failed, skipped := tally.Counts()
	r.Ran = fmt.Sprintf("%d tests passed, %d failed, %d skipped", passed, failed, skipped)
	s.Printf("%s", r.Ran)
	if err != nil {
		r.Found = allMatches(err.Error(), failedTest)
		s.Printf("%s", strings.Join(r.Found, "\n"))
		err = shortened(err)
	}
	if err == nil && passed == 0 {
		err = errors.New("no test passed: this run showed nothing")
	}
	return r, err
}

// errorLines is how much of an error is told from each end of it.
const errorLines = 100

// shortened leaves out the middle of an error with the logs of whole servers in it.
func shortened(err error) error {
	lines := strings.Split(err.Error(), "\n")
	if more := len(lines) - 2*errorLines; more > 0 {
		lines = slices.Concat(lines[:errorLines], []string{fmt.Sprintf("... %d lines more ...", more)},
			lines[len(lines)-errorLines:])
		return errors.New(strings.Join(lines, "\n"))
	}
	return err
}

// packagesThatAsk returns the packages whose files name a variable, as go test
// takes them. Where a package beside the tests asks for it, those whose tests import
// that package are meant.
func packagesThatAsk(top, variable string) (list []string, err error) {
	t, err := tree.Load(top)
	if err != nil {
		return nil, err
	}
	asks, helpers := map[string]bool{}, map[string]bool{}
	t.EachFile(func(m *tree.Module, p *tree.Package, f *tree.File) {
		switch named := strings.Contains(string(f.Src), `"`+variable+`"`); {
		case !named || m.Dir == "tools":
		case f.Test:
			asks[p.Dir] = true
		default:
			helpers[tree.Path(p.Dir)] = true
		}
	})
	t.EachFile(func(_ *tree.Module, p *tree.Package, f *tree.File) {
		if f.AST == nil || !f.Test {
			return
		}
		for _, i := range f.AST.Imports {
			asks[p.Dir] = asks[p.Dir] || helpers[strings.Trim(i.Path.Value, `"`)]
		}
	})
	for _, m := range t.Modules {
		for _, p := range m.Packages {
			if asks[p.Dir] {
				list = append(list, "./"+p.Dir)
			}
		}
	}
	return list, nil
}

// allMatches returns the first group of every match.
func allMatches(text, pattern string) (list []string) {
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		list = append(list, m[1])
	}
	return list
}

// lastMatch returns the first group of the last match, "" without one.
func lastMatch(text, pattern string) string {
	if all := allMatches(text, pattern); len(all) > 0 {
		return all[len(all)-1]
	}
	return ""
}

// proveDir is a folder for programs that parts build, removed by the caller.
func proveDir() (dir string, remove func(), err error) {
	dir, err = os.MkdirTemp("", "m0-prove-")
	return dir, func() { _ = os.RemoveAll(dir) }, err
}
