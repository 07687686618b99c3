// SPDX-License-Identifier: MIT

package interpreter

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// The oldest Python that can serve.
const (
	majorMin = 3
	minorMin = 9
)

// A Python is one interpreter as it described itself.
type Python struct {
	Executable     string // to be run; in a virtual environment the one of that
	Origin         string // where it was found: "--python", "python3 on PATH"
	Implementation string // "CPython"
	Version        string // "3.11.2"
	Major, Minor   int
	Prefix         string            // of the virtual environment when there is one
	BasePrefix     string            // of the installation
	FreeThreaded   bool              // built without the GIL
	ABI            string            // "cpython-311-x86_64-linux-gnu"
	Bits           int               // of a pointer
	Ctypes         bool              // the module ctypes works
	Libraries      []string          // files that may be its shared library, best first
	LibraryName    string            // "libpython3.11.so.1.0"
	Packages       map[string]string // versions of frameworks, by distribution name

	VenvVersion string // what pyvenv.cfg says the environment was made by; "" when there is none
}

// Venv is the virtual environment, "" when there is none.
func (p *Python) Venv() string {
	if p.Prefix != p.BasePrefix {
		return p.Prefix
	}
	return ""
}

// String is the interpreter in a few words.
func (p *Python) String() string {
	s := p.Implementation + " " + p.Version
	if p.FreeThreaded {
		s += " free-threaded"
	}
	return s + " (" + p.Executable + ")"
}

// An Error is a Python that cannot be used. Its text is what the operator reads
// behind "m0serve: "; the exit status is 78.
type Error struct {
	Origin string // what asked for it: "--python", "VIRTUAL_ENV", "python3 on PATH"
	Path   string // what was asked for; may be empty
	Reason string
	Cure   string // a clause in the imperative
}

// Error implements error.
func (e *Error) Error() string {
	s := e.Origin
	if e.Path != "" {
		s += " " + strconv.Quote(e.Path)
	}
	return s + ": " + e.Reason + "; " + e.Cure
}

// check refuses an interpreter that no way of serving can use.
func (p *Python) check() *Error {
	refuse := func(reason, cure string) *Error {
		return &Error{Origin: p.Origin, Path: p.Executable, Reason: reason, Cure: cure}
	}
	switch {
	case p.Implementation != "CPython":
		return refuse("it is "+p.Implementation+" "+p.Version, "m0serve needs CPython 3.9 or newer")
	case p.Major < majorMin || p.Major == majorMin && p.Minor < minorMin:
		return refuse("it is Python "+p.Version, "m0serve needs 3.9 or newer: name one "+
			"with --python, or make the virtual environment anew with it")
	case p.Bits != strconv.IntSize:
		return refuse(fmt.Sprintf("it is built for %d bits, m0serve for %d", p.Bits, strconv.IntSize),
			"install a Python for this machine")
	}
	return p.checkVenv()
}

// checkVenv refuses an environment that another version of Python made: its
// packages are in a directory that this one does not look into.
func (p *Python) checkVenv() *Error {
	venv := p.Venv()
	if venv == "" {
		return nil
	}
	p.VenvVersion = venvVersion(venv)
	if p.VenvVersion == "" {
		return nil
	}
	own := fmt.Sprintf("%d.%d", p.Major, p.Minor)
	if p.VenvVersion == own || strings.HasPrefix(p.VenvVersion, own+".") {
		return nil
	}
	return &Error{Origin: p.Origin, Path: venv,
		Reason: "it was made by Python " + p.VenvVersion + " and its interpreter is now " + p.Version +
			", which does not see its packages",
		Cure: "make it anew: " + p.Executable + " -m venv --clear " + venv +
			", and install its packages again"}
}

// venvVersion is the version in the environment's pyvenv.cfg: venv writes
// version, uv and virtualenv write version_info.
func venvVersion(venv string) string {
	text, err := os.ReadFile(filepath.Join(venv, "pyvenv.cfg"))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(line, "=")
		if key = strings.TrimSpace(key); key == "version" || key == "version_info" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// Hosted tells whether workers can be this interpreter's own processes, which
// load the engine through ctypes. The error is an *Error.
func (p *Python) Hosted() error {
	if p.Ctypes {
		return nil
	}
	return &Error{Origin: p.Origin, Path: p.Executable,
		Reason: "its module ctypes does not work, by which the engine is loaded",
		Cure:   ctypesCure(p)}
}

func ctypesCure(p *Python) string {
	if isPyenv(p.BasePrefix) {
		return "install libffi with its headers (libffi-dev), then build it again: " +
			"pyenv install --force " + filepath.Base(p.BasePrefix)
	}
	return "install the whole standard library of this Python, or build it with libffi"
}
