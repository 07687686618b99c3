// SPDX-License-Identifier: MIT

//go:build linux

package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"m0serve.dev/tools/internal/console"
	"m0serve.dev/tools/internal/venv"
)

// wheelWait bounds each wait of this file.
const wheelWait = time.Minute

// TestWheelInstalled does what a user does: pip install in a virtual environment,
// startproject, m0serve. The interpreter is another than that of PATH where there is
// one, so that nothing but the start script can have named it.
func TestWheelInstalled(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: -short")
	}
	if find([]string{"gcc"}) == "" {
		t.Skip("SKIPPED: no gcc")
	}
	e := here(t)
	shared, err := venv.Of(e.top)
	if err == nil {
		err = shared.Check(t.Context())
	}
	if err != nil {
		t.Skip("SKIPPED: no Django; go run ./tools setup makes the environment: ", err)
	}
	file := buildTwice(t, e)
	u := newUser(t, filepath.Join(shared.Dir, "lib"))
	u.run(u.bin("python"), "-m", "pip", "install", "--no-index", "--no-deps",
		"--disable-pip-version-check", file)
	u.run(u.bin("python"), "-m", "django", "startproject", "mysite", ".")

	version := strings.Split(filepath.Base(file), "-")[1]
	if got := u.run(u.bin("python"), "-m", "m0serve", "--version"); got != "m0serve "+version+"\n" {
		t.Errorf("python -m m0serve --version = %q, want %s", got, version)
	}
	report := u.run(u.bin("m0serve"), "mysite.wsgi", "--port", "0", "--doctor")
	for _, want := range []string{u.bin("python"), "the environment of m0serve",
		"the engine is loaded into this Python"} {
		if !strings.Contains(report, want) {
			t.Errorf("m0serve --doctor says nothing of %q:\n%s", want, report)
		}
	}
	u.serve()

	u.run(u.bin("python"), "-m", "pip", "uninstall", "--yes", "--disable-pip-version-check",
		"m0serve")
	_ = filepath.WalkDir(u.venv, func(path string, d fs.DirEntry, err error) error {
		if strings.Contains(strings.TrimPrefix(path, u.venv), "m0serve") {
			t.Errorf("pip uninstall left %s", path)
		}
		return err
	})
}

// buildTwice builds the wheel in two folders, wants the same bytes, and returns one.
func buildTwice(t *testing.T, e *env) string {
	t.Helper()
	var files [2]string
	var sums [2][sha256.Size]byte
	for i := range files {
		var out bytes.Buffer
		e.con = console.New(&out)
		err := e.con.Step("wheel", "x", func(s *console.Step) (err error) {
			files[i], err = e.wheelStep(s, t.TempDir())
			return err
		})
		if err != nil {
			t.Fatalf("tools wheel = %v\n%s", err, &out)
		}
		text, err := os.ReadFile(files[i])
		if err != nil {
			t.Fatal(err)
		}
		sums[i] = sha256.Sum256(text)
	}
	if sums[0] != sums[1] {
		t.Errorf("two builds = %x and %x, want the same wheel", sums[0], sums[1])
	}
	return files[0]
}

// A user works in a folder with an environment of its own.
type user struct {
	t         *testing.T
	venv, dir string
	env       []string
}

// newUser makes both. Frameworks are those below lib, the environment that tests
// share; those that are used here are Python alone and fit every version.
func newUser(t *testing.T, lib string) *user {
	t.Helper()
	u := &user{t: t, venv: filepath.Join(t.TempDir(), "venv"), dir: t.TempDir()}
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		switch {
		case name == "VIRTUAL_ENV", name == "PYTHONPATH", name == "PORT":
		case strings.HasPrefix(name, "M0_"), strings.HasPrefix(name, "PIP_"):
		default:
			u.env = append(u.env, entry)
		}
	}
	var tried []string
	for _, python := range interpreters(t) {
		out, err := exec.Command(python, "-m", "venv", "--clear", u.venv).CombinedOutput()
		if err == nil {
			break
		}
		tried = append(tried, fmt.Sprintf("%s: %v\n%s", python, err, out))
		_ = os.RemoveAll(u.venv)
	}
	packages, _ := filepath.Glob(filepath.Join(lib, "python3*", "site-packages"))
	own, _ := filepath.Glob(filepath.Join(u.venv, "lib", "python3*", "site-packages"))
	if len(packages) != 1 || len(own) != 1 {
		t.Fatalf("packages in %q and %q, want one folder each; interpreters that failed: %s",
			packages, own, tried)
	}
	write(t, filepath.Join(own[0], "shared.pth"), packages[0]+"\n")
	return u
}

// interpreters lists those that Django runs on, that of PATH last. Django 5 wants 3.10.
func interpreters(t *testing.T) []string {
	t.Helper()
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	list, _ := filepath.Glob(filepath.Join(home, ".pyenv/versions/3.*/bin/python3"))
	const old = "import sys; sys.exit(sys.version_info < (3, 10))"
	own, _ := exec.Command("python3", "-c", "import sys; print(sys.version)").Output()
	var others, same []string
	for _, python := range append(list, "/usr/bin/python3", "python3") {
		out, err := exec.Command(python, "-c", "import sys; print(sys.version)").Output()
		switch {
		case err != nil || exec.Command(python, "-c", old).Run() != nil:
		case bytes.Equal(out, own):
			same = append(same, python)
		default:
			others = append(others, python)
		}
	}
	return append(others, same...)
}

func (u *user) bin(name string) string { return filepath.Join(u.venv, "bin", name) }

func (u *user) command(args ...string) *exec.Cmd {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Env = u.dir, u.env
	return cmd
}

// run runs a command that has to end well, and returns what it printed.
func (u *user) run(args ...string) string {
	u.t.Helper()
	out, err := u.command(args...).CombinedOutput()
	if err != nil {
		u.t.Fatalf("%q = %v, want status 0\n%s", args, err, out)
	}
	return string(out)
}

var wheelAddress = regexp.MustCompile(`listening on (http://127\.0\.0\.1:\d+)`)

// serve starts the project by one word, as the README says, looks at its page, and
// asks it to end.
func (u *user) serve() {
	t := u.t
	t.Helper()
	cmd := u.command(u.bin("m0serve"), "mysite.wsgi", "--port", "0")
	pipe, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	ended := time.AfterFunc(wheelWait, func() { _ = cmd.Process.Kill() })
	defer ended.Stop()
	var log strings.Builder
	for lines := bufio.NewScanner(pipe); lines.Scan(); {
		fmt.Fprintln(&log, lines.Text())
		if m := wheelAddress.FindStringSubmatch(lines.Text()); m != nil {
			u.look(m[1])
			_ = cmd.Process.Signal(syscall.SIGTERM)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("m0serve mysite.wsgi, TERM = %v, want status 0\n%s", err, &log)
	}
	if !strings.Contains(log.String(), u.bin("python")) {
		t.Errorf("m0serve mysite.wsgi does not serve with %s:\n%s", u.bin("python"), &log)
	}
}

// look reads the page of a new project, and one that Django finds itself.
func (u *user) look(address string) {
	client := http.Client{Timeout: wheelWait}
	for path, want := range map[string]string{
		"/":             "The install worked successfully!",
		"/admin/login/": "Django administration",
	} {
		r, err := client.Get(address + path)
		if err != nil {
			u.t.Errorf("GET %s = %v", path, err)
			continue
		}
		body, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil || r.StatusCode != 200 || !bytes.Contains(body, []byte(want)) {
			u.t.Errorf("GET %s = %d, %v, want 200 with %q in\n%s", path, r.StatusCode, err, want, body)
		}
	}
}
