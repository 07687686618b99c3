// SPDX-License-Identifier: MIT

// Package gotest runs "go test -json" and counts what it says. A test is counted
// once, however often it ran: it failed if it failed anywhere, else it passed if
// it passed anywhere, else it was skipped. Subtests count with their test.
package gotest

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"sort"
	"strings"
	"sync"

	"m0serve.dev/tools/internal/proc"
	"m0serve.dev/tools/internal/tree"
)

// event is one line of test2json, see "go doc test2json".
type event struct {
	Action      string
	Package     string
	ImportPath  string // of build events: what is built
	Test        string
	Output      string
	FailedBuild string
}

// Tally counts tests over any number of runs. It may be used by several
// goroutines.
type Tally struct {
	mu      sync.Mutex
	outcome map[string]string // package and test → pass, fail or skip
}

// Run is one run of go test: its failures are ready to print.
type Run struct {
	tally  *Tally
	output map[string][]string // package and test → lines
	build  map[string][]string // import path → compiler messages
	doing  func(string)
	failed []string // keys, in the order they failed
	broken []string // packages that do not build
}

// position is the place at the head of a line that t.Error prints.
var position = regexp.MustCompile(`^(\s+)([\w.-]+\.go:\d+)`)

// Test runs "go test -json" with args in dir and adds to the tally. doing is told
// what runs now. The error lists what failed, with places below the top.
func (t *Tally) Test(ctx context.Context, c proc.Cmd, doing func(string)) error {
	r := &Run{tally: t, output: map[string][]string{}, build: map[string][]string{}, doing: doing}
	var other []string
	c.OnLine = func(line string) {
		var e event
		if !strings.HasPrefix(line, "{") || json.Unmarshal([]byte(line), &e) != nil {
			other = append(other, line)
			return
		}
		r.add(e)
	}
	_, err := proc.Run(ctx, c)
	if err == nil {
		return nil
	}
	if text := r.failures(); text != "" {
		return fmt.Errorf("%s%w", text, err)
	}
	return fmt.Errorf("%s\n%w", strings.Join(other, "\n"), err)
}

// Counts returns how many tests passed, failed and were skipped. A package that
// does not build, or fails outside of a test, counts as one failure.
func (t *Tally) Counts() (passed, failed, skipped int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, outcome := range t.outcome {
		switch outcome {
		case "pass":
			passed++
		case "fail":
			failed++
		default:
			skipped++
		}
	}
	return passed, failed, skipped
}

// Skips returns the tests that were only ever skipped, sorted.
func (t *Tally) Skips() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var names []string
	for key, outcome := range t.outcome {
		if outcome == "skip" {
			names = append(names, key)
		}
	}
	sort.Strings(names)
	return names
}

var rank = map[string]int{"skip": 1, "pass": 2, "fail": 3}

func (t *Tally) add(key, outcome string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.outcome == nil {
		t.outcome = map[string]string{}
	}
	if rank[outcome] > rank[t.outcome[key]] {
		t.outcome[key] = outcome
	}
}

func (r *Run) add(e event) {
	key := strings.TrimSpace(e.Package + " " + e.Test)
	switch e.Action {
	case "build-output":
		r.build[e.ImportPath] = append(r.build[e.ImportPath], e.Output)
	case "output":
		r.output[key] = append(r.output[key], e.Output)
	case "run":
		r.doing(key)
	case "start":
		r.doing(e.Package)
	case "pass", "fail", "skip":
		r.end(e, key)
	}
}

func (r *Run) end(e event, key string) {
	top := e.Test != "" && !strings.Contains(e.Test, "/")
	if top {
		r.tally.add(key, e.Action)
	}
	if e.Action != "fail" {
		delete(r.output, key)
		return
	}
	if e.FailedBuild != "" {
		r.broken = append(r.broken, e.FailedBuild)
	}
	if e.Test == "" && !r.anyFailedIn(e.Package) {
		r.tally.add(key, "fail") // it does not build, or died outside of a test
	}
	r.failed = append(r.failed, key)
}

func (r *Run) anyFailedIn(pkg string) bool {
	for _, key := range r.failed {
		if strings.HasPrefix(key, pkg+" ") {
			return true
		}
	}
	return false
}

// failures returns the compiler messages and the output of failed tests, with the
// folder put before the names of files.
func (r *Run) failures() string {
	var b strings.Builder
	seen := map[string]bool{}
	for _, path := range r.broken {
		if !seen[path] {
			b.WriteString(strings.Join(r.build[path], ""))
		}
		seen[path] = true
	}
	for _, key := range r.failed {
		pkg, test, _ := strings.Cut(key, " ")
		dir := strings.TrimPrefix(pkg, tree.Root+"/")
		if test == "" && r.anyFailedIn(pkg) {
			continue
		}
		fmt.Fprintf(&b, "FAIL %s %s\n", dir, test)
		for _, line := range r.output[key] {
			if strings.HasPrefix(line, "=== ") {
				continue
			}
			b.WriteString(position.ReplaceAllString(line, "${1}"+dir+"/${2}"))
		}
	}
	return b.String()
}
