// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"m0serve.dev/tools/internal/console"
	"m0serve.dev/tools/internal/proc"
)

// smoke runs the tests of one application as its author does, with their output.
func smoke(e *env, args []string) error {
	names, err := appsWith(e.top, "smoke_test.go")
	if err != nil {
		return err
	}
	if len(args) != 1 {
		return usageError("wants one of " + strings.Join(names, " "))
	}
	known := false
	for _, name := range names {
		known = known || name == args[0]
	}
	if !known {
		return usageError(fmt.Sprintf("there is no application %q; there are %s",
			args[0], strings.Join(names, " ")))
	}
	e.con.Step("smoke "+args[0], "its real binary over real sockets", func(s *console.Step) error {
		_, err := proc.Run(e.ctx, proc.Cmd{
			Dir:    filepath.Join(e.top, "apps"),
			Args:   []string{"go", "test", "-count=1", "-v", "./" + args[0]},
			OnLine: func(line string) { s.Printf("%s", line) },
		})
		return err
	})
	if !e.con.Close("smoke") {
		return errFailed
	}
	return nil
}

// appsWith returns the applications whose folder holds the file: main.go is a
// command in Go, smoke_test.go any application.
func appsWith(top, file string) ([]string, error) {
	found, err := filepath.Glob(filepath.Join(top, "apps", "*", file))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, m := range found {
		names = append(names, filepath.Base(filepath.Dir(m)))
	}
	return names, nil
}

// buildApps builds every application into a folder that is thrown away.
func buildApps(e *env, args []string) error {
	if len(args) > 0 {
		return usageError("takes no argument")
	}
	e.con.Step("build-apps", "every application as a binary", e.buildAppsStep)
	if !e.con.Close("build-apps") {
		return errFailed
	}
	return nil
}

func (e *env) buildAppsStep(s *console.Step) error {
	names, err := appsWith(e.top, "main.go")
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return fmt.Errorf("apps holds no main.go")
	}
	dir, err := os.MkdirTemp("", "m0-apps-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for _, name := range names {
		s.Doing(name)
		bin := filepath.Join(dir, name)
		if err := e.goRun(nil, "build", "-o", bin, "./apps/"+name); err != nil {
			return err
		}
		st, err := os.Stat(bin)
		if err != nil {
			return err
		}
		s.Printf("%-18s %5.1f MB", name, float64(st.Size())/1e6)
	}
	return nil
}
