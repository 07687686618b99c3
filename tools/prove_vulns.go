// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"

	"m0serve.dev/tools/internal/console"
	"m0serve.dev/tools/internal/proc"
	"m0serve.dev/tools/internal/prove"
)

// govulncheck is the one version that everybody runs.
const govulncheck = "golang.org/x/vuln/cmd/govulncheck@v1.9.0"

// proveVulns looks for known vulnerabilities in what our modules call. The database
// is the one that is named, or made of the newest reports that the module proxy has.
func (e *env) proveVulns(s *console.Step, o proveOptions) (r prove.Result, err error) {
	db, age := o.vulns, "named by --vulndb or GOVULNDB"
	if db == "" {
		dir, remove, err := proveDir()
		if err != nil {
			return r, err
		}
		defer remove()
		if age, err = e.makeVulnDB(s, dir); err != nil {
			return prove.Result{Skipped: "no database of vulnerabilities, and none was named by " +
				"--vulndb: " + firstLine(err)}, nil
		}
		db = "file://" + filepath.ToSlash(dir)
	}
	program, err := e.installed(s, govulncheck)
	if err != nil {
		return prove.Result{Skipped: "govulncheck cannot be installed: " + firstLine(err)}, nil
	}
	all := prove.Vulns{}
	for _, module := range moduleNames(e.top) {
		s.Doing("govulncheck of " + module)
		out, err := proc.Run(e.ctx, proc.Cmd{Dir: filepath.Join(e.top, module),
			Args: []string{program, "-db", db, "-format", "json", "./..."}})
		if err == nil {
			err = all.Add(module, out)
		}
		if err != nil {
			return r, fmt.Errorf("govulncheck of %s: %w", module, err)
		}
	}
	called, present := all.Sorted()
	for _, v := range append(slices.Clone(called), present...) {
		r.Found = append(r.Found, v.String())
	}
	r.Ran = fmt.Sprintf("%d modules, %d vulnerabilities called and %d present; the database: %s",
		len(moduleNames(e.top)), len(called), len(present), age)
	if len(called) > 0 {
		err = fmt.Errorf("%d vulnerabilities are called", len(called))
	}
	return r, err
}

// makeVulnDB makes the database and says how many reports it has, of which version.
func (e *env) makeVulnDB(s *console.Step, dir string) (age string, err error) {
	s.Doing("go mod download " + prove.VulnSource)
	out, err := proc.Run(e.ctx, proc.Cmd{Dir: dir, Env: []string{"GOWORK=off"},
		Args: []string{"go", "mod", "download", "-json", prove.VulnSource + "@latest"}})
	if err != nil {
		return "", err
	}
	var got struct{ Dir, Version string }
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		return "", fmt.Errorf("go mod download: %w", err)
	}
	n, err := prove.MakeVulnDB(filepath.Join(got.Dir, "data", "osv"), dir)
	return fmt.Sprintf("%d reports of %s", n, got.Version), err
}
