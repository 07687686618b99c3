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

	"m0serve.dev/tools/internal/console"
	"m0serve.dev/tools/internal/proc"
	"m0serve.dev/tools/internal/sbom"
	"m0serve.dev/tools/internal/tree"
)

// sbomVerb writes the list of what our modules are made of, and fails where something
// is under a licence that we do not ship.
func sbomVerb(e *env, args []string) error {
	out := filepath.Join("bin", "m0.cdx.json")
	switch {
	case len(args) == 2 && args[0] == "--out":
		out = args[1]
	case len(args) != 0:
		return usageError("takes only --out FILE")
	}
	if !filepath.IsAbs(out) {
		out = filepath.Join(e.top, out)
	}
	_ = e.con.Step("sbom", "what our modules are made of, as CycloneDX", func(s *console.Step) error {
		list, err := e.components(s)
		if err != nil {
			return err
		}
		version, err := e.workVersion()
		if err != nil {
			return err
		}
		text, err := sbom.Write("m0", version, list)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
			return err
		}
		var wrong []error
		for _, c := range list {
			s.Printf("%-48s %-20s %s", c.Path, c.Version, strings.Join(c.Licences, " AND "))
			wrong = append(wrong, sbom.Check(c.Path, c.Licences))
		}
		s.Printf("%d components in %s", len(list), out)
		return errors.Join(append(wrong, os.WriteFile(out, text, 0o644))...)
	}) // the console keeps the error
	if !e.con.Close("sbom") {
		return errFailed
	}
	return nil
}

// listed is a module as "go list -m -json" tells of it.
type listed struct {
	Path, Version, Dir, Sum string
}

// components are our modules, those of others whose packages they or their tests are
// compiled with, and the standard library.
func (e *env) components(s *console.Step) (list []sbom.Component, err error) {
	modules, err := e.listModules(s)
	if err != nil {
		return nil, err
	}
	shipped, tested := map[string]bool{}, map[string]bool{}
	uses := map[string][]string{}
	for _, name := range moduleNames(e.top) {
		path := tree.Path(name)
		if uses[path], err = e.modulesBelow(s, name, false); err != nil {
			return nil, err
		}
		below, err := e.modulesBelow(s, name, true)
		if err != nil {
			return nil, err
		}
		for _, used := range append(slices.Clone(uses[path]), path) {
			shipped[used] = true
		}
		for _, used := range below {
			tested[used] = true
		}
	}
	for path := range tested {
		if !shipped[path] {
			shipped[path] = false // it is there for tests alone
		}
	}
	for path, isShipped := range shipped {
		m := modules[path]
		c := sbom.Component{Path: path, Version: m.Version, Sum: m.Sum, Tests: !isShipped,
			Uses: uses[path]}
		text, err := sbom.ReadLicence(m.Dir)
		if err != nil {
			return nil, fmt.Errorf("licence of %s: %w", path, err)
		}
		c.Licences = sbom.Identify(text)
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b sbom.Component) int { return strings.Compare(a.Path, b.Path) })
	return list, nil
}

// listModules are all modules of the workspace by path, and "std".
func (e *env) listModules(s *console.Step) (map[string]listed, error) {
	s.Doing("go list -m all")
	out, err := e.ask(".", "list", "-m", "-json", "all")
	if err != nil {
		return nil, err
	}
	modules := map[string]listed{}
	for d := json.NewDecoder(strings.NewReader(out)); d.More(); {
		var m listed
		if err := d.Decode(&m); err != nil {
			return nil, fmt.Errorf("go list -m: %w", err)
		}
		modules[m.Path] = m
	}
	out, err = e.ask(".", "env", "GOROOT", "GOVERSION")
	if err != nil {
		return nil, err
	}
	goroot, version, _ := strings.Cut(strings.TrimSpace(out), "\n")
	modules["std"] = listed{Path: "std", Version: strings.TrimPrefix(version, "go"), Dir: goroot}
	return modules, nil
}

// modulesBelow are the modules whose packages those of ours in a folder are compiled
// with, sorted, itself left out and "std" among them.
func (e *env) modulesBelow(s *console.Step, folder string, tests bool) ([]string, error) {
	args := []string{"list", "-deps",
		"-f", "{{if .Standard}}std{{else}}{{with .Module}}{{.Path}}{{end}}{{end}}"}
	if tests {
		args = append(args, "-test")
	}
	s.Doing("go list -deps of " + folder)
	out, err := e.ask(folder, append(args, "./...")...)
	if err != nil {
		return nil, err
	}
	var paths []string
	for line := range strings.Lines(out) {
		if line = strings.TrimSpace(line); line != "" && !strings.Contains(line, " ") {
			paths = append(paths, line) // a warning of the go command has spaces
		}
	}
	slices.Sort(paths)
	return slices.DeleteFunc(slices.Compact(paths), func(path string) bool {
		return path == tree.Path(folder)
	}), nil
}

// ask runs the go command in a folder and returns what it prints.
func (e *env) ask(folder string, args ...string) (string, error) {
	return proc.Run(e.ctx, proc.Cmd{Dir: filepath.Join(e.top, folder),
		Args: append([]string{"go"}, args...)})
}
