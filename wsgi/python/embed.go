// SPDX-License-Identifier: MIT

// Package python holds the Python sources of m0serve as text. They need nothing
// but the standard library of CPython 3.9. They travel inside the engine, so that
// it never meets another version of them.
package python

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed m0serve/*.py
var files embed.FS

// Source is the source of a module of the package m0serve, or of m0pub: its name
// begins with the package's then.
func Source(module string) (string, error) {
	name, ours := strings.CutPrefix(module, "m0pub")
	var text []byte
	var err error
	switch {
	case !ours:
		text, err = files.ReadFile("m0serve/" + module + ".py")
	case name == "":
		text, err = publisher.ReadFile("m0pub/__init__.py")
	default:
		text, err = publisher.ReadFile("m0pub/" + strings.TrimPrefix(name, ".") + ".py")
	}
	if err != nil {
		return "", fmt.Errorf("python: no module %q", module)
	}
	return string(text), nil
}

// start runs the module boot, with native in hand.
const start = `exec(compile(native.source("boot"), "<m0serve>/boot.py", "exec"),
     {"native": native, "__name__": "m0serve.boot"})
`

// Boot is what a python executable is told to run, by -c: it loads the engine
// whose file is the first argument, and leaves the rest to it. A crash in C code is the
// faulthandler's: the Go runtime, which is loaded behind it, passes such signals on.
// Alone, it would print its own stacks and end the process by SIGQUIT.
const Boot = `import ctypes, faulthandler, sys
try:
    faulthandler.enable()
except Exception:  # the standard error is closed
    pass
engine = ctypes.PyDLL(sys.argv[1])
engine.m0_native.restype = ctypes.py_object
native = engine.m0_native()
` + start

// BootEmbedded is the same for an interpreter inside the engine's own process,
// where the name native is there already.
const BootEmbedded = start
