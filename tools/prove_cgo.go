// SPDX-License-Identifier: MIT

package main

import (
	"os/exec"
	"path/filepath"

	"m0serve.dev/tools/internal/console"
	"m0serve.dev/tools/internal/prove"
)

// proveCgocheck runs the WSGI suite on a server whose pointers into C are checked.
// The variable reaches the build inside of the suite.
func (e *env) proveCgocheck(s *console.Step, _ proveOptions) (prove.Result, error) {
	r, err := e.proveTests(s, "apps", []string{"GOEXPERIMENT=cgocheck2"},
		append([]string{"-count=1", "-timeout", raceLong}, conformance...)...)
	r.Ran = "cgocheck2: " + r.Ran
	return r, err
}

// proveAsan builds the command with the address sanitizer and runs the suite on it,
// where gcc has one. What Python keeps until it ends is no leak of ours.
func (e *env) proveAsan(s *console.Step, _ proveOptions) (r prove.Result, err error) {
	if _, err := exec.LookPath("gcc"); err != nil {
		return prove.Result{Skipped: "there is no gcc"}, nil
	}
	dir, remove, err := proveDir()
	if err != nil {
		return r, err
	}
	defer remove()
	env := []string{"GOFLAGS=-asan", "CGO_ENABLED=1", "CC=gcc",
		"ASAN_OPTIONS=detect_leaks=0:abort_on_error=1:handle_segv=0"}
	s.Doing("go build -asan")
	command := filepath.Join(dir, "m0serve")
	if err := e.goRun(env, "build", "-o", command, wheelCommand); err != nil {
		return prove.Result{Skipped: "go build -asan does not work here: " + firstLine(err)}, nil
	}
	r, err = e.proveTests(s, "apps", env,
		append([]string{"-count=1", "-timeout", raceLong}, conformance...)...)
	r.Ran = "asan: " + r.Ran
	return r, err
}
