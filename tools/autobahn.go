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

// autobahnUsual are the groups about RFC 6455, and of those about compression one case
// of each kind. All 517 cases are "*".
var autobahnUsual = []string{"1.*", "2.*", "3.*", "4.*", "5.*", "6.*", "7.*", "9.*", "10.*",
	"12.1.6", "12.2.6", "12.3.6", "12.4.6", "12.5.6",
	"13.1.6", "13.2.6", "13.3.6", "13.4.6", "13.5.6", "13.6.6", "13.7.6"}

// autobahn runs the suite against our echo, on the loop and over net/http. Without an
// interpreter for it nothing is run, and that is told.
func autobahn(e *env, args []string) error {
	cases := args
	if len(cases) == 0 {
		cases = autobahnUsual
	}
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
	var lib string
	steps := []step{{"suite", "autobahntestsuite " + autobahnVersion + " for " + python,
		func(s *console.Step) (err error) {
			if lib, err = e.installAutobahn(s, python); err != nil {
				return err
			}
			return e.goBuild(s, "tools/rivals", "-o", dir+string(filepath.Separator), "./wsd")
		}}}
	for _, engine := range []string{"native", "nethttp"} {
		steps = append(steps, step{engine, strings.Join(cases, " "), func(s *console.Step) error {
			if lib == "" {
				return errors.New("autobahn: there is no suite")
			}
			return e.autobahnOf(s, dir, engine, cases, python, lib)
		}})
	}
	if err := e.steps(steps, nil); err != nil {
		return err
	}
	if !e.con.Close("autobahn") {
		return errFailed
	}
	return nil
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

// autobahnOf runs cases against one engine.
func (e *env) autobahnOf(s *console.Step, dir, engine string, cases []string,
	python, lib string) error {
	server, err := bench.Start(e.ctx, filepath.Join(dir, "wsd"), "-engine", engine,
		"-deflate", "-context")
	if err != nil {
		return err
	}
	defer server.Stop()
	reports := filepath.Join(dir, engine)
	spec, err := json.Marshal(map[string]any{"outdir": reports, "cases": cases,
		"servers":       []any{map[string]string{"agent": "m0", "url": "ws://" + server.Addr}},
		"exclude-cases": []string{}, "exclude-agent-cases": map[string]any{}})
	if err != nil {
		return err
	}
	file := reports + ".json"
	if err := os.WriteFile(file, spec, 0o644); err != nil {
		return err
	}
	_, err = proc.Run(e.ctx, proc.Cmd{Args: []string{python, "-c", autobahnRun, lib, file}, Dir: dir,
		OnLine: func(line string) {
			if id, ok := strings.CutPrefix(line, "Running test case ID "); ok {
				s.Doing("case " + id)
			}
		}})
	if err != nil {
		return fmt.Errorf("autobahn: %w", err)
	}
	text, err := os.ReadFile(filepath.Join(reports, "index.json"))
	if err != nil {
		return fmt.Errorf("autobahn: no report: %w", err)
	}
	said, err := judgeAutobahn(text)
	s.Printf("%s", said)
	return err
}

// judgeAutobahn counts the verdicts of a report. Each case has one about what was said
// and one about how it was closed; what is not OK or for information only is an error.
func judgeAutobahn(report []byte) (said string, err error) {
	var agents map[string]map[string]struct{ Behavior, BehaviorClose string }
	if err := json.Unmarshal(report, &agents); err != nil {
		return "", fmt.Errorf("autobahn: report: %w", err)
	}
	counts, total := map[string]int{}, 0
	var wrong []string
	for _, cases := range agents {
		for id, got := range cases {
			counts[got.Behavior]++
			total++
			for _, verdict := range []string{got.Behavior, got.BehaviorClose} {
				if verdict != "OK" && verdict != "INFORMATIONAL" {
					wrong = append(wrong, id+" "+verdict)
				}
			}
		}
	}
	slices.Sort(wrong)
	said = fmt.Sprintf("%d cases: %d OK, %d informational",
		total, counts["OK"], counts["INFORMATIONAL"])
	switch {
	case total == 0:
		return said, errors.New("autobahn: no case was run")
	case wrong != nil:
		return said, fmt.Errorf("autobahn: %s", strings.Join(wrong, ", "))
	}
	return said, nil
}
