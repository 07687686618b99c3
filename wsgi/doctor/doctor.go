// SPDX-License-Identifier: MIT

// Package doctor explains what one m0serve command would serve, and what stands
// in its way (contract row W7): the interpreter, its virtual environment and
// packages, the application, the options and where each came from, addresses, the doors
// that others publish through, limits, directories. Every problem comes with its cure.
//
// The application is imported as a worker does it, in a child process with a
// bound on its time, so nothing that it does reaches the doctor. Addresses are
// tried by listening for a moment. Nothing is served and nothing is changed.
package doctor

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"m0serve.dev/wsgi/internal/interpreter"
	"m0serve.dev/wsgi/internal/options"
)

// Config says what to look at.
type Config struct {
	Options  options.Options
	Problems error    // of options.Parse
	Environ  []string // of this process; nil: os.Environ
	Command  string   // file of m0serve; "": not looked at
	Embedded bool     // workers load libpython, where otherwise Python loads the engine
	NoEngine bool     // there is no library to load, and the command holds no engine
	Version  string   // of m0serve

	ImportTimeout time.Duration // for the application; 30 s
}

// Examine looks at everything and never stops at the first problem.
func Examine(ctx context.Context, c Config) *Report {
	if c.Environ == nil {
		c.Environ = os.Environ()
	}
	r := &Report{}
	r.Title = "m0serve " + c.Version
	py := r.interpreter(ctx, &c)
	r.application(ctx, &c, py)
	r.options(&c)
	r.addresses(&c.Options)
	r.doors(&c)
	r.limits(&c.Options)
	r.files(&c.Options)
	return r
}

// interpreter reports on the Python, nil when none can serve.
func (r *Report) interpreter(ctx context.Context, c *Config) *interpreter.Python {
	const section = "Python"
	py, err := interpreter.Find(ctx, interpreter.ConfigOf(&c.Options, c.Environ, c.Command))
	if err != nil {
		r.addError(section, "interpreter", err)
		return nil
	}
	name := py.Implementation + " " + py.Version
	if py.FreeThreaded {
		name += ", free-threaded"
	}
	r.Add(section, Good, "interpreter", name+", "+py.Executable+" ("+py.Origin+")", "")
	if venv := py.Venv(); venv != "" {
		r.Add(section, Good, "environment", venv+", of "+py.BasePrefix, "")
	} else {
		r.Add(section, Note, "environment", "none; packages are those of "+py.Prefix, "")
	}
	r.engine(c, py)
	r.Add(section, Note, "packages", packages(py), "")
	return py
}

// engine reports how Python and the engine come together.
func (r *Report) engine(c *Config, py *interpreter.Python) {
	const section = "Python"
	library, missing := py.Libpython()
	switch err := py.Hosted(); {
	case c.NoEngine:
		r.Add(section, Problem, "engine", "none: this command was built without cgo and has no "+
			"libm0serve.so beside it", "install the wheel, or build it with CGO_ENABLED=1")
	case c.Embedded && missing != nil:
		r.addError(section, "libpython", missing)
	case c.Embedded:
		r.Add(section, Good, "libpython", library, "")
	case err != nil:
		r.addError(section, "ctypes", err)
	case missing != nil:
		r.Add(section, Good, "ctypes", "works; the engine is loaded into this Python", "")
		r.Add(section, Note, "libpython", "none, and none is needed", "")
	default:
		r.Add(section, Good, "ctypes", "works; the engine is loaded into this Python", "")
		r.Add(section, Note, "libpython", library+", not needed", "")
	}
}

// packages lists the frameworks that are installed.
func packages(py *interpreter.Python) string {
	text := ""
	for _, name := range []string{"django", "flask", "fastapi", "starlette", "asgiref", "uvloop"} {
		if version := py.Packages[name]; version != "" {
			text += ", " + name + " " + version
		}
	}
	if text == "" {
		return "no framework that the doctor knows"
	}
	return text[2:]
}

// addError reports a refusal with its cure.
func (r *Report) addError(section, label string, err error) {
	var e *interpreter.Error
	if !errors.As(err, &e) {
		r.Add(section, Problem, label, err.Error(), "try again")
		return
	}
	text := e.Reason
	if e.Path != "" {
		text = e.Path + " (" + e.Origin + "): " + e.Reason
	}
	r.Add(section, Problem, label, text, e.Cure)
}

// options reports what was given, refused and accepted without effect.
func (r *Report) options(c *Config) {
	const section = "Options"
	o := &c.Options
	refused := map[string]bool{}
	for _, e := range options.Problems(c.Problems) {
		refused[strings.TrimPrefix(e.Option, "--")] = true
	}
	given := 0
	for _, s := range o.Given() {
		if refused[s.Name] {
			continue
		}
		switch s.Name {
		case "doctor", "bind", "host", "port", "uds", "fd", "python", "venv", "static", "pg-listen",
			"publish-http":
			continue // reported where they belong
		}
		value := s.Value
		if value == "" {
			value = "given"
		}
		r.Add(section, Note, s.Name, value+" ("+s.Source.String()+")", "")
		given++
	}
	if given == 0 && c.Problems == nil {
		r.Add(section, Note, "all", "at their defaults; see m0serve --help", "")
	}
	for _, w := range o.Warnings {
		r.Add(section, Warning, "", w, "")
	}
	for _, e := range options.Problems(c.Problems) {
		text := e.Subject()
		if e.Reason != "" {
			text += ": " + e.Reason
		}
		r.Add(section, Problem, "", text, e.Cure)
	}
}
