// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"m0serve.dev/tools/internal/console"
)

// machine makes PATH hold exactly the named programs, each of which notes that it
// was called, and the cache empty. It returns the file with the notes.
func machine(t *testing.T, programs ...string) string {
	t.Helper()
	dir := t.TempDir()
	calls := filepath.Join(dir, "calls")
	for _, name := range programs {
		script := "#!/bin/sh\necho " + name + " $* >>" + calls + "\n"
		if name == "python3" {
			script += asPython
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	return calls
}

// asPython makes a virtual environment whose interpreter is the script itself.
const asPython = `
case "$1 $2" in "-m venv")
	/bin/mkdir -p "$4/bin" && /bin/cp "$0" "$4/bin/python" ;;
esac
`

// setUp runs the step and returns what it printed and its error.
func setUp(t *testing.T, offline bool) (string, error) {
	t.Helper()
	var out bytes.Buffer
	e := &env{ctx: t.Context(), top: "..", con: console.New(&out)}
	err := e.con.Step("setup", "x", func(s *console.Step) error { return e.setupStep(s, offline) })
	return out.String(), err
}

var everything = []string{"git", "gcc", "chromium", "nginx", "initdb", "wrk", "taskset",
	"python3"}

func TestSetupWithEverythingInstallsNothing(t *testing.T) {
	calls := machine(t, append([]string{"apt-get"}, everything...)...)
	out, err := setUp(t, false)
	if err != nil || strings.Contains(out, "missing  git") {
		t.Errorf("setup = %v, want nil; it printed\n%s", err, out)
	}
	if text, _ := os.ReadFile(calls); strings.Contains(string(text), "apt-get") {
		t.Errorf("setup called apt-get:\n%s", text)
	}
}

func TestSetupOfflineTouchesNothing(t *testing.T) {
	calls := machine(t, "apt-get", "python3", "git", "gcc")
	out, err := setUp(t, true)
	if err != nil || !strings.Contains(out, "missing  nginx     streams behind a proxy") {
		t.Errorf("setup --offline = %v, want nil and nginx missing in\n%s", err, out)
	}
	if text, _ := os.ReadFile(calls); len(text) > 0 {
		t.Errorf("setup --offline called\n%s", text)
	}
}

func TestSetupOfflineCannotDoWithoutACompiler(t *testing.T) {
	machine(t, "git")
	if out, err := setUp(t, true); err == nil || !strings.Contains(err.Error(), "gcc is missing") {
		t.Errorf("setup --offline = %v, want gcc missing; it printed\n%s", err, out)
	}
}

func TestSetupSaysTheCommandsWhereItMayNotInstall(t *testing.T) {
	calls := machine(t, "git", "gcc", "python3") // no apt-get: not Debian
	_, err := setUp(t, false)
	want := "sudo apt-get install -y --no-install-recommends chromium nginx-light " +
		"postgresql wrk util-linux"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("setup = %v, want %q in it", err, want)
	}
	if text, _ := os.ReadFile(calls); len(text) > 0 {
		t.Errorf("setup did something before it failed:\n%s", text)
	}
}

func TestSetupInstallsAsRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("not root")
	}
	calls := machine(t, "apt-get", "git", "gcc", "python3", "nginx", "initdb", "wrk", "taskset")
	if out, err := setUp(t, false); err != nil {
		t.Errorf("setup = %v, want nil: browser tests can be skipped\n%s", err, out)
	}
	text, _ := os.ReadFile(calls)
	want := "apt-get update\napt-get install -y --no-install-recommends chromium\n"
	if !strings.HasPrefix(string(text), want) {
		t.Errorf("setup called\n%s\nwant first\n%s", text, want)
	}
}

func TestSetupMakesTheVenvOnce(t *testing.T) {
	calls := machine(t, append([]string{"apt-get"}, everything...)...)
	for range 2 {
		if out, err := setUp(t, false); err != nil || !strings.Contains(out, "have     venv ") {
			t.Fatalf("setup = %v, want nil and a venv; it printed\n%s", err, out)
		}
	}
	text, _ := os.ReadFile(calls)
	if n := strings.Count(string(text), "python3 -m venv"); n != 1 {
		t.Errorf("setup twice made the venv %d times, want once:\n%s", n, text)
	}
}
