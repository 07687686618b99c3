// SPDX-License-Identifier: MIT

//go:build linux

package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"m0serve.dev/wsgi/internal/interpreter"
)

// testWait bounds each wait of these tests.
const testWait = 30 * time.Second

// buildCommand builds the command alone, without its library, and returns its file.
func buildCommand(t *testing.T, cgo string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "m0serve")
	goBuild(t, cgo, "-o", file, "./cmd/m0serve")
	return file
}

func goBuild(t *testing.T, cgo string, args ...string) {
	t.Helper()
	cmd := exec.Command("go", append([]string{"build"}, args...)...)
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "CGO_ENABLED="+cgo)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("CGO_ENABLED=%s %q = %v\n%s", cgo, cmd.Args, err, out)
	}
}

// environment is that of this process without what would choose a Python or a port.
func environment() []string {
	var env []string
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if name != "VIRTUAL_ENV" && name != "PORT" && !strings.HasPrefix(name, "M0_") {
			env = append(env, entry)
		}
	}
	return env
}

// TestWithoutCgo: a machine without a C compiler builds the module, to a command that
// says what it lacks before it binds anything.
func TestWithoutCgo(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: -short: it builds")
	}
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("SKIPPED: no python3 on PATH")
	}
	goBuild(t, "0", "./...")
	command := buildCommand(t, "0")
	dir := t.TempDir()
	writeApp(t, dir)
	for _, tt := range []struct {
		flag, want string
	}{
		{"--port=0", "m0serve: this command was built without cgo and has no libm0serve.so " +
			"beside it: install the wheel, or build it with CGO_ENABLED=1\n"},
		{"--doctor", "none: this command was built without cgo"},
	} {
		cmd := exec.Command(command, "app:app", tt.flag)
		cmd.Dir, cmd.Env = dir, environment()
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 78 || !strings.Contains(string(out), tt.want) {
			t.Errorf("m0serve app:app %s = %v, want status 78 with %q in\n%s", tt.flag, err, tt.want, out)
		}
		if strings.Contains(string(out), "listening") {
			t.Errorf("m0serve app:app %s listened:\n%s", tt.flag, out)
		}
	}
}

// writeApp writes an application that says what runs it.
func writeApp(t *testing.T, dir string) {
	t.Helper()
	const text = `import json, os, sys, threading
def app(environ, start_response):
    start_response("200 OK", [("Content-Type", "application/json")])
    return [json.dumps({"process": os.readlink("/proc/self/exe"), "executable": sys.executable,
        "prefix": sys.prefix, "main": threading.current_thread() is threading.main_thread(),
        "path": environ["PATH_INFO"]}).encode()]
`
	if err := os.WriteFile(filepath.Join(dir, "app.py"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestEmbedded: the command without its library serves all the same, with the
// interpreter inside its own process.
func TestEmbedded(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: -short: it builds")
	}
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("SKIPPED: no gcc")
	}
	python := sharedPython(t)
	command := buildCommand(t, "1")
	dir := t.TempDir()
	writeApp(t, dir)
	cmd := exec.Command(command, "app:app", "--port=0", "--python="+python.Executable)
	cmd.Dir, cmd.Env = dir, environment()
	pipe, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer time.AfterFunc(testWait, func() { _ = cmd.Process.Kill() }).Stop()
	var log strings.Builder
	var got struct {
		Process, Executable, Prefix, Path string
		Main                              bool
	}
	address := regexp.MustCompile(`http://127\.0\.0\.1:\d+`)
	for lines := bufio.NewScanner(pipe); lines.Scan(); {
		fmt.Fprintln(&log, lines.Text())
		if at := address.FindString(lines.Text()); at != "" {
			err = getJSON(at+"/a%20b", &got)
			_ = cmd.Process.Signal(syscall.SIGTERM)
		}
	}
	if wrong := cmd.Wait(); err != nil || wrong != nil {
		t.Fatalf("GET = %v; m0serve, TERM = %v, want status 0\n%s", err, wrong, &log)
	}
	if got.Process != command || got.Executable != python.Executable || got.Prefix != python.Prefix {
		t.Errorf("application runs in %s with %s of %s; want %s with %s of %s", got.Process,
			got.Executable, got.Prefix, command, python.Executable, python.Prefix)
	}
	if !got.Main || got.Path != "/a b" {
		t.Errorf("request %q on the main thread: %v; want \"/a b\", true", got.Path, got.Main)
	}
}

func getJSON(url string, v any) error {
	client := http.Client{Timeout: testWait}
	r, err := client.Get(url)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	return json.NewDecoder(r.Body).Decode(v)
}

// sharedPython is a Python of this machine that has a shared library.
func sharedPython(t *testing.T) *interpreter.Python {
	t.Helper()
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	list, _ := filepath.Glob(filepath.Join(home, ".pyenv/versions/3.*/bin/python3"))
	for _, path := range append([]string{"python3", "/usr/bin/python3"}, list...) {
		p, err := interpreter.Find(context.Background(),
			interpreter.Config{Python: path, Environ: environment()})
		if err != nil {
			continue
		}
		if _, err := p.Libpython(); err == nil {
			return p
		}
	}
	t.Skip("SKIPPED: no Python here has a shared library")
	return nil
}
