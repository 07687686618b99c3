// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"m0serve.dev/tools/internal/bench"
	"m0serve.dev/tools/internal/console"
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
)

// benchHello lets the same small answer be given by four engines in turns.
func (e *env) benchHello(s *console.Step, o benchOptions) ([]bench.Figure, error) {
	if err := needWrk(); err != nil {
		return nil, err
	}
	rounds, length := o.rounds(helloRounds), o.length(helloTime)
	programs, err := e.buildRivals(s, "httpd")
	if err != nil {
		return nil, err
	}
	defer programs.remove()
	rate, cpu := map[string]*bench.Best{}, map[string]*bench.Best{}
	for round := range rounds {
		for _, engine := range []string{"native", "std", "nethttp", "fasthttp"} {
			s.Doing(fmt.Sprintf("%s, round %d of %d", engine, round+1, rounds))
			load, err := e.saturate(programs, engine, length)
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

func needWrk() error {
	if _, err := exec.LookPath("wrk"); err != nil {
		return errors.New("bench: wrk is missing (go run ./tools setup)")
	}
	return nil
}

func (e *env) saturate(programs rivals, engine string, length time.Duration) (bench.Load, error) {
	server, err := bench.Start(e.ctx, programs.program("httpd"), "-engine", engine)
	if err != nil {
		return bench.Load{}, err
	}
	defer server.Stop()
	return bench.Saturate(e.ctx, server, helloConns, length)
}

// benchBlocking sends 3,000 requests a second, of which 1 % sleep and 0.1 %
// compute for 50 ms, and looks at the others. The rival gets as many threads as
// ours, so that computing does not stop it.
func (e *env) benchBlocking(s *console.Step, o benchOptions) ([]bench.Figure, error) {
	programs, err := e.buildRivals(s, "httpd", "openloop")
	if err != nil {
		return nil, err
	}
	defer programs.remove()
	rounds, length := o.rounds(blockingRounds), o.length(blockingTime)
	p99 := map[string]*bench.Best{}
	for round := range rounds {
		for _, engine := range []string{"native", "std", "nethttp"} {
			s.Doing(fmt.Sprintf("%s, round %d of %d", engine, round+1, rounds))
			got, err := e.openLoop(programs, engine, length)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", engine, err)
			}
			s.Printf("%-9s p50 %.2f  p99 %.2f  p99.9 %.2f ms; the generator %.2f ms late",
				engine, got.P50, got.P99, got.P999, got.Generator)
			if round == 0 {
				p99[engine] = &bench.Best{}
			}
			if got.Generator > generatorLateMs {
				s.Printf("          does not count: the load itself was late")
				continue
			}
			p99[engine].Add(got.P99)
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

func (e *env) openLoop(programs rivals, engine string, length time.Duration) (bench.Open, error) {
	server, err := bench.Start(e.ctx, programs.program("httpd"), "-engine", engine, "-procs", "4")
	if err != nil {
		return bench.Open{}, err
	}
	defer server.Stop()
	return bench.OpenLoop(e.ctx, server, programs.program("openloop"), length)
}

func (e *env) benchDatastar(s *console.Step, o benchOptions) ([]bench.Figure, error) {
	return e.goBench(s, o, "tools/rivals/encode", "datastar", []pair{
		{"Elements/ours/append", "Elements/theirs", 0.5, uncounted},
		{"Elements/ours/writer", "Elements/theirs", 1, uncounted},
		{"Page/ours/append", "Page/theirs", 0.1, 0},
		{"Fanout/ours/append", "Fanout/theirs", 0.01, 0},
		{"Signals/ours/append", "Signals/theirs", 0.5, uncounted},
	})
}

// benchRoute finds the routes of GitHub's API by handlers of each router's own kind,
// which are its fastest, and by those of net/http.
func (e *env) benchRoute(s *console.Step, o benchOptions) ([]bench.Figure, error) {
	var pairs []pair
	for _, load := range []string{"Static", "Param", "All"} {
		name := "GitHub/" + load + "/"
		pairs = append(pairs, pair{name + "ours/values", name + "httprouter/params", 1, uncounted},
			pair{name + "ours/nethttp", name + "httprouter/nethttp", 1, uncounted},
			pair{name + "ours/nethttp", name + "chi/nethttp", 1, uncounted})
	}
	return e.goBench(s, o, "tools/rivals/route", "route", pairs)
}

// rivals is a temporary folder of programs of tools/rivals.
type rivals string

func (r rivals) program(name string) string { return filepath.Join(string(r), name) }

func (r rivals) remove() { _ = os.RemoveAll(string(r)) }

func (e *env) buildRivals(s *console.Step, names ...string) (rivals, error) {
	dir, err := os.MkdirTemp("", "m0-bench-")
	if err != nil {
		return "", err
	}
	args := []string{"-o", dir + string(filepath.Separator)}
	for _, name := range names {
		args = append(args, "./"+name)
	}
	if err := e.goBuild(s, "tools/rivals", args...); err != nil {
		rivals(dir).remove()
		return "", err
	}
	return rivals(dir), nil
}
