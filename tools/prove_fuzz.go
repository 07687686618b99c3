// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"time"

	"m0serve.dev/tools/internal/console"
	"m0serve.dev/tools/internal/proc"
	"m0serve.dev/tools/internal/prove"
	"m0serve.dev/tools/internal/tree"
)

const (
	// fuzzPatience is the time for the build and the seeds of a target, beside its own.
	fuzzPatience = 15 * time.Minute
	// fuzzHours is the share of its hours that fuzzing plans: the last build comes on top.
	fuzzHours = 0.95
	// minimizeTime is for one input. What is pooled or cached makes coverage differ from run
	// to run, and then a minute, the default, passes without a new input.
	minimizeTime = "1s"
)

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
	var execs int64
	ran := 0
	began := time.Now()
	var failed []error
	for i, target := range targets {
		each, patience := fuzzTime(o, time.Since(began), len(targets)-i)
		got, err := e.fuzz(s, target, each, patience)
		if e.ctx.Err() != nil {
			failed = append(failed, fmt.Errorf("broken off after %d of %d targets", ran, len(targets)))
			break
		}
		ran++
		execs += got.Execs
		s.Printf("%3d of %d %-44s %12d executions, %4d new", ran, len(targets), target, got.Execs,
			got.Interesting)
		if err != nil {
			failed = append(failed, err)
			r.Found = append(r.Found, got.Where(target))
		}
	}
	r.Ran = fmt.Sprintf("%d of %d targets in %s, %d executions", ran, len(targets),
		time.Since(began).Round(time.Second), execs)
	return r, errors.Join(failed...)
}

// fuzzTime is how long the next of so many targets is fuzzed, as go test takes it, and
// when to give it up. What builds and seeds took of the hours is missing for the rest.
func fuzzTime(o proveOptions, past time.Duration, targets int) (each string,
	patience time.Duration) {
	if each = o.each; each == "" {
		hours := o.hours * fuzzHours
		if o.hours > 0 {
			hours = max(hours-past.Hours(), math.SmallestNonzeroFloat64)
		}
		each = prove.Each(hours, targets).String()
	}
	patience = fuzzPatience
	if d, err := time.ParseDuration(each); err == nil {
		patience += d
	}
	return each, patience
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
			"-fuzzminimizetime=" + minimizeTime, "-timeout=0", "-vet=off", "."},
		OnLine: func(line string) {
			got.Line(line)
			s.Doing(t.String() + " " + line)
		}})
	if err == nil && !got.Fuzzing() {
		err = errors.New("it did not fuzz: no such target is built here, or its seeds took all " +
			"of the time (--each)")
	}
	if err != nil {
		return got, fmt.Errorf("%s\n%s\n%w", got.Where(t), got.Detail(), err)
	}
	return got, nil
}
