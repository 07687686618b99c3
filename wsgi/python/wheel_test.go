// SPDX-License-Identifier: MIT

//go:build linux

package python

import (
	"embed"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// wheelFiles is the package that the wheel installs, but for the command.
//
//go:embed wheel/m0serve/*.py
var wheelFiles embed.FS

// installed writes the package into a folder as pip would, with a command that
// says how it was started, and returns the folder and the interpreter.
func installed(t *testing.T, command string) (dir, python string) {
	t.Helper()
	out, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		t.Skip("SKIPPED: no python3 on PATH")
	}
	dir = t.TempDir()
	write := func(name, text string, mode os.FileMode) {
		path := filepath.Join(dir, "m0serve", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"__init__.py", "__main__.py"} {
		text, err := wheelFiles.ReadFile("wheel/m0serve/" + name)
		if err != nil {
			t.Fatal(err)
		}
		write(name, string(text), 0o666)
	}
	if command != "" {
		write("bin/m0serve", "#!/bin/sh\n"+command, 0o777)
	}
	return dir, strings.TrimSpace(string(out))
}

// TestLauncherBecomesTheCommand: the command is the process that was started, with
// its arguments, the default action for signals, and the interpreter's name.
func TestLauncherBecomesTheCommand(t *testing.T) {
	dir, python := installed(t, `echo "pid=$$"
for a in "$@"; do echo "arg=$a"; done
echo "python=$M0_SERVE_PYTHON"
grep SigIgn /proc/$$/status
exit 7
`)
	for _, start := range [][]string{
		{"-m", "m0serve", "--port", "0", "a b"},
		{"-c", "import sys; from m0serve import main; sys.exit(main())", "--port", "0", "a b"},
	} {
		cmd := exec.Command(python, start...)
		cmd.Dir = dir
		out, err := cmd.Output()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 7 {
			t.Errorf("%q = %v, want the command's status 7\n%s", start, err, out)
			continue
		}
		for _, want := range []string{
			"pid=" + strconv.Itoa(cmd.ProcessState.Pid()) + "\narg=--port\narg=0\narg=a b\n",
			"python=" + python + "\n",
		} {
			if !strings.Contains(string(out), want) {
				t.Errorf("%q printed\n%swant %q in it", start, out, want)
			}
		}
		if got := ignored(t, string(out)) & (1<<(syscall.SIGPIPE-1) | 1<<(syscall.SIGXFSZ-1)); got != 0 {
			t.Errorf("%q ignores the signals %#x, want none of what Python ignores", start, got)
		}
	}
}

// ignored reads the set of ignored signals in a process's status.
func ignored(t *testing.T, status string) uint64 {
	t.Helper()
	_, hex, found := strings.Cut(status, "SigIgn:\t")
	hex, _, _ = strings.Cut(hex, "\n")
	set, err := strconv.ParseUint(hex, 16, 64)
	if !found || err != nil {
		t.Fatalf("no SigIgn in %q: %v", status, err)
	}
	return set
}

// TestLauncherWithoutCommand: a broken installation is named, with its cure.
func TestLauncherWithoutCommand(t *testing.T) {
	dir, python := installed(t, "")
	cmd := exec.Command(python, "-m", "m0serve", "--version")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	want := "m0serve: " + filepath.Join(dir, "m0serve/bin/m0serve") + ": No such file or directory; " +
		"install it again: " + python + " -m pip install --force-reinstall m0serve\n"
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 78 || string(out) != want {
		t.Errorf("python -m m0serve = %v, %q; want status 78, %q", err, out, want)
	}
}
