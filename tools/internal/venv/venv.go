// SPDX-License-Identifier: MIT

// Package venv makes the virtual environment that tests of Python applications
// run in: the frameworks and the servers to compare with, in pinned versions, in
// the user's cache folder. It is made by the python3 on PATH and filled by its
// pip, from whatever index that is set up for.
//
// The file "complete" in it holds the sum of the list of versions and is written
// last, so an environment that was broken off, or is of another list, is seen and
// made anew. Tests find the folder by themselves: apps/internal/pyvenv knows the
// same two names.
package venv

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"m0serve.dev/tools/internal/proc"
)

// Lists of versions, below the top of the repository.
const (
	Requirements      = "tools/testdata/requirements.txt"
	BenchRequirements = "tools/testdata/bench-requirements.txt"
)

// complete is the file in the environment that says what it was made of.
const complete = "complete"

// ErrMissing reports that there is no environment of this list of versions.
var ErrMissing = errors.New("venv: not in the cache")

// Venv is the environment of one list of versions.
type Venv struct {
	Dir  string // where it is, or will be
	list string // the file with the versions
	sum  string // of the list, hexadecimal
}

// Of returns the environment for tests that the repository at top asks for. It
// need not exist.
func Of(top string) (*Venv, error) { return of(top, "venv", Requirements) }

// Bench returns the environment that servers are measured in, ours and others.
func Bench(top string) (*Venv, error) { return of(top, "bench-venv", BenchRequirements) }

func of(top, name, requirements string) (*Venv, error) {
	list := filepath.Join(top, filepath.FromSlash(requirements))
	text, err := os.ReadFile(list)
	if err != nil {
		return nil, fmt.Errorf("venv: %w", err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("venv: no cache folder: %w", err)
	}
	sum := sha256.Sum256(text)
	return &Venv{
		Dir:  filepath.Join(cache, "m0", name),
		list: list,
		sum:  hex.EncodeToString(sum[:]),
	}, nil
}

// Python is the interpreter of the environment.
func (v *Venv) Python() string {
	return filepath.Join(v.Dir, "bin", "python")
}

// Check returns nil when the environment is whole and of this list, ErrMissing
// when it must be made.
func (v *Venv) Check(ctx context.Context) error {
	got, err := os.ReadFile(filepath.Join(v.Dir, complete))
	if err != nil || strings.TrimSpace(string(got)) != v.sum {
		return ErrMissing
	}
	// The interpreter that it was made by may be gone.
	_, err = proc.Run(ctx, proc.Cmd{Args: []string{v.Python(), "-c", ""}})
	if errors.Is(err, proc.ErrTimeout) {
		return err
	}
	if err != nil {
		return ErrMissing
	}
	return nil
}

// Make makes the environment from nothing, unless another process made it just
// now. say is called with each line that venv and pip print.
func (v *Venv) Make(ctx context.Context, say func(string)) error {
	if err := os.MkdirAll(filepath.Dir(v.Dir), 0o777); err != nil {
		return fmt.Errorf("venv: %w", err)
	}
	f, err := os.OpenFile(v.Dir+".lock", os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return fmt.Errorf("venv: %w", err)
	}
	defer f.Close()
	if err := lock(f); err != nil {
		return fmt.Errorf("venv: %w", err)
	}
	if err := v.Check(ctx); !errors.Is(err, ErrMissing) {
		return err
	}
	return v.makeLocked(ctx, say)
}

func (v *Venv) makeLocked(ctx context.Context, say func(string)) error {
	err := run(ctx, say, "python3", "-m", "venv", "--clear", v.Dir)
	if err == nil {
		err = v.pip(ctx, say, "--requirement", v.list)
	}
	if err != nil {
		return err
	}
	err = os.WriteFile(filepath.Join(v.Dir, complete), []byte(v.sum+"\n"), 0o666)
	if err != nil {
		return fmt.Errorf("venv: %w", err)
	}
	return nil
}

// Add installs one more requirement, such as "bjoern==3.2.2", unless it is there.
// It is for what is built from source and may fail where a compiler or a library
// is missing.
func (v *Venv) Add(ctx context.Context, requirement string, say func(string)) error {
	name, version, _ := strings.Cut(requirement, "==")
	_, err := proc.Run(ctx, proc.Cmd{Args: []string{v.Python(), "-c",
		"import importlib.metadata as m, sys; sys.exit(m.version(sys.argv[1]) != sys.argv[2])",
		name, version}})
	if err == nil || errors.Is(err, proc.ErrTimeout) {
		return err
	}
	return v.pip(ctx, say, requirement)
}

func (v *Venv) pip(ctx context.Context, say func(string), what ...string) error {
	return run(ctx, say, append([]string{v.Python(), "-m", "pip", "install", "--no-input",
		"--disable-pip-version-check", "--progress-bar", "off"}, what...)...)
}

// run runs a command; the error holds the last line that it printed.
func run(ctx context.Context, say func(string), command ...string) error {
	var last string
	_, err := proc.Run(ctx, proc.Cmd{Args: command, OnLine: func(line string) {
		if line = strings.TrimSpace(line); line != "" {
			last = line
			say(line)
		}
	}})
	if err != nil {
		return fmt.Errorf("venv: %s: %s: %w", strings.Join(command[:3], " "), last, err)
	}
	return nil
}
