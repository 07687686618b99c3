// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"m0serve.dev/tools/internal/console"
	"m0serve.dev/tools/internal/tree"
)

// verb is one thing the tools can do.
type verb struct {
	name string
	args string
	help string
	run  func(*env, []string) error
}

// env is what every verb gets.
type env struct {
	ctx context.Context
	top string // absolute path of the repository
	out io.Writer
	con *console.Console
}

// errFailed says that the failure is printed already.
var errFailed = errors.New("failed")

// usageError is a wrong call; its text says what is right.
type usageError string

func (e usageError) Error() string { return string(e) }

// verbs are in the order a newcomer meets them.
func verbs() []verb {
	return []verb{
		{"quick", "[STEP …]", "format, vet, staticcheck, house rules, spec rows, short tests", quick},
		{"full", "", "setup, quick, race, smokes, build-apps, isolate; what CI runs", full},
		{"setup", "", "say what the machine lacks for full, and install it as root", setup},
		{"smoke", "NAME", "the smoke of one application on its real binary, with output", smoke},
		{"build-apps", "", "build every application and command", buildApps},
		{"sabotage", "[ID|MODULE|MODULE/PKG] [--changed]",
			"break each promise in a copy; its test must notice", sabotage},
		{"bench", "[NAME] [--json] [--quick] [--runs N] [--seconds N] [--only A,B] [--sides A,B]\n" +
			"       or: all [--out DIR] [--only BENCH,BENCH] [FLAG …|--from FILE …]",
			"ours beside rivals in one run: " + benchNames(), benchRun},
		{"prove", "[--hours H] [--only A,B] [--list] [--out FILE] [--each D] [--in DIR,…] " +
			"[--seeds N] [--requests N] [--vulndb URL]",
			"the long versions of everything, and a report", proveVerb},
		{"wheel", "[--out DIR]", "m0serve as a Python package for this kind of machine, in bin",
			buildWheel},
		{"sbom", "[--out FILE]", "what our modules are made of, and under which licences", sbomVerb},
		{"interpreters", "[PYTHON …]", "the WSGI suite on every CPython from 3.9 on that is there",
			everyPython},
		{"autobahn", "[CASE …]", "the Autobahn suite against our WebSockets, where a Python 2.7 is there",
			autobahn},
		{"isolate", "", "build and test each module alone, as an outsider sees it", isolate},
		{"tidy", "", "go mod tidy for modules that require each other unpublished", tidy},
		{"release", "VERSION [--do]",
			"one commit, one tag a module; says what it would do without --do", release},
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	hearHangups()
	os.Exit(run(ctx, os.Args[1:], os.Stdout))
}

// hearHangups undoes an ignored SIGHUP (nohup) for the processes that are started from
// here: servers under test would inherit it, and not reload.
func hearHangups() {
	if signal.Ignored(syscall.SIGHUP) {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP) // nobody reads it
	}
}

// run does what args say and returns the exit status.
func run(ctx context.Context, args []string, out io.Writer) int {
	if len(args) == 0 || args[0] == "help" || args[0] == "-h" || args[0] == "--help" {
		usage(out)
		return 0
	}
	for _, v := range verbs() {
		if v.name == args[0] {
			return runVerb(ctx, v, args[1:], out)
		}
	}
	fmt.Fprintf(out, "tools: there is no verb %q\n\n", args[0])
	usage(out)
	return 2
}

func runVerb(ctx context.Context, v verb, args []string, out io.Writer) int {
	if slices.ContainsFunc(args, func(a string) bool { return a == "-h" || a == "--help" }) {
		fmt.Fprintf(out, "%s: %s\n\nusage: go run ./tools %s %s\n", v.name, v.help, v.name, v.args)
		if v.name == "prove" {
			(&env{con: console.New(out)}).proveHelp()
		}
		return 0
	}
	top, err := tree.FindTop(".")
	if err == nil {
		err = v.run(&env{ctx: ctx, top: top, out: out, con: console.New(out)}, args)
	}
	var wrong usageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &wrong):
		fmt.Fprintf(out, "tools %s: %v\nusage: go run ./tools %s %s\n", v.name, err, v.name, v.args)
		return 2
	case !errors.Is(err, errFailed):
		fmt.Fprintf(out, "tools %s: %v\n", v.name, err)
	}
	return 1
}

func usage(out io.Writer) {
	fmt.Fprint(out, "go run ./tools <verb> from the top, "+
		"go run m0serve.dev/tools <verb> from any folder\n\n")
	for _, v := range verbs() {
		fmt.Fprintf(out, "  %-10s %-24s %s\n", v.name, v.args, v.help)
	}
}

// verbNames returns the names of all verbs.
func verbNames() []string {
	var names []string
	for _, v := range verbs() {
		names = append(names, v.name)
	}
	return names
}
