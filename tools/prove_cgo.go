// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"m0serve.dev/tools/internal/console"
	"m0serve.dev/tools/internal/proc"
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

// asanRequests is how often a server with the address sanitizer is asked: it is some
// times slower, and shows in the first thousand what it will ever show.
const asanRequests = 10_000

// asanOptions leave crashes to Python's own handler and hold back little of what is freed:
// by default it is 256 MB, which tests of memory take for a leak.
const asanOptions = "detect_leaks=0:handle_segv=0:quarantine_size_mb=8:log_path="

// asanVariable makes the WSGI suite build its server for the sanitizer whose runtime it
// names.
const asanVariable = "M0_SUITE_ASAN"

// proveAsan runs the WSGI suite on an engine that was built with the address sanitizer,
// and asks one for some time. Its runtime is loaded before anything else, since workers
// are processes of Python that load the server as a library; what Python keeps until it
// ends is no leak of ours.
func (e *env) proveAsan(s *console.Step, o proveOptions) (r prove.Result, err error) {
	out, err := proc.Run(e.ctx, proc.Cmd{Args: []string{"gcc", "-print-file-name=libasan.so"}})
	runtime := strings.TrimSpace(out)
	if err != nil || !filepath.IsAbs(runtime) {
		return prove.Result{Skipped: "there is no gcc with libasan"}, nil
	}
	dir, remove, err := proveDir()
	if err != nil {
		return r, err
	}
	defer remove()
	log := filepath.Join(dir, "asan")
	options := "ASAN_OPTIONS=" + asanOptions + log
	r, err = e.proveTests(s, "apps", []string{asanVariable + "=" + runtime, options},
		append([]string{"-count=1", "-timeout", raceLong}, conformance...)...)
	count := min(o.requests, asanRequests)
	samples, why, soakErr := e.soak(s, count, []string{"-asan"},
		[]string{"LD_PRELOAD=" + runtime, options})
	if why != "" {
		return prove.Result{Skipped: why}, nil
	}
	if len(samples) > 0 {
		count = samples[len(samples)-1].Requests
	} else {
		count = 0
	}
	r.Ran = fmt.Sprintf("the WSGI suite: %s; %d requests, and %d kinds of rude ones", r.Ran, count,
		len(soakRude))
	err = errors.Join(err, soakErr)
	reports, _ := filepath.Glob(log + ".*") // the pattern is well formed
	for _, file := range reports {
		text, readErr := os.ReadFile(file)
		err = errors.Join(err, readErr, fmt.Errorf("the sanitizer says:\n%s", text))
	}
	return r, err
}
