// SPDX-License-Identifier: MIT

package interpreter

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Config says what was asked for and where to look.
type Config struct {
	Python       string // executable, its name or path; "": not asked for
	PythonOrigin string // what asked for it; "--python"
	Venv         string // virtual environment; "": not asked for
	VenvOrigin   string // what asked for it; "--venv"

	Dir     string        // where workers run; "": the present directory
	Environ []string      // of the workers; nil: that of this process
	Command string        // file of m0serve itself; "": not looked at
	Own     string        // executable that m0serve is installed for, if its start script said so
	Timeout time.Duration // for the interpreter to answer; 10 s
}

// A candidate is one executable to ask.
type candidate struct {
	origin, path string
}

// Find returns the Python to serve with. The error is an *Error with the cure,
// or that of ctx.
func Find(ctx context.Context, c Config) (*Python, error) {
	if c.Environ == nil {
		c.Environ = os.Environ()
	}
	list, err := c.candidates()
	if err != nil {
		return nil, err
	}
	var first *Error
	for _, one := range list {
		p, wrong := probe(ctx, &c, one.origin, one.path)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if wrong == nil {
			wrong = p.check()
		}
		if wrong == nil {
			wrong = c.agree(p)
		}
		if wrong == nil {
			return p, nil
		}
		if first == nil {
			first = wrong
		}
	}
	if first == nil {
		first = &Error{Origin: "python3", Reason: "there is none on PATH and no virtual environment",
			Cure: "install Python 3.9 or newer, or name one with --python or --venv"}
	}
	return nil, first
}

// agree refuses --python beside an environment that it does not belong to.
func (c *Config) agree(p *Python) *Error {
	if c.Python == "" || c.Venv == "" || sameFile(p.Prefix, c.Venv) {
		return nil
	}
	return &Error{Origin: p.Origin, Path: p.Executable,
		Reason: "it is not the interpreter of " + c.venvOrigin() + " " + c.Venv,
		Cure:   "leave one of the two out"}
}

func (c *Config) venvOrigin() string {
	if c.VenvOrigin != "" {
		return c.VenvOrigin
	}
	return "--venv"
}

func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	two, err2 := os.Stat(b)
	return err == nil && err2 == nil && os.SameFile(one, two)
}

// candidates lists what to ask: one that somebody chose, or all on PATH.
func (c *Config) candidates() ([]candidate, error) {
	if c.Python != "" {
		return c.named()
	}
	const own = "the environment of m0serve"
	for _, place := range []struct {
		origin, dir string
		optional    bool // a directory that is no environment is passed over
	}{
		{c.venvOrigin(), c.Venv, false},
		{"VIRTUAL_ENV", c.getenv("VIRTUAL_ENV"), false},
		{own, commandVenv(c.Command), true},
		{"./.venv", c.inDir(".venv"), true},
	} {
		if place.origin == own && c.Own != "" {
			return []candidate{{own, c.Own}}, nil
		}
		if place.dir == "" || place.optional && !isFile(filepath.Join(place.dir, "pyvenv.cfg")) {
			continue
		}
		path, err := venvPython(place.origin, place.dir)
		if err != nil {
			return nil, err
		}
		return []candidate{{place.origin, path}}, nil
	}
	return c.onPath("python3", "python3 on PATH"), nil
}

// named is the executable that --python names.
func (c *Config) named() ([]candidate, error) {
	origin := c.PythonOrigin
	if origin == "" {
		origin = "--python"
	}
	if strings.ContainsRune(c.Python, filepath.Separator) {
		path := c.Python
		if !filepath.IsAbs(path) {
			path = c.inDir(path)
		}
		info, err := os.Stat(path)
		if err == nil && info.IsDir() {
			err = errors.New("it is a directory; for a virtual environment there is --venv")
		}
		if err != nil {
			return nil, notThere(origin, c.Python, err)
		}
		return []candidate{{origin, path}}, nil
	}
	if list := c.onPath(c.Python, origin); len(list) > 0 {
		return list[:1], nil
	}
	return nil, &Error{Origin: origin, Path: c.Python, Reason: "there is none on PATH",
		Cure: "name one that is there, or give its whole path"}
}

func notThere(origin, path string, err error) *Error {
	return &Error{Origin: origin, Path: path, Reason: cause(err).Error(),
		Cure: "name an interpreter that is there"}
}

// venvPython is the interpreter of a virtual environment.
func venvPython(origin, dir string) (string, error) {
	refuse := func(reason, cure string) (string, error) {
		return "", &Error{Origin: origin, Path: dir, Reason: reason, Cure: cure}
	}
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		cure := "make it with: python3 -m venv " + dir
		if origin == "VIRTUAL_ENV" {
			cure = "leave it (deactivate), or make it with: python3 -m venv " + dir
		}
		return refuse("there is no such directory", cure)
	case !info.IsDir():
		return refuse("it is a file", "name the directory of a virtual environment; "+
			"for an interpreter there is --python")
	case !isFile(filepath.Join(dir, "pyvenv.cfg")) && !isDir(filepath.Join(dir, "conda-meta")):
		return refuse("it has no pyvenv.cfg, so it is no virtual environment",
			"make one with: python3 -m venv "+dir)
	}
	var link, target string
	for _, name := range venvNames() {
		path := filepath.Join(dir, name)
		if isFile(path) {
			return path, nil
		}
		if to, err := os.Readlink(path); err == nil && link == "" {
			link, target = path, to
		}
	}
	anew := "make it anew: python3 -m venv --clear " + dir + ", and install its packages again"
	if link != "" {
		return refuse(link+" points to "+target+", which is gone", anew)
	}
	return refuse("it has no interpreter ("+filepath.Join(dir, venvNames()[0])+")", anew)
}

func venvNames() []string {
	if runtime.GOOS == "windows" {
		return []string{`Scripts\python.exe`, "python.exe"}
	}
	return []string{"bin/python", "bin/python3"}
}

// commandVenv is the environment that the command is installed in: with
// .venv/bin/m0serve comes .venv/bin/python.
func commandVenv(command string) string {
	if command == "" {
		return ""
	}
	if real, err := filepath.EvalSymlinks(filepath.Dir(command)); err == nil {
		return filepath.Dir(real)
	}
	return ""
}

// onPath finds every executable of the name on the workers' PATH.
func (c *Config) onPath(name, origin string) []candidate {
	var list []candidate
	for _, dir := range filepath.SplitList(c.getenv("PATH")) {
		if dir == "" || !filepath.IsAbs(dir) {
			continue // a directory that moves with us is no place to trust
		}
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			list = append(list, candidate{origin, path})
		}
	}
	return list
}

// getenv reads the workers' environment; the last of a name counts.
func (c *Config) getenv(name string) string {
	value := ""
	for _, entry := range c.Environ {
		if v, ok := strings.CutPrefix(entry, name+"="); ok {
			value = v
		}
	}
	return value
}

func (c *Config) inDir(name string) string {
	path := filepath.Join(c.Dir, name)
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
