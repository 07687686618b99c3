// SPDX-License-Identifier: MIT

package wsgibare

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"m0serve.dev/apps/internal/pyserver"
	"m0serve.dev/apps/internal/pyvenv"
)

// rootModules are what the Python side of m0serve imports to serve WSGI, for every
// application. One more brings its whole tree into every worker: inspect took a megabyte.
const rootModules = "atexit, ctypes, faulthandler, functools, gc, importlib, " +
	"importlib.machinery, io, json, os, signal, stat, sys, threading, traceback, types"

func serveLittle(t *testing.T) *suite {
	t.Helper()
	pyserver.M0serveAlone(t)
	return &suite{p: servers.Start(t, pyserver.Config{Dir: ".", App: "little:app"}),
		prefix: "little-"}
}

// A worker whose application needs nothing has imported what serving needs, and no more.
func TestWorkerImportsLittle(t *testing.T) {
	s := serveLittle(t)
	cmd := exec.Command(pyvenv.Python(t), "-c", "import "+rootModules+"; print(*sys.modules)")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	known := append(strings.Fields(string(out)), "little")
	var more []string
	for _, name := range strings.Fields(s.ask(t, "/")) {
		if !strings.HasPrefix(name, "m0serve") && !slices.Contains(known, name) {
			more = append(more, name)
		}
	}
	if len(more) > 0 {
		t.Errorf("a worker has imported %s as well", strings.Join(more, ", "))
	}
}

// What only the start needs of the engine's file is not kept: its relocations lie in the
// first part of it, of which a few symbols are looked at later on.
func TestWorkerLetsGoOfItsStart(t *testing.T) {
	s := serveLittle(t)
	s.ask(t, "/")
	for _, pid := range s.p.Workers(t) {
		size, held := firstPart(t, pid, "libm0serve.so")
		if size == 0 {
			t.Skip("SKIPPED: no library of the engine: libpython was loaded into the command")
		}
		if held > size/2 {
			t.Errorf("a worker holds %d KB of the %d KB of relocations of its engine", held, size)
		}
	}
}

// firstPart is the size of the first part of a file in the memory of a process, and what
// of it is there, in KB.
func firstPart(t *testing.T, pid int, file string) (size, held int) {
	t.Helper()
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, part, _ := strings.Cut(string(maps), "/"+file+"\n")
	for line := range strings.Lines(part) {
		if n, _ := fmt.Sscanf(line, "Rss: %d kB", &held); n == 1 {
			break
		}
		_, _ = fmt.Sscanf(line, "Size: %d kB", &size)
	}
	return size, held
}
