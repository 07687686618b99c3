// SPDX-License-Identifier: MIT

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"m0serve.dev/tools/internal/console"
	"m0serve.dev/tools/internal/gotest"
	"m0serve.dev/tools/internal/proc"
)

// askVersion prints what a Python is, and fails on one that m0serve refuses.
const askVersion = `import platform, sys
assert sys.version_info >= (3, 9)
print(platform.python_implementation(), platform.python_version(), sys.prefix)`

// conformance are the suites that need nothing but an interpreter.
var conformance = []string{"./wsgi_bare"}

// everyPython runs the conformance suite on every interpreter: those that args
// name, or all that the machine has. One of them is in full.
func everyPython(e *env, args []string) error {
	found := args
	if len(found) == 0 {
		found = e.findPythons()
	}
	tally := &gotest.Tally{}
	var steps []step
	for _, python := range found {
		what := e.describe(python)
		if what == "" {
			e.con.Printf("skipped %s: not a CPython from 3.9 on", python)
			continue
		}
		steps = append(steps, step{filepath.Base(python) + " " + what, python,
			func(s *console.Step) error { return e.conform(s, tally, python) }})
	}
	if len(steps) == 0 {
		return usageError("found no CPython from 3.9 on: name some")
	}
	if err := e.steps(steps, nil); err != nil {
		return err
	}
	if !e.con.Close("interpreters") {
		return errFailed
	}
	return nil
}

// findPythons lists the interpreters of pyenv, of the system and of /usr/local.
func (e *env) findPythons() []string {
	var found []string
	home, _ := os.UserHomeDir() // without one, a place less to look
	for _, pattern := range []string{
		filepath.Join(home, ".pyenv", "versions", "3.*", "bin", "python3"),
		"/usr/local/bin/python3", "/usr/bin/python3",
	} {
		matches, _ := filepath.Glob(pattern) // the patterns are well formed
		found = append(found, matches...)
	}
	slices.Sort(found)
	return found
}

// describe is the kind and version of an interpreter, "" when it cannot serve.
func (e *env) describe(python string) string {
	out, err := proc.Run(e.ctx, proc.Cmd{Args: []string{python, "-c", askVersion}})
	fields := strings.Fields(out)
	if err != nil || len(fields) < 2 || fields[0] != "CPython" {
		return ""
	}
	return fields[1]
}

// conform runs the suite on one interpreter, in an environment of its own.
func (e *env) conform(s *console.Step, tally *gotest.Tally, python string) error {
	tmp, err := os.MkdirTemp("", "m0-interpreter-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	dir := filepath.Join(tmp, "venv")
	_, err = proc.Run(e.ctx, proc.Cmd{
		Args: []string{python, "-m", "venv", "--without-pip", dir}})
	if err != nil {
		return err
	}
	c := proc.Cmd{
		Dir:  filepath.Join(e.top, "apps"),
		Env:  []string{"M0_TEST_VENV=" + dir},
		Args: append([]string{"go", "test", "-json", "-count=1"}, conformance...),
	}
	err = tally.Test(e.ctx, c, s.Doing)
	passed, failed, skipped := tally.Counts()
	s.Printf("so far %d tests passed, %d failed, %d skipped", passed, failed, skipped)
	return err
}
