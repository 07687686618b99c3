// SPDX-License-Identifier: MIT

package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"m0serve.dev/tools/internal/bench"
	"m0serve.dev/tools/internal/console"
)

// benches are the measurements by name.
var benches = []struct {
	name, what string
	run        func(*env, *console.Step, benchOptions) ([]bench.Figure, error)
}{
	{"hello", "one small answer of our engine, beside net/http, fasthttp and gnet", (*env).benchHello},
	{"blocking", "quick requests beside slow ones", (*env).benchBlocking},
	{"client", "small requests of our HTTP client, beside net/http and fasthttp", (*env).benchClient},
	{"core", "hashes, JSON escape and JSON fields, beside the fastest of each", (*env).benchCore},
	{"datastar", "encoding events, beside the official SDK", (*env).benchDatastar},
	{"middleware", "auth, CORS, ids, tags, caches, coding, beside others", (*env).benchMiddleware},
	{"route", "finding handlers, beside httprouter and chi", (*env).benchRoute},
	{"sqlite", "queries, beside database/sql on the same engine", (*env).benchSQLite},
	{"ws", "WebSocket echo and idle sockets, beside gws", (*env).benchWS},
	{"wsgi", "m0serve and other servers of WSGI applications", (*env).benchWSGI},
	{"asgi", "m0serve and other servers of ASGI applications", (*env).benchASGI},
	{"mixed", "views that wait beside quick ones, with equal threads", (*env).benchMixed},
	{"processes", "what workers share, beside the bare system calls", (*env).benchProcesses},
	{"realtime", "streams that m0serve holds, beside other hubs", (*env).benchRealtime},
	{"streams", "streams that a Go program holds, beside libraries and hubs", (*env).benchStreams},
}

// benchOptions are the flags of bench.
type benchOptions struct {
	name    string    // of the bench; "": all
	json    bool      // figures alone, for programs
	quick   bool      // one round of one second, to see that all works
	runs    int       // rounds; 0: what the bench says
	seconds int       // of one run; 0: what the bench says
	only    []string  // workloads, of benches that have some; empty: all
	sides   []string  // servers of them beside ours; empty: all
	table   func(any) // takes a row for --json
}

func (o benchOptions) rounds(usual int) int {
	if o.quick {
		usual = 1
	}
	return cmp.Or(o.runs, usual)
}

func (o benchOptions) length(usual time.Duration) time.Duration {
	if o.quick {
		usual = time.Second
	}
	return cmp.Or(time.Duration(o.seconds)*time.Second, usual)
}

// parseBench reads the arguments of bench.
func parseBench(args []string) (benchOptions, error) {
	var o benchOptions
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.BoolVar(&o.json, "json", false, "")
	f.BoolVar(&o.quick, "quick", false, "")
	f.IntVar(&o.runs, "runs", 0, "")
	f.IntVar(&o.seconds, "seconds", 0, "")
	list := func(into *[]string) func(string) error {
		return func(s string) error {
			*into = strings.Split(s, ",")
			return nil
		}
	}
	f.Func("only", "", list(&o.only))
	f.Func("sides", "", list(&o.sides))
	for len(args) > 0 {
		if o.name == "" && isBench(args[0]) {
			o.name, args = args[0], args[1:]
			continue
		}
		if err := f.Parse(args); err != nil {
			return o, usageError(err.Error())
		}
		if len(f.Args()) == len(args) {
			return o, usageError(fmt.Sprintf("does not know %q; there are %s", args[0], benchNames()))
		}
		args = f.Args()
	}
	if o.runs < 0 || o.seconds < 0 {
		return o, usageError("takes no negative numbers")
	}
	return o, nil
}

// benchRun measures; what it says in between is left out with --json.
func benchRun(e *env, args []string) error {
	if len(args) > 0 && args[0] == "all" {
		return benchAll(e, args[1:])
	}
	o, err := parseBench(args)
	if err != nil {
		return err
	}
	var rows []any
	o.table = func(row any) { rows = append(rows, row) }
	if o.json {
		e = &env{ctx: e.ctx, top: e.top, out: e.out, con: console.New(io.Discard)}
	}
	machine := bench.ThisMachine()
	e.con.Printf("%s", machine)
	if machine.IsBusy() {
		e.con.Printf("other work runs here: figures are worse and less even than on a quiet machine")
	}
	var all []bench.Figure
	var failed error
	for _, b := range benches {
		if o.name != "" && o.name != b.name {
			continue
		}
		err := e.con.Step(b.name, b.what, func(s *console.Step) error {
			figures, err := b.run(e, s, o)
			for i := range figures {
				figures[i].Bench = b.name
			}
			all = append(all, figures...)
			return err
		})
		failed = errors.Join(failed, err)
	}
	if o.json {
		command := strings.Join(append([]string{"go run ./tools bench"}, args...), " ")
		return e.printJSON(map[string]any{
			"machine": machine, "command": command, "rows": rows, "figures": all}, all, failed)
	}
	e.con.Printf("\n%s", bench.Head())
	for _, f := range all {
		e.con.Printf("%s", f)
	}
	if failed != nil || missed(all) > 0 {
		e.con.Printf("%d of %d figures missed", missed(all), len(all))
		return errFailed
	}
	return nil
}

func (e *env) printJSON(run map[string]any, all []bench.Figure, failed error) error {
	out := json.NewEncoder(e.out)
	out.SetIndent("", "  ")
	if err := out.Encode(run); err != nil {
		return err
	}
	if failed == nil && missed(all) > 0 {
		return errFailed
	}
	return failed
}

func missed(all []bench.Figure) int {
	n := 0
	for _, f := range all {
		if !f.Met() {
			n++
		}
	}
	return n
}

func isBench(name string) bool {
	return slices.Contains(strings.Fields(benchNames()), name)
}

func benchNames() string {
	var names []string
	for _, b := range benches {
		names = append(names, b.name)
	}
	return strings.Join(names, " ")
}
