// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"m0serve.dev/tools/internal/bench"
	"m0serve.dev/tools/internal/console"
	"m0serve.dev/tools/internal/engine"
)

// Lengths of the measurements. A round runs every side once, in turns.
const (
	helloRounds    = 5
	helloTime      = 3 * time.Second
	blockingRounds = 3
	blockingTime   = 5 * time.Second
)

// benchHello lets the same small answer be given by several engines in turns.
func (e *env) benchHello(s *console.Step, o benchOptions) ([]bench.Figure, error) {
	return e.engine(s, o, engine.Workloads(o.quick),
		engine.Runner{Rounds: o.rounds(helloRounds), Length: o.length(helloTime)})
}

// benchBlocking asks for the same beside handlers that block.
func (e *env) benchBlocking(s *console.Step, o benchOptions) ([]bench.Figure, error) {
	return e.engine(s, o, engine.BlockingWorkloads(),
		engine.Runner{Rounds: o.rounds(blockingRounds), Length: o.length(blockingTime)})
}

// engine measures workloads and prints a table of each.
func (e *env) engine(s *console.Step, o benchOptions, all []engine.Workload,
	r engine.Runner) ([]bench.Figure, error) {
	workloads, err := chooseEngine(all, o)
	if err == nil {
		err = needWrk()
	}
	if err != nil {
		return nil, err
	}
	programs, err := e.buildRivals(s, "httpd", "gnetd", "openloop", "crowd")
	if err != nil {
		return nil, err
	}
	defer programs.remove()
	r.Say, r.House = s.Doing, engine.House{
		Httpd: programs.program("httpd"), Gnetd: programs.program("gnetd"),
		Openloop: programs.program("openloop"), Crowd: programs.program("crowd"),
		Scripts: filepath.Join(e.top, "tools", "rivals", "httpd")}
	var figures []bench.Figure
	for _, w := range workloads {
		rows, err := r.Run(e.ctx, w)
		if err != nil {
			return figures, err
		}
		s.Printf("\n%s: %s\n%s", w.Name, w.What, w.Table(rows))
		for _, row := range rows {
			o.table(row)
		}
		figures = append(figures, w.Figures(rows)...)
	}
	return figures, nil
}

// chooseEngine leaves out what the flags do not name. Ours always run.
func chooseEngine(all []engine.Workload, o benchOptions) (chosen []engine.Workload, err error) {
	var names []string
	for _, w := range all {
		names = append(names, w.Name)
		if !o.wants(w.Name) {
			continue
		}
		w.Sides = slices.DeleteFunc(slices.Clone(w.Sides), func(side string) bool {
			return engine.CanDrop(side) && !o.wantsSide(side)
		})
		chosen = append(chosen, w)
	}
	if len(chosen) == 0 {
		return nil, o.noWorkload(names)
	}
	return chosen, nil
}

func needWrk() error {
	if _, err := exec.LookPath("wrk"); err != nil {
		return errors.New("bench: wrk is missing (go run ./tools setup)")
	}
	return nil
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
