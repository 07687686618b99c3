// SPDX-License-Identifier: MIT

package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"m0serve.dev/tools/internal/bench"
	"m0serve.dev/tools/internal/console"
	"m0serve.dev/tools/internal/proc"
	"m0serve.dev/tools/internal/prove"
)

// Amounts of a run without flags.
const (
	proveSeeds    = 100_000
	proveRequests = 1_000_000
)

// provePart is one part of the long run. It fills in what it ran and found; Part,
// Err and Took are added.
type provePart struct {
	name, what string
	run        func(*env, *console.Step, proveOptions) (prove.Result, error)
}

// proveParts are in the order they run: what fails fast comes first.
func proveParts() []provePart {
	return []provePart{
		{"vulns", "govulncheck on what is compiled in", (*env).proveVulns},
		{"same", "the same tree in two folders gives the same bytes", (*env).proveSame},
		{"cgocheck", "the WSGI suite with GOEXPERIMENT=cgocheck2", (*env).proveCgocheck},
		{"asan", "the WSGI suite and rude requests with the address sanitizer", (*env).proveAsan},
		{"race", "all tests under the race detector", (*env).proveRace},
		{"interpreters", "the WSGI suite on every CPython", (*env).proveInterpreters},
		{"autobahn", "all 517 cases of the Autobahn suite", (*env).proveAutobahn},
		{"seeds", "simulations, M0_SEEDS of them", (*env).proveSeeds},
		{"faults", "faults in whole servers, with M0_PROVE=1", (*env).proveFaults},
		{"soak", "one server asked a million times", (*env).proveSoak},
		{"kills", "one service for hours, a worker killed every minute", (*env).proveKills},
		{"sabotage", "every sabotage of every module", (*env).proveSabotage},
		{"gremlins", "mutation of wire, core, bus and the journal", (*env).proveGremlins},
		{"fuzz", "every fuzz target, ten minutes each", (*env).proveFuzz},
	}
}

// proveOptions are the flags of prove.
type proveOptions struct {
	hours    float64  // of the whole run, and in a part its share of them; 0: as long as it takes
	each     string   // fuzztime of one target, instead of hours
	only     []string // parts; empty: all
	in       []string // folders of fuzz targets and mutations; empty: all
	out      string   // file of the report
	vulns    string   // where govulncheck finds its database
	seeds    int
	requests int
	list     bool
}

func parseProve(args []string) (proveOptions, error) {
	o := proveOptions{seeds: proveSeeds, requests: proveRequests}
	f := flag.NewFlagSet("prove", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	split := func(into *[]string) func(string) error {
		return func(s string) error {
			*into = strings.Split(s, ",")
			return nil
		}
	}
	f.Float64Var(&o.hours, "hours", 0, "")
	f.StringVar(&o.each, "each", "", "")
	f.Func("only", "", split(&o.only))
	f.Func("in", "", split(&o.in))
	f.StringVar(&o.out, "out", "", "")
	f.StringVar(&o.vulns, "vulndb", os.Getenv("GOVULNDB"), "")
	f.IntVar(&o.seeds, "seeds", o.seeds, "")
	f.IntVar(&o.requests, "requests", o.requests, "")
	f.BoolVar(&o.list, "list", false, "")
	switch err := f.Parse(args); {
	case err != nil:
		return o, usageError(err.Error())
	case f.NArg() > 0:
		return o, usageError(fmt.Sprintf("does not understand %q", f.Arg(0)))
	case o.hours < 0 || o.seeds < 1 || o.requests < 1:
		return o, usageError("takes no negative numbers")
	}
	var names []string
	for _, p := range proveParts() {
		names = append(names, p.name)
	}
	for _, name := range o.only {
		if !slices.Contains(names, name) {
			return o, usageError(fmt.Sprintf("has no part %q; there are %s", name,
				strings.Join(names, " ")))
		}
	}
	return o, nil
}

// wants reports whether a part is to run.
func (o proveOptions) wants(part string) bool {
	return len(o.only) == 0 || slices.Contains(o.only, part)
}

// proveVerb runs the long versions of everything. A part that fails does not hide
// the next, and the report is written after each, so that a run that is broken off
// leaves what it had.
func proveVerb(e *env, args []string) error {
	o, err := parseProve(args)
	if err != nil {
		return err
	}
	if o.list {
		e.proveList()
		return nil
	}
	return e.proveAll(proveParts(), o, prove.Report{
		Command: strings.Join(append([]string{"go run ./tools prove"}, args...), " "),
		Commit:  e.commit(), Machine: bench.ThisMachine().String()})
}

// proveList prints the parts.
func (e *env) proveList() {
	for _, p := range proveParts() {
		e.con.Printf("%-12s %s", p.name, p.what)
	}
}

// proveHelp is what "prove --help" says below the line of the call.
func (e *env) proveHelp() {
	e.con.Printf(`
--only A,B      these parts; without it all, one after another
--hours H       end after so many hours: parts share what is left of them, a part that
                would go on is cut off, and what is left to run is told
--out FILE      the report, written anew after each part
--each D        fuzz each target so long (10m, or 100x for inputs) instead of a share
--in DIR,…      these folders only, of fuzz targets and of changed packages
--seeds N       simulations of "seeds" (%d)
--requests N    requests of "soak" (%d)
--vulndb URL    the database of "vulns", instead of one from the module proxy

Exit status: 0 all parts ran and found nothing, 1 a part failed or is left, 2 a wrong call.
The parts:
`, proveSeeds, proveRequests)
	e.proveList()
}

// proveAll runs those of the parts that are wanted, until the hours are over.
func (e *env) proveAll(parts []provePart, o proveOptions, report prove.Report) error {
	whole := e.ctx
	if o.hours > 0 {
		timed, stop := context.WithTimeout(whole, time.Duration(o.hours*float64(time.Hour)))
		defer stop()
		e = &env{ctx: timed, top: e.top, out: e.out, con: e.con}
	}
	parts = slices.DeleteFunc(slices.Clone(parts), func(p provePart) bool { return !o.wants(p.name) })
	for i, p := range parts {
		if e.ctx.Err() != nil {
			report.Left = append(report.Left, p.name)
			continue
		}
		if end, ok := e.ctx.Deadline(); ok {
			o.hours = time.Until(end).Hours() / float64(len(parts)-i)
		}
		result := e.prove(p, o)
		report.Results = append(report.Results, result)
		if result.Cut {
			report.Left = append(report.Left, p.name)
		}
		if err := report.Write(o.out); err != nil {
			return err
		}
	}
	if err := report.Write(o.out); err != nil {
		return err
	}
	e.con.Printf("\n%s", report.Text())
	if len(report.Left) > 0 && len(report.Failed()) == 0 {
		e.con.Printf("prove: not finished: %d of %d parts left", len(report.Left), len(parts))
	} else if e.con.Close("prove") {
		return nil
	}
	if err := whole.Err(); err != nil {
		return fmt.Errorf("broken off: %w", err)
	}
	return errFailed
}

// prove runs one part as a step.
func (e *env) prove(p provePart, o proveOptions) (result prove.Result) {
	began := time.Now()
	cut := false
	err := e.con.Step(p.name, p.what, func(s *console.Step) (err error) {
		result, err = p.run(e, s, o)
		if err != nil && e.ctx.Err() != nil {
			cut = true
			s.Printf("cut off: %s", result.Ran)
			return nil
		}
		if err == nil && result.Skipped == "" && result.Ran == "" {
			err = errors.New("nothing ran, and nobody said why")
		}
		if result.Skipped != "" {
			s.Printf("not run: %s", result.Skipped)
		}
		return err
	})
	result.Part, result.Err, result.Cut, result.Took = p.name, err, cut, time.Since(began)
	return result
}

// commit names what is proved, with a word when it is not what is committed.
func (e *env) commit() string {
	out, err := proc.Run(e.ctx, proc.Cmd{Dir: e.top,
		Args: []string{"git", "describe", "--always", "--dirty=, and changes"}})
	if err != nil {
		return "unknown"
	}
	return cmp.Or(strings.TrimSpace(out), "unknown")
}

// within runs another verb as a part: what it prints goes to the step and comes
// back.
func (e *env) within(s *console.Step, run func(*env) error) (text string, err error) {
	out := &stepWriter{step: s}
	err = run(&env{ctx: e.ctx, top: e.top, out: out, con: console.New(out)})
	return out.text.String(), err
}

// stepWriter writes to a step what is written to it in whole lines.
type stepWriter struct {
	step *console.Step
	text strings.Builder
}

func (w *stepWriter) Write(p []byte) (int, error) {
	w.text.Write(p)
	w.step.Printf("%s", p)
	return len(p), nil
}

// installed puts the program of a package and version into the cache, once.
func (e *env) installed(s *console.Step, pkg string) (program string, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	name := path.Base(pkg)
	dir := filepath.Join(cache, "m0", name)
	name, _, _ = strings.Cut(name, "@")
	program = filepath.Join(dir, name)
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	s.Doing("go install " + pkg)
	_, err = proc.Run(e.ctx, proc.Cmd{Env: []string{"GOBIN=" + dir},
		Args: []string{"go", "install", pkg}})
	return program, err
}
