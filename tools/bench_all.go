// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"m0serve.dev/tools/internal/results"
)

// benchAll runs every bench, or reads what was saved, and writes page, table and pictures.
//
//	bench all [--out DIR] [--only A,B] [FLAG …]   runs these benches, with the flags of any
//	bench all [--out DIR] --from FILE …           reads what "bench NAME --json" printed
func benchAll(e *env, args []string) error {
	out := filepath.Join("bin", "bench")
	var files, flags, only []string
	for i := 0; i < len(args); i++ {
		switch args[i] {
		case "--out":
			if i++; i == len(args) {
				return usageError("--out takes a folder")
			}
			out = args[i]
		case "--only":
			if i++; i == len(args) {
				return usageError("--only takes benches")
			}
			only = strings.Split(args[i], ",")
			for _, name := range only {
				if !isBench(name) {
					return usageError(fmt.Sprintf("has no bench %q; there are %s", name, benchNames()))
				}
			}
		case "--from":
			files, i = args[i+1:], len(args)
			if len(files) == 0 {
				return usageError("--from takes files")
			}
		default:
			flags = append(flags, args[i])
		}
	}
	if files != nil && (flags != nil || only != nil) {
		return usageError("takes flags of benches, or --from, not both")
	}
	if !filepath.IsAbs(out) {
		out = filepath.Join(e.top, out)
	}
	runs, err := readRuns(files)
	if files == nil {
		runs, err = e.runAll(out, only, flags)
	}
	if len(runs) > 0 {
		err = errors.Join(err, writeResults(out, runs))
		e.con.Printf("%s, the table and a picture of each bench beside it",
			filepath.Join(out, "README.md"))
	}
	return err
}

// readRuns reads saved runs.
func readRuns(files []string) (runs []results.Run, err error) {
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
		r, err := results.Parse(text, name)
		if err != nil {
			return nil, err
		}
		runs = append(runs, r)
	}
	return runs, nil
}

// runAll runs one bench after another and saves what each gave, so that what failed
// late can be run again alone.
func (e *env) runAll(out string, only, flags []string) (runs []results.Run, err error) {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, err
	}
	var failed []error
	for _, b := range benches {
		if e.ctx.Err() != nil {
			break
		}
		if only != nil && !slices.Contains(only, b.name) {
			continue
		}
		e.con.Printf("== %s: %s", b.name, b.what)
		var text bytes.Buffer
		sub := &env{ctx: e.ctx, top: e.top, out: &text, con: e.con}
		runErr := benchRun(sub, append([]string{b.name, "--json"}, flags...))
		r, parseErr := results.Parse(text.Bytes(), b.name)
		if parseErr != nil {
			failed = append(failed, fmt.Errorf("%s: %w", b.name, errors.Join(runErr, parseErr)))
			continue
		}
		runs = append(runs, r)
		if err := os.WriteFile(filepath.Join(out, b.name+".json"), text.Bytes(), 0o644); err != nil {
			return runs, err
		}
	}
	return runs, errors.Join(failed...)
}

// writeResults writes the page, the table and the pictures.
func writeResults(dir string, runs []results.Run) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	errs := []error{
		os.WriteFile(filepath.Join(dir, "README.md"), []byte(results.Page(runs)), 0o644),
		os.WriteFile(filepath.Join(dir, results.TableFile), []byte(results.Table(runs)), 0o644),
	}
	for _, name := range results.Benches(runs) {
		errs = append(errs, os.WriteFile(filepath.Join(dir, results.Picture(name)),
			[]byte(results.SVG(runs, name)), 0o644))
	}
	return errors.Join(errs...)
}
