// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"m0serve.dev/tools/internal/bench"
	"m0serve.dev/tools/internal/console"
	"m0serve.dev/tools/internal/proc"
)

// Lengths of the measurements. A round runs every engine once, in turns.
const (
	helloRounds    = 5
	helloTime      = 3 * time.Second
	helloConns     = 64
	blockingRounds = 3
	blockingTime   = 5 * time.Second

	// generatorLateMs is how late the load may be at its 99th percentile; above it
	// the round says more about the machine than about the server.
	generatorLateMs = 2

	goBenchCount = "3"
	goBenchTime  = "300ms"
)

// benches are the measurements by name.
var benches = []struct {
	name, what string
	run        func(*env, *console.Step) ([]bench.Figure, error)
}{
	{"hello", "requests a second and CPU a request, saturated by wrk", (*env).benchHello},
	{"blocking", "quick requests beside slow ones, at a fixed rate", (*env).benchBlocking},
	{"datastar", "encoding events, beside the official SDK", (*env).benchDatastar},
	{"sqlite", "queries, beside database/sql on the same engine", (*env).benchSQLite},
}

// benchRun measures; what it says in between is left out with --json.
func benchRun(e *env, args []string) error {
	name, asJSON := "", false
	for _, a := range args {
		switch {
		case a == "--json":
			asJSON = true
		case name == "" && isBench(a):
			name = a
		default:
			return usageError(fmt.Sprintf("does not know %q; there are %s", a, benchNames()))
		}
	}
	if asJSON {
		e.con = console.New(io.Discard)
	}
	machine := bench.ThisMachine()
	e.con.Printf("%s", machine)
	if machine.IsBusy() {
		e.con.Printf("other work runs here: figures are worse and less even than on a quiet machine")
	}
	var all []bench.Figure
	var failed error
	for _, b := range benches {
		if name != "" && name != b.name {
			continue
		}
		err := e.con.Step(b.name, b.what, func(s *console.Step) error {
			figures, err := b.run(e, s)
			all = append(all, figures...)
			return err
		})
		failed = errors.Join(failed, err)
	}
	if asJSON {
		return e.printJSON(machine, all, failed)
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

func (e *env) printJSON(m bench.Machine, all []bench.Figure, failed error) error {
	out := json.NewEncoder(e.out)
	out.SetIndent("", "  ")
	if err := out.Encode(map[string]any{"machine": m, "figures": all}); err != nil {
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

// benchHello lets the same small answer be given by four engines in turns.
func (e *env) benchHello(s *console.Step) ([]bench.Figure, error) {
	if _, err := exec.LookPath("wrk"); err != nil {
		return nil, errors.New("bench: wrk is missing (go run ./tools setup)")
	}
	programs, err := e.buildRivals(s)
	if err != nil {
		return nil, err
	}
	defer programs.remove()
	rate, cpu := map[string]*bench.Best{}, map[string]*bench.Best{}
	for round := range helloRounds {
		for _, engine := range []string{"native", "std", "nethttp", "fasthttp"} {
			s.Doing(fmt.Sprintf("%s, round %d of %d", engine, round+1, helloRounds))
			load, err := e.saturate(programs, engine)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", engine, err)
			}
			if round == 0 {
				rate[engine], cpu[engine] = &bench.Best{More: true}, &bench.Best{}
				s.Printf("%-9s %8.0f requests/s  %s", engine, load.Rate, load.Busy)
			}
			rate[engine].Add(load.Rate)
			cpu[engine].Add(float64(load.CPU.Nanoseconds()) / 1000)
		}
	}
	rates := func(ours, rival string, least float64) bench.Figure {
		return bench.Figure{Name: "hello " + ours, Unit: "requests/s", Ours: rate[ours].Value(),
			Other: rate[rival].Value(), Rival: rival, Ratio: least, MoreIsBetter: true}
	}
	cpus := func(ours, rival string, most float64) bench.Figure {
		return bench.Figure{Name: "hello " + ours, Unit: "CPU us/request", Ours: cpu[ours].Value(),
			Other: cpu[rival].Value(), Rival: rival, Ratio: most}
	}
	return []bench.Figure{
		rates("native", "nethttp", 1.6), rates("std", "nethttp", 1.5), rates("native", "fasthttp", 1),
		cpus("native", "nethttp", 0.6), cpus("std", "nethttp", 0.7), cpus("native", "fasthttp", 1),
	}, nil
}

func (e *env) saturate(programs rivals, engine string) (bench.Load, error) {
	server, err := bench.Start(e.ctx, programs.httpd, "-engine", engine)
	if err != nil {
		return bench.Load{}, err
	}
	defer server.Stop()
	return bench.Saturate(e.ctx, server, helloConns, helloTime)
}

// benchBlocking sends 3,000 requests a second, of which 1 % sleep and 0.1 %
// compute for 50 ms, and looks at the others. The rival gets as many threads as
// ours, so that computing does not stop it.
func (e *env) benchBlocking(s *console.Step) ([]bench.Figure, error) {
	programs, err := e.buildRivals(s)
	if err != nil {
		return nil, err
	}
	defer programs.remove()
	p99 := map[string]*bench.Best{}
	for round := range blockingRounds {
		for _, engine := range []string{"native", "std", "nethttp"} {
			s.Doing(fmt.Sprintf("%s, round %d of %d", engine, round+1, blockingRounds))
			o, err := e.openLoop(programs, engine)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", engine, err)
			}
			s.Printf("%-9s p50 %.2f  p99 %.2f  p99.9 %.2f ms; the generator %.2f ms late",
				engine, o.P50, o.P99, o.P999, o.Generator)
			if round == 0 {
				p99[engine] = &bench.Best{}
			}
			if o.Generator > generatorLateMs {
				s.Printf("          does not count: the load itself was late")
				continue
			}
			p99[engine].Add(o.P99)
		}
	}
	var figures []bench.Figure
	for _, engine := range []string{"native", "std"} {
		figures = append(figures, bench.Figure{Name: "blocking " + engine, Unit: "quick p99 ms",
			Ours: p99[engine].Value(), Other: p99["nethttp"].Value(), Rival: "nethttp",
			Ratio: 1.25, Limit: 5})
	}
	return figures, nil
}

func (e *env) openLoop(programs rivals, engine string) (bench.Open, error) {
	server, err := bench.Start(e.ctx, programs.httpd, "-engine", engine, "-procs", "4")
	if err != nil {
		return bench.Open{}, err
	}
	defer server.Stop()
	return bench.OpenLoop(e.ctx, server, programs.openloop, blockingTime)
}

func (e *env) benchDatastar(s *console.Step) ([]bench.Figure, error) {
	return e.goBench(s, "tools/rivals/encode", "datastar", []pair{
		{"Elements/ours/append", "Elements/theirs", 0.5}, {"Elements/ours/writer", "Elements/theirs", 1},
		{"Signals/ours/append", "Signals/theirs", 0.5},
	})
}

func (e *env) benchSQLite(s *console.Step) ([]bench.Figure, error) {
	return e.goBench(s, "sqlite", "sqlite", []pair{
		{"Point/ours/stmt", "Point/theirs/stmt", 0.6}, {"Point/ours/one", "Point/theirs/stmt", 0.8},
		{"Scan/ours/query", "Scan/theirs", 0.6}, {"Bulk/ours", "Bulk/theirs", 0.5},
		{"Autocommit/ours", "Autocommit/theirs", 1},
	})
}

// pair names two Go benchmarks and the most that ours may take of the rival's time.
type pair struct {
	ours, rival string
	most        float64
}

func (e *env) goBench(s *console.Step, dir, name string, pairs []pair) ([]bench.Figure, error) {
	s.Doing("go test -bench in " + dir)
	out, err := proc.Run(e.ctx, proc.Cmd{
		Dir: filepath.Join(e.top, filepath.FromSlash(dir)),
		Args: []string{"go", "test", "-run", "^$", "-bench", ".", "-count", goBenchCount,
			"-benchtime", goBenchTime, "."},
	})
	if err != nil {
		return nil, err
	}
	best := bench.ParseGoBench(out)
	var figures []bench.Figure
	for _, p := range pairs {
		f := bench.Figure{Name: name + " " + p.ours, Unit: "us", Ours: best[p.ours] / 1000,
			Other: best[p.rival] / 1000, Rival: p.rival, Ratio: p.most}
		if f.Ours == 0 || f.Other == 0 {
			return nil, fmt.Errorf("bench: %s has no benchmarks %s and %s", dir, p.ours, p.rival)
		}
		figures = append(figures, f)
	}
	return figures, nil
}

// rivals are the programs of tools/rivals, built into a temporary folder.
type rivals struct{ dir, httpd, openloop string }

func (r rivals) remove() { _ = os.RemoveAll(r.dir) }

func (e *env) buildRivals(s *console.Step) (rivals, error) {
	s.Doing("build tools/rivals")
	dir, err := os.MkdirTemp("", "m0-bench-")
	if err != nil {
		return rivals{}, err
	}
	r := rivals{dir, filepath.Join(dir, "httpd"), filepath.Join(dir, "openloop")}
	_, err = proc.Run(e.ctx, proc.Cmd{
		Dir:  filepath.Join(e.top, "tools", "rivals"),
		Args: []string{"go", "build", "-o", dir + string(filepath.Separator), "./httpd", "./openloop"},
	})
	if err != nil {
		r.remove()
		return rivals{}, err
	}
	return r, nil
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
