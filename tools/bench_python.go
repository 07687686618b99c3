// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"m0serve.dev/tools/internal/bench"
	"m0serve.dev/tools/internal/console"
	"m0serve.dev/tools/internal/contest"
	"m0serve.dev/tools/internal/proc"
	"m0serve.dev/tools/internal/venv"
)

// Lengths of the contests of servers of Python.
const (
	pythonRounds = 5
	pythonTime   = 2 * time.Second
	pythonWarm   = time.Second
	startGuess   = time.Second // of one server, for the estimate
)

func (e *env) benchWSGI(s *console.Step, o benchOptions) ([]bench.Figure, error) {
	return e.contest(s, o, contest.WSGIWorkloads())
}

func (e *env) benchASGI(s *console.Step, o benchOptions) ([]bench.Figure, error) {
	return e.contest(s, o, contest.ASGIWorkloads())
}

func (e *env) benchMixed(s *console.Step, o benchOptions) ([]bench.Figure, error) {
	return e.contest(s, o, contest.MixedWorkloads())
}

// contest measures workloads and prints a table of each.
func (e *env) contest(s *console.Step, o benchOptions,
	all []contest.Workload) ([]bench.Figure, error) {
	workloads, err := choose(all, o)
	if err != nil {
		return nil, err
	}
	if err := needWrk(); err != nil {
		return nil, err
	}
	house, remove, err := e.pythonHouse(s)
	if err != nil {
		return nil, err
	}
	defer remove()
	r := contest.Runner{House: house, Rounds: o.rounds(pythonRounds), Length: o.length(pythonTime),
		Warm: pythonWarm, Say: s.Doing}
	if o.quick {
		r.Warm = 0
	}
	sides := 0
	for _, w := range workloads {
		sides += len(w.Sides)
	}
	guess := time.Duration(sides*r.Rounds) * (r.Length + r.Warm + startGuess)
	s.Printf("%s\n%d workloads, %d servers to load %d times: about %s", e.versions(house),
		len(workloads), sides, r.Rounds, guess.Round(time.Minute/2))
	var figures []bench.Figure
	for _, w := range workloads {
		rows, err := r.Run(e.ctx, w)
		if err != nil {
			return figures, err
		}
		s.Printf("\n%s: %s\n%s", w.Kind, w.What, w.Table(rows))
		for _, row := range rows {
			o.table(row)
		}
		figures = append(figures, w.Figures(rows)...)
	}
	return figures, nil
}

// choose leaves out what the flags do not name. Ours always runs.
func choose(all []contest.Workload, o benchOptions) ([]contest.Workload, error) {
	var chosen []contest.Workload
	var names []string
	for _, w := range all {
		names = append(names, w.Name)
		if !o.wants(w.Name) {
			continue
		}
		ours := w.Sides[0]
		w.Sides = slices.DeleteFunc(slices.Clone(w.Sides), func(side string) bool {
			return side != ours && !o.wantsSide(side)
		})
		chosen = append(chosen, w)
	}
	if len(chosen) == 0 {
		return nil, o.noWorkload(names)
	}
	return chosen, nil
}

// wants reports whether the flags ask for a workload, as they do when they name none.
func (o *benchOptions) wants(workload string) bool {
	return len(o.only) == 0 || slices.Contains(o.only, workload)
}

// wantsSide is wants for a side.
func (o *benchOptions) wantsSide(side string) bool {
	return len(o.sides) == 0 || slices.Contains(o.sides, side)
}

// noWorkload says that the flags ask for none of these.
func (o *benchOptions) noWorkload(names []string) error {
	return usageError(fmt.Sprintf("has no workload %s; there are %s",
		strings.Join(o.only, " "), strings.Join(names, " ")))
}

// pythonHouse makes everything that the sides need: the environment, the rivals
// that are built from source, m0serve, and the generator for WebSockets.
func (e *env) pythonHouse(s *console.Step) (h contest.House, remove func(), err error) {
	dir, err := os.MkdirTemp("", "m0-bench-")
	if err != nil {
		return h, nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) }
	h = contest.House{Command: filepath.Join(dir, "m0serve"),
		Apps: filepath.Join(e.top, "tools", "rivals", "python"), Echo: filepath.Join(dir, "wsecho"),
		Missing: map[string]string{}}
	if h.Python, err = e.benchVenv(s, h.Missing); err != nil {
		remove()
		return h, nil, err
	}
	for side, err := range map[string]error{
		"m0serve": e.buildM0serve(s, h.Command),
		"wsecho":  e.goBuild(s, "tools/rivals", "-o", h.Echo, "./wsecho"),
	} {
		if err != nil {
			h.Missing[side] = "it cannot be built: " + firstLine(err)
			s.Printf("cannot build %s:\n%v", side, err)
		}
	}
	for _, name := range []string{"m0serve", "libm0serve.so"} {
		if err := asInstalled(filepath.Join(dir, name)); err != nil {
			h.Missing["m0serve"] = firstLine(err)
		}
	}
	return h, remove, nil
}

// asInstalled writes a file again in small pieces, as pip does. What the linker has just
// written is in the page cache in pages of 2 MB, which are counted whole for who reads a byte.
func asInstalled(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if err := os.Remove(name); err != nil { // or its pages stay as they are
		return err
	}
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	for piece := range slices.Chunk(text, 64<<10) {
		if _, err := file.Write(piece); err != nil {
			return errors.Join(err, file.Close())
		}
	}
	return file.Close()
}

// buildM0serve builds the command, and with flags the library that workers load beside it.
func (e *env) buildM0serve(s *console.Step, command string, flags ...string) error {
	library := filepath.Join(filepath.Dir(command), "libm0serve.so")
	const pkg = "./cmd/m0serve"
	return errors.Join(e.goBuild(s, "wsgi", "-o", command, pkg),
		e.goBuild(s, "wsgi", append(slices.Clone(flags), "-buildmode=c-shared", "-o", library, pkg)...))
}

// goBuild runs go build in a folder of the tree.
func (e *env) goBuild(s *console.Step, folder string, args ...string) error {
	s.Doing("go build " + strings.Join(args, " "))
	_, err := proc.Run(e.ctx, proc.Cmd{Dir: filepath.Join(e.top, filepath.FromSlash(folder)),
		Args: append([]string{"go", "build"}, args...)})
	return err
}

// benchVenv returns the interpreter of all sides and notes the rivals that cannot
// be built.
func (e *env) benchVenv(s *console.Step, missing map[string]string) (python string, err error) {
	v, err := e.readyVenv(s)
	if err != nil {
		return "", err
	}
	for _, source := range contest.Sources() {
		s.Doing("pip install " + source.Requirement)
		if err := v.Add(e.ctx, source.Requirement, s.Doing); err != nil {
			missing[source.Side] = fmt.Sprintf("it cannot be built (Debian: apt-get install %s): %s",
				source.Needs, firstLine(err))
		}
	}
	return v.Python(), nil
}

// readyVenv is the environment of the rivals, made where it is missing.
func (e *env) readyVenv(s *console.Step) (*venv.Venv, error) {
	v, err := venv.Bench(e.top)
	if err != nil {
		return nil, err
	}
	if err = v.Check(e.ctx); errors.Is(err, venv.ErrMissing) {
		s.Printf("making %s of %s", v.Dir, venv.BenchRequirements)
		err = v.Make(e.ctx, s.Doing)
	}
	return v, err
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// versions is what the sides are.
func (e *env) versions(h contest.House) string {
	const script = `
import importlib.metadata as m, sys
names = sys.argv[1:]
print("Python", sys.version.split()[0], *(f"· {d.metadata['Name']} {d.version}"
    for d in m.distributions() if d.metadata["Name"].lower() in names))`
	names := []string{"bjoern", "uwsgi", "granian", "gunicorn", "waitress", "uvicorn", "httptools",
		"uvloop", "hypercorn", "django", "flask", "fastapi", "starlette", "websockets"}
	out, err := proc.Run(e.ctx, proc.Cmd{Args: append([]string{h.Python, "-c", script}, names...)})
	if err != nil {
		return firstLine(err)
	}
	return strings.TrimSpace(out)
}
