// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"m0serve.dev/tools/internal/console"
	"m0serve.dev/tools/internal/proc"
	"m0serve.dev/tools/internal/prove"
	"m0serve.dev/tools/internal/tree"
)

// gremlins is the one version that everybody runs.
const gremlins = "github.com/go-gremlins/gremlins/cmd/gremlins@v0.6.0"

// A mutation is a package whose code is changed; except are its files that are not.
type mutation struct{ dir, except string }

// mutations are the packages that a wrong byte breaks. Of sse it is what keeps and
// replays, not what waits.
var mutations = []mutation{
	{dir: "core/escape"}, {dir: "core/field"}, {dir: "core/hash"},
	{dir: "http/wire"},
	{dir: "http/bus"},
	{dir: "http/sse", except: `^sse/(attach|coding|handover|hold|hub|hub_hold|publish|` +
		`registry|slot|snapshot)\.go$`},
}

// proveGremlins changes operators and conditions, one at a time, and counts the
// changes that no test notices. Survivors are told and fail nothing: many mean the
// same as the code, and that is for people to say.
func (e *env) proveGremlins(s *console.Step, o proveOptions) (r prove.Result, err error) {
	program, err := e.installed(s, gremlins)
	if err != nil {
		return prove.Result{Skipped: "gremlins cannot be installed: " + firstLine(err)}, nil
	}
	var sum prove.Mutants
	var failed []error
	ran := 0
	for _, m := range mutations {
		if len(o.in) > 0 && !slices.Contains(o.in, m.dir) {
			continue
		}
		got, err := e.mutate(s, program, m)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", m.dir, err))
			continue
		}
		s.Printf("%-12s %s", m.dir, &got)
		sum.Add(got)
		ran++
	}
	r.Ran = fmt.Sprintf("%d packages: %s", ran, &sum)
	r.Found = sum.Survivors
	return r, errors.Join(failed...)
}

// mutate runs gremlins on a copy of the module, which it copies again for each of
// its workers: ours are found by their absolute paths.
func (e *env) mutate(s *console.Step, program string, m mutation) (got prove.Mutants, err error) {
	module, pkg, _ := strings.Cut(m.dir, "/")
	tmp, remove, err := proveDir()
	if err != nil {
		return got, err
	}
	defer remove()
	if err := e.copyModules(tmp, module); err != nil {
		return got, err
	}
	report := filepath.Join(tmp, "report.json")
	args := []string{program, "unleash", "--workers", "1", "--output", report}
	if m.except != "" {
		args = append(args, "--exclude-files", m.except)
	}
	_, err = proc.Run(e.ctx, proc.Cmd{Dir: filepath.Join(tmp, module),
		Env: []string{"GOWORK=off", "GOFLAGS=-mod=mod", "TMPDIR=" + tmp}, Args: append(args, "./"+pkg),
		OnLine: func(line string) { s.Doing(m.dir + " " + strings.TrimSpace(line)) }})
	if err != nil {
		return got, err
	}
	text, err := os.ReadFile(report)
	if err != nil {
		return got, err
	}
	return prove.ParseMutants(text, m.dir)
}

// copyModules copies a module and those of ours that it may need, and makes it find
// them without the workspace.
func (e *env) copyModules(to, module string) error {
	edit := []string{"go", "mod", "edit"}
	for _, name := range moduleNames(e.top) {
		if err := e.copyFolder(name, to); err != nil {
			return err
		}
		if name == module {
			break
		}
		edit = append(edit, "-replace="+path.Join(tree.Root, name)+"="+filepath.Join(to, name))
	}
	if len(edit) == 3 {
		return nil // the first module needs none of ours
	}
	_, err := proc.Run(e.ctx, proc.Cmd{Dir: filepath.Join(to, module), Env: []string{"GOWORK=off"},
		Args: edit})
	return err
}

// moduleNames are the modules that are there, each after those it may import.
func moduleNames(top string) (names []string) {
	for _, name := range tree.Names {
		if _, err := os.Stat(filepath.Join(top, name, "go.mod")); err == nil {
			names = append(names, name)
		}
	}
	return names
}
