// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"m0serve.dev/tools/internal/bench"
	"m0serve.dev/tools/internal/console"
	"m0serve.dev/tools/internal/proc"
)

// The Autobahn test suite is written in Python 2.7, and comes from PyPI.
const (
	autobahnVersion = "25.10.1"
	autobahnRun     = `import site, sys
lib, spec = sys.argv[1:]
sys.path.insert(0, lib)
site.addsitedir(lib)
sys.argv = ['wstest', '-m', 'fuzzingclient', '-s', spec]
from autobahntestsuite.wstest import run
run()`
)

// autobahnBasic are the groups about RFC 6455. Of those about compression a usual run
// has one case of each kind, and one of all cases ("*") a group of each kind.
var (
	autobahnBasic = []string{"1.*", "2.*", "3.*", "4.*", "5.*", "6.*", "7.*", "9.*", "10.*"}
	autobahnKinds = []string{"12.1", "12.2", "12.3", "12.4", "12.5",
		"13.1", "13.2", "13.3", "13.4", "13.5", "13.6", "13.7"}
)

// autobahnCases are the patterns of a call, each a step of its own: the suite writes its
// report when it ends, so that a run that is broken off has the verdicts of what was
// done.
func autobahnCases(args []string) (patterns []string) {
	kind := ".6"
	switch {
	case len(args) == 1 && args[0] == "*":
		kind = ".*"
	case len(args) > 0:
		return args
	}
	patterns = slices.Clone(autobahnBasic)
	for _, k := range autobahnKinds {
		patterns = append(patterns, k+kind)
	}
	return patterns
}

// autobahnEngines are what the suite is run against. Both are asked at once, since the
// suite needs far more time of a processor, and of one only, than our server.
var autobahnEngines = []string{"native", "nethttp"}

// autobahn runs the suite against our echo, on the loop and over net/http. Without an
// interpreter for it nothing is run, and that is told.
func autobahn(e *env, args []string) error {
	python := e.findPython2()
	if python == "" {
		e.con.Printf("skipped autobahn: no Python 2.7 (python2.7, pypy, or one of pyenv) is there")
		return nil
	}
	dir, err := os.MkdirTemp("", "m0-autobahn-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	run := &autobahnRuns{dir: dir, python: python, counts: map[string]*autobahnCount{}}
	steps := []step{{"suite", "autobahntestsuite " + autobahnVersion + " for " + python,
		func(s *console.Step) (err error) {
			if run.lib, err = e.installAutobahn(s, python); err != nil {
				return err
			}
			return e.goBuild(s, "tools/rivals", "-o", dir+string(filepath.Separator), "./wsd")
		}}}
	for _, pattern := range autobahnCases(args) {
		steps = append(steps, step{"cases " + pattern, strings.Join(autobahnEngines, " and "),
			func(s *console.Step) error { return e.autobahnStep(s, run, pattern) }})
	}
	if err := e.steps(steps, nil); err != nil {
		return err
	}
	for _, engine := range autobahnEngines {
		e.con.Printf("all of %s: %s", engine, run.count(engine))
	}
	if !e.con.Close("autobahn") {
		return errFailed
	}
	return nil
}

// autobahnRuns is what the steps of a call have in common.
type autobahnRuns struct {
	dir, python, lib string // of the server, the interpreter, the suite ("" without)

	mu     sync.Mutex
	counts map[string]*autobahnCount // by engine
	doing  map[string]string         // the case of each engine in this step
}

// count is what an engine has so far.
func (a *autobahnRuns) count(engine string) *autobahnCount {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.counts[engine] == nil {
		a.counts[engine] = &autobahnCount{}
	}
	return a.counts[engine]
}

// autobahnStep runs the cases of one pattern against all engines.
func (e *env) autobahnStep(s *console.Step, run *autobahnRuns, pattern string) error {
	if err := e.ctx.Err(); err != nil {
		return err
	}
	if run.lib == "" {
		return errors.New("autobahn: there is no suite")
	}
	run.doing = map[string]string{}
	errs := make([]error, len(autobahnEngines))
	var all sync.WaitGroup
	for i, engine := range autobahnEngines {
		all.Go(func() {
			got, err := e.autobahnOf(run, engine, pattern, func(id string) {
				run.mu.Lock()
				defer run.mu.Unlock()
				run.doing[engine] = id
				s.Doing(fmt.Sprint(run.doing))
			})
			run.count(engine).add(got)
			s.Printf("%s: %s", engine, got)
			if err != nil {
				errs[i] = fmt.Errorf("%s: %w", engine, err)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// findPython2 is an interpreter that runs the suite, "" when there is none.
func (e *env) findPython2() string {
	home, _ := os.UserHomeDir() // without one, two places less to look
	found := []string{"python2.7", "python2", "pypy"}
	for _, pattern := range []string{"2.7.*/bin/python2.7", "pypy2.7*/bin/pypy"} {
		matches, _ := filepath.Glob(filepath.Join(home, ".pyenv", "versions", pattern))
		found = append(found, matches...) // the patterns are well formed
	}
	at := slices.IndexFunc(found, func(python string) bool {
		_, err := proc.Run(e.ctx, proc.Cmd{
			Args: []string{python, "-c", "import sys; assert sys.version_info[:2] == (2, 7)"}})
		return err == nil
	})
	if at < 0 {
		return ""
	}
	return found[at]
}

// installAutobahn makes a folder with the suite and what it needs, once.
func (e *env) installAutobahn(s *console.Step, python string) (lib string, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("autobahn: no cache folder: %w", err)
	}
	lib = filepath.Join(cache, "m0", "autobahn-"+autobahnVersion)
	complete := filepath.Join(lib, "complete") // written last
	if _, err := os.Stat(complete); err == nil {
		return lib, nil
	}
	if err := os.RemoveAll(lib); err != nil {
		return "", err
	}
	s.Doing("pip install autobahntestsuite")
	_, err = proc.Run(e.ctx, proc.Cmd{Args: []string{python, "-m", "pip", "install", "--quiet",
		"--target", lib, "autobahntestsuite==" + autobahnVersion}})
	if err != nil {
		return "", fmt.Errorf("autobahn: %w", err)
	}
	return lib, os.WriteFile(complete, nil, 0o644)
}

// autobahnOf runs the cases of a pattern against one engine.
func (e *env) autobahnOf(run *autobahnRuns, engine, pattern string,
	doing func(id string)) (got autobahnCount, err error) {
	server, err := bench.StartProgram(e.ctx, bench.Program{Free: true,
		Args: []string{filepath.Join(run.dir, "wsd"), "-engine", engine, "-deflate", "-context"}})
	if err != nil {
		return got, err
	}
	defer server.Stop()
	reports, err := os.MkdirTemp(run.dir, engine)
	if err != nil {
		return got, err
	}
	spec, err := json.Marshal(map[string]any{"outdir": reports, "cases": []string{pattern},
		"servers":       []any{map[string]string{"agent": "m0", "url": "ws://" + server.Addr}},
		"exclude-cases": []string{}, "exclude-agent-cases": map[string]any{}})
	if err != nil {
		return got, err
	}
	file := reports + ".json"
	if err := os.WriteFile(file, spec, 0o644); err != nil {
		return got, err
	}
	_, err = proc.Run(e.ctx, proc.Cmd{Dir: reports,
		Args: []string{run.python, "-u", "-c", autobahnRun, run.lib, file},
		OnLine: func(line string) {
			if id, ok := strings.CutPrefix(line, "Running test case ID "); ok {
				id, _, _ = strings.Cut(id, " ")
				doing(id)
			}
		}})
	if err != nil {
		return got, fmt.Errorf("autobahn: %w", err)
	}
	text, err := os.ReadFile(filepath.Join(reports, "index.json"))
	if err != nil {
		return got, fmt.Errorf("autobahn: no report: %w", err)
	}
	return judgeAutobahn(text)
}

// autobahnCount is how many cases had which verdict about what was said.
type autobahnCount struct{ total, ok, informational int }

func (c *autobahnCount) add(other autobahnCount) {
	c.total += other.total
	c.ok += other.ok
	c.informational += other.informational
}

func (c autobahnCount) String() string {
	text := fmt.Sprintf("%d cases: %d OK, %d informational", c.total, c.ok, c.informational)
	if others := c.total - c.ok - c.informational; others > 0 {
		text += fmt.Sprintf(", %d not", others)
	}
	return text
}

// judgeAutobahn counts the verdicts of a report. Each case has one about what was said
// and one about how it was closed; what is not OK or for information only is an error.
func judgeAutobahn(report []byte) (count autobahnCount, err error) {
	var agents map[string]map[string]struct{ Behavior, BehaviorClose string }
	if err := json.Unmarshal(report, &agents); err != nil {
		return count, fmt.Errorf("autobahn: report: %w", err)
	}
	var wrong []string
	for _, cases := range agents {
		for id, got := range cases {
			count.total++
			switch got.Behavior {
			case "OK":
				count.ok++
			case "INFORMATIONAL":
				count.informational++
			}
			for _, verdict := range []string{got.Behavior, got.BehaviorClose} {
				if verdict != "OK" && verdict != "INFORMATIONAL" {
					wrong = append(wrong, id+" "+verdict)
				}
			}
		}
	}
	slices.Sort(wrong)
	switch {
	case count.total == 0:
		return count, errors.New("autobahn: no case was run")
	case wrong != nil:
		return count, fmt.Errorf("autobahn: %s", strings.Join(wrong, ", "))
	}
	return count, nil
}
