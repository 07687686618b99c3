// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"m0serve.dev/tools/internal/console"
	"m0serve.dev/tools/internal/datastarjs"
	"m0serve.dev/tools/internal/proc"
)

// need is a program that a part of full runs.
type need struct {
	names   []string // any of them will do; a path is that of what is no program
	pkg     string   // Debian package
	use     string
	without string // what is left out when it is missing; "" when full cannot do without
}

var needs = []need{
	{[]string{"git"}, "git", "which files are ours", ""},
	{[]string{"gcc", "cc"}, "gcc libc6-dev", "the race detector", ""},
	{[]string{"chromium", "chromium-browser", "google-chrome", "chrome"}, "chromium",
		"browser tests of the applications", "they are skipped"},
	{[]string{"nginx"}, "nginx-light", "streams behind a proxy", "those tests are skipped"},
	{[]string{"pg_createcluster", "initdb"}, "postgresql",
		"streams that a database feeds", "those tests are skipped"},
	{[]string{"/usr/share/nodejs/eventsource"}, "nodejs node-eventsource",
		"an EventSource of npm as a client", "its test is skipped"},
	{[]string{"wrk"}, "wrk", "load for bench", "bench refuses to start"},
	{[]string{"taskset"}, "util-linux", "bench keeps server and load on a core each",
		"figures are less exact"},
	{[]string{"python3"}, "python3 python3-pip python3-venv",
		"runs Python applications, fetches the Datastar client", "tests of both are skipped"},
}

func setup(e *env, args []string) error {
	offline, err := offlineFlag(args)
	if err != nil {
		return err
	}
	e.con.Step("setup", "programs and files that full needs", func(s *console.Step) error {
		return e.setupStep(s, offline)
	})
	if !e.con.Close("setup") {
		return errFailed
	}
	return nil
}

// offlineFlag reads the one flag of setup and full.
func offlineFlag(args []string) (bool, error) {
	switch {
	case len(args) == 0:
		return false, nil
	case len(args) == 1 && args[0] == "--offline":
		return true, nil
	}
	return false, usageError("takes only --offline: install and fetch nothing")
}

// setupStep says what is there, installs the rest when it may, fetches the Datastar
// client and makes the virtual environment. It fails only for want of what full
// cannot do without, or of what would otherwise silently be skipped.
func (e *env) setupStep(s *console.Step, offline bool) error {
	missing := report(s)
	if len(missing) > 0 && !offline {
		if err := e.install(s, missing); err != nil {
			return err
		}
		missing = report(s)
	}
	for _, n := range missing {
		if n.without == "" {
			return fmt.Errorf("setup: %s is missing: %s (apt-get install %s)", n.names[0], n.use, n.pkg)
		}
	}
	e.fetchClient(s, offline)
	return e.makeVenv(s, offline)
}

// report prints a line for every need and returns those that are missing.
func report(s *console.Step) []need {
	var missing []need
	for _, n := range needs {
		if path := find(n.names); path != "" {
			s.Printf("have     %-9s %s", filepath.Base(n.names[0]), path)
			continue
		}
		missing = append(missing, n)
		without := n.without
		if without == "" {
			without = "full cannot run"
		}
		s.Printf("missing  %-9s %s; without it %s", filepath.Base(n.names[0]), n.use, without)
	}
	return missing
}

func find(names []string) string {
	for _, name := range names {
		path, err := exec.LookPath(name)
		if filepath.IsAbs(name) {
			path = name
			_, err = os.Stat(name)
		}
		if err == nil {
			return path
		}
	}
	return ""
}

// install installs Debian's packages as root. Otherwise it prints the commands
// and fails before anything was done.
func (e *env) install(s *console.Step, missing []need) error {
	var pkgs []string
	for _, n := range missing {
		pkgs = append(pkgs, strings.Fields(n.pkg)...)
	}
	commands := [][]string{
		{"apt-get", "update"},
		append([]string{"apt-get", "install", "-y", "--no-install-recommends"}, pkgs...),
	}
	if runtime.GOOS != "linux" || os.Geteuid() != 0 || find([]string{"apt-get"}) == "" {
		var b strings.Builder
		for _, c := range commands {
			fmt.Fprintf(&b, "\n  sudo %s", strings.Join(c, " "))
		}
		return fmt.Errorf("setup: not root on a Debian system; run these first, then this again, "+
			"or pass --offline to go on without:%s", &b)
	}
	for _, c := range commands {
		s.Printf("$ %s", strings.Join(c, " "))
		s.Doing(c[1])
		_, err := proc.Run(e.ctx, proc.Cmd{Env: []string{"DEBIAN_FRONTEND=noninteractive"}, Args: c})
		if err != nil {
			return fmt.Errorf("setup: %w", err)
		}
	}
	return nil
}

// fetchClient puts the Datastar client into the user's cache. Without it the tests
// that need it say so and are skipped, so a failure here is only told.
func (e *env) fetchClient(s *console.Step, offline bool) {
	path, err := datastarjs.Cached()
	if errors.Is(err, datastarjs.ErrMissing) && !offline {
		s.Doing("fetch the Datastar client")
		path, err = datastarjs.Fetch(e.ctx)
	}
	if err != nil {
		s.Printf("missing  datastar  tests of the Datastar client are skipped: %v", err)
		return
	}
	s.Printf("have     datastar  %s (%s)", path, datastarjs.Banner)
}
