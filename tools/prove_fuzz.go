// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"m0serve.dev/tools/internal/console"
	"m0serve.dev/tools/internal/proc"
	"m0serve.dev/tools/internal/prove"
	"m0serve.dev/tools/internal/tree"
)

// fuzzPatience is the time for the build and the seeds of a target, beside its own.
const fuzzPatience = 15 * time.Minute

// proveFuzz fuzzes every target, one after another. A failing input stays where go
// test wrote it: as a seed of the target, which fails from then on.
func (e *env) proveFuzz(s *console.Step, o proveOptions) (r prove.Result, err error) {
	t, err := tree.Load(e.top)
	if err != nil {
		return r, err
	}
	targets := prove.Targets(t, o.in)
	if len(targets) == 0 {
		return r, fmt.Errorf("no fuzz target in %s", strings.Join(o.in, ", "))
	}
	each, patience := o.each, fuzzPatience
	if each == "" {
		d := prove.Each(o.hours, len(targets))
		each = d.String()
	}
	if d, err := time.ParseDuration(each); err == nil {
		patience += d
	}
	var execs int64
	ran := 0
	var failed []error
	for _, target := range targets {
		got, err := e.fuzz(s, target, each, patience)
		if e.ctx.Err() != nil {
			failed = append(failed, fmt.Errorf("broken off after %d of %d targets", ran, len(targets)))
			break
		}
		ran++
		execs += got.Execs
		if err != nil {
			failed = append(failed, err)
			r.Found = append(r.Found, got.Where(target))
		}
	}
	r.Ran = fmt.Sprintf("%d targets for %s each, %d executions", ran, each, execs)
	return r, errors.Join(failed...)
}

// fuzz runs one target.
func (e *env) fuzz(s *console.Step, t prove.Target, each string,
	patience time.Duration) (got *prove.Fuzzed, err error) {
	ctx, cancel := context.WithTimeout(e.ctx, patience)
	defer cancel()
	s.Doing(t.String())
	got = &prove.Fuzzed{}
	_, err = proc.Run(ctx, proc.Cmd{
		Dir: filepath.Join(e.top, filepath.FromSlash(t.Dir)),
		Args: []string{"go", "test", "-run=^$", "-fuzz=^" + t.Name + "$", "-fuzztime=" + each,
			"-timeout=0", "."},
		OnLine: func(line string) {
			got.Line(line)
			s.Doing(t.String() + " " + line)
		}})
	if err == nil && !got.Fuzzing() {
		err = errors.New("it did not fuzz")
	}
	s.Printf("%-44s %12d executions, %4d new", t, got.Execs, got.Interesting)
	if err != nil {
		return got, fmt.Errorf("%s\n%s\n%w", got.Where(t), got.Detail(), err)
	}
	return got, nil
}
