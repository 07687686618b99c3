// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"m0serve.dev/tools/internal/console"
	"m0serve.dev/tools/internal/gotest"
	"m0serve.dev/tools/internal/layout"
	"m0serve.dev/tools/internal/proc"
	"m0serve.dev/tools/internal/rule"
	"m0serve.dev/tools/internal/source"
	"m0serve.dev/tools/internal/spec"
	"m0serve.dev/tools/internal/tree"
)

// staticcheckVersion is the one version everybody runs.
const staticcheckVersion = "honnef.co/go/tools/cmd/staticcheck@v0.8.2"

// exceptionsFile lists the places where a rule may be broken.
const exceptionsFile = "tools/exceptions.txt"

// otherSystems are vetted beside the one the tools run on.
var otherSystems = []string{"darwin", "windows"}

// portable are the modules that build on every system Go knows.
var portable = []string{"core", "http", "datastar", "host", "sqlite", "apps"}

func quick(e *env, args []string) error {
	if err := quickSteps(e, &gotest.Tally{}, args); err != nil {
		return err
	}
	if !e.con.Close("quick") {
		return errFailed
	}
	return nil
}

// step is one named part of a verb.
type step struct {
	name string
	what string
	run  func(*console.Step) error
}

// quickSteps runs the steps called by only, or all, one after another. It goes on
// after a failure, so that one run shows all there is to mend.
func quickSteps(e *env, tally *gotest.Tally, only []string) error {
	steps := []step{
		{"rules", "sizes, documentation, imports, go.mod, spec rows, README", e.rules},
		{"vet", "go vet of all modules", func(*console.Step) error {
			return e.goRun(nil, "vet", "work")
		}},
		{"vet-systems", "go vet as " + strings.Join(otherSystems, " and "), e.vetSystems},
		{"staticcheck", staticcheckVersion, e.staticcheck},
		{"test-short", "go test -short of all modules", func(s *console.Step) error {
			return e.test(s, tally, "", "-short", "work")
		}},
	}
	return e.steps(steps, only)
}

// steps runs those of the list that only names, all when it names none. What
// failed is kept by the console; the error is a name that no step has.
func (e *env) steps(list []step, only []string) error {
	known := map[string]bool{}
	var names []string
	for _, s := range list {
		known[s.name] = true
		names = append(names, s.name)
	}
	wanted := map[string]bool{}
	for _, name := range only {
		if !known[name] {
			return usageError(fmt.Sprintf("has no step %q; there are %s", name,
				strings.Join(names, " ")))
		}
		wanted[name] = true
	}
	for _, s := range list {
		if len(only) == 0 || wanted[s.name] {
			e.con.Step(s.name, s.what, s.run)
		}
	}
	return nil
}

// rules runs the repository's own rules.
func (e *env) rules(s *console.Step) error {
	t, err := tree.Load(e.top)
	if err != nil {
		return err
	}
	rules := append(append(append([]rule.Rule(nil), source.Rules...),
		layout.Rules(verbNames())...), spec.Rules...)
	found := rule.Run(t, rules)
	list, err := os.ReadFile(filepath.Join(e.top, filepath.FromSlash(exceptionsFile)))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	found = rule.ParseExceptions(exceptionsFile, list).Apply(found)
	if len(found) == 0 {
		s.Printf("%d rules hold in %d files", len(rules), len(t.Files()))
		return nil
	}
	var b strings.Builder
	for _, f := range found {
		fmt.Fprintln(&b, f)
	}
	return fmt.Errorf("%s%d places break a rule", &b, len(found))
}

func (e *env) vetSystems(s *console.Step) error {
	var patterns []string
	for _, m := range portable {
		patterns = append(patterns, "./"+m+"/...")
	}
	var errs []error
	for _, system := range otherSystems {
		s.Doing("GOOS=" + system)
		env := []string{"GOOS=" + system, "CGO_ENABLED=0"}
		err := e.goRun(env, append([]string{"vet"}, patterns...)...)
		if err != nil {
			errs = append(errs, fmt.Errorf("GOOS=%s: %w", system, err))
		}
	}
	return errors.Join(errs...)
}

func (e *env) staticcheck(s *console.Step) error {
	var patterns []string
	for _, m := range tree.Names {
		if hasGo(filepath.Join(e.top, m)) {
			patterns = append(patterns, "./"+m+"/...")
		}
	}
	return e.goRun(nil, append([]string{"run", staticcheckVersion}, patterns...)...)
}

// goRun runs the go command at the top.
func (e *env) goRun(env []string, args ...string) error {
	_, err := proc.Run(e.ctx, proc.Cmd{Dir: e.top, Env: env, Args: append([]string{"go"}, args...)})
	return err
}

// test runs "go test -json" with args in folder dir below the top.
func (e *env) test(s *console.Step, tally *gotest.Tally, dir string, args ...string) error {
	c := proc.Cmd{
		Dir:  filepath.Join(e.top, filepath.FromSlash(dir)),
		Args: append([]string{"go", "test", "-json"}, args...),
	}
	err := tally.Test(e.ctx, c, s.Doing)
	passed, failed, skipped := tally.Counts()
	s.Printf("so far %d tests passed, %d failed, %d skipped", passed, failed, skipped)
	return err
}

// hasGo reports whether a Go file lies in or below dir.
func hasGo(dir string) bool {
	found := false
	_ = filepath.WalkDir(dir, func(p string, _ os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(p, ".go") {
			found = true
			return filepath.SkipAll
		}
		return nil
	})
	return found
}
