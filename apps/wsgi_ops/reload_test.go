// SPDX-License-Identifier: MIT

//go:build linux

package wsgiops

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"m0serve.dev/apps/internal/smoketest"
)

// reloadWithin is how soon a file that was saved is what is served.
const reloadWithin = 2 * time.Second

// saved writes an application and waits until it is what is served.
func saved(t *testing.T, p *smoketest.Process, dir, version string) {
	t.Helper()
	writeVersion(t, dir, version)
	begin := time.Now()
	smoketest.Until(t, "version "+version, func() bool {
		return ask(t, p, "/") == "version "+version
	})
	if took := time.Since(begin); took > reloadWithin {
		t.Fatalf("version %s is served %v after it was saved, want within %v",
			version, took, reloadWithin)
	}
}

// With --reload a saved file is served at once. One that cannot be loaded is shown,
// leaves what serves, and the next save mends it.
func TestReload(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeVersion(t, dir, "1")
	p := site{app: "version:app", dir: dir, args: []string{"--reload"}}.start(t)
	saved(t, p, dir, "2")
	write(t, filepath.Join(dir, "version.py"), "def app(\n")
	logs(t, p, "SyntaxError: ", 1)
	logs(t, p, "the old ones go on serving", 1)
	if got := ask(t, p, "/"); got != "version 2" {
		t.Errorf("GET / = %q while the file is broken, want version 2", got)
	}
	saved(t, p, dir, "3")
	if n := strings.Count(p.Log(), "SyntaxError: "); n != 1 {
		t.Errorf("one error was shown %d times", n)
	}
	saved(t, p, dir, "4")
}

// A service that was started with broken code waits for a save as well.
func TestReloadStartsBroken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "version.py"), "import missing_module_of_ops\n")
	p := site{app: "version:app", dir: dir, args: []string{"--reload", "--workers", "2"}}.launch(t)
	logs(t, p, "No module named 'missing_module_of_ops'", 1)
	logs(t, p, "waiting for a change", 2)
	writeVersion(t, dir, "1")
	p.Listening(t, listening)
	if got := ask(t, p, "/"); got != "version 1" {
		t.Errorf("GET / = %q, want version 1", got)
	}
}
