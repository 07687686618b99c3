// SPDX-License-Identifier: MIT

//go:build unix

package interpreter

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A fake answers like an interpreter of these properties.
type fake struct {
	implementation, version string
	major, minor, bits      int
	prefix, base            string
	ctypes                  bool
}

// good is a fake that Find takes.
func good(prefix string) fake {
	return fake{"CPython", "3.12.1", 3, 12, 64, prefix, prefix, true}
}

// write makes an executable that answers as f says; before is what it does first.
func (f fake) write(t *testing.T, path, before string) {
	t.Helper()
	writeScript(t, path, before+fmt.Sprintf(`echo '%s {"Executable": %q, "Implementation": %q, '\
'"Version": %q, "Major": %d, "Minor": %d, "Prefix": %q, "BasePrefix": %q, '\
'"Bits": %d, "Ctypes": %v}'
`, marker, path, f.implementation, f.version, f.major, f.minor, f.prefix, f.base, f.bits, f.ctypes))
}

func writeScript(t *testing.T, path, body string) {
	t.Helper()
	writeFile(t, path, "#!/bin/sh\n"+body)
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// fakeVenv makes a directory that looks like a virtual environment.
func fakeVenv(t *testing.T, dir, version string) {
	t.Helper()
	f := good(dir)
	f.base = "/base"
	f.write(t, filepath.Join(dir, "bin/python"), "")
	writeFile(t, filepath.Join(dir, "pyvenv.cfg"), "home = /base/bin\nversion = "+version+"\n")
}

func find(t *testing.T, c Config) (*Python, error) {
	t.Helper()
	if c.Environ == nil {
		c.Environ = []string{"PATH=/bin:/usr/bin"}
	}
	return Find(context.Background(), c)
}

// TestOrder takes the places away one by one, the best first.
func TestOrder(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	good("/x").write(t, at("named"), "")
	for _, venv := range []string{"flag", "activated", "own", "work/.venv"} {
		fakeVenv(t, at(venv), "3.12.1")
	}
	good("/y").write(t, at("path/python3"), "")
	good("/usr").write(t, at("wheel/python3.12"), "")
	c := Config{Python: at("named"), Venv: at("flag"), Dir: at("work"),
		Command: at("own/bin/m0serve"), Own: at("wheel/python3.12"),
		Environ: []string{"VIRTUAL_ENV=" + at("activated"), "PATH=" + at("path") + ":/bin"}}
	for _, step := range []struct {
		origin, path string
		drop         func()
	}{
		{"--python", at("named"), func() { c.Python = "" }},
		{"--venv", at("flag/bin/python"), func() { c.Venv = "" }},
		{"VIRTUAL_ENV", at("activated/bin/python"), func() { c.Environ = c.Environ[1:] }},
		{"the environment of m0serve", at("wheel/python3.12"), func() { c.Own = "" }},
		{"the environment of m0serve", at("own/bin/python"), func() { c.Command = at("bin/m0serve") }},
		{"./.venv", at("work/.venv/bin/python"), func() { c.Dir = dir }},
		{"python3 on PATH", at("path/python3"), func() {}},
	} {
		want := c
		if step.origin == "--python" {
			want.Venv = "" // it belongs to none
		}
		p, err := find(t, want)
		if err != nil || p.Origin != step.origin || p.Executable != step.path {
			t.Errorf("Find = %v, %v; want %s from %s", p, err, step.path, step.origin)
		}
		step.drop()
	}
}

func TestFirstThatWorksOnPathIsTaken(t *testing.T) {
	dir := t.TempDir()
	writeScript(t, filepath.Join(dir, "a/python3"), "echo 'shim: no version is set' >&2; exit 127\n")
	f := good("/old")
	f.version, f.minor = "3.8.18", 8
	f.write(t, filepath.Join(dir, "b/python3"), "")
	good("/x").write(t, filepath.Join(dir, "c/python3"), "echo noise; echo more >&2\n")
	path := "PATH=" + strings.Join([]string{".", dir + "/a", dir + "/b", dir + "/c", "/bin"}, ":")
	p, err := find(t, Config{Environ: []string{path}})
	if err != nil || p.Executable != filepath.Join(dir, "c/python3") {
		t.Errorf("Find = %v, %v; want the third", p, err)
	}
	_, err = find(t, Config{Environ: []string{"PATH=" + dir + "/a"}})
	want := fmt.Sprintf("python3 on PATH %q: it does not run: shim: no version is set; "+
		"name another one with --python", dir+"/a/python3")
	if err == nil || err.Error() != want {
		t.Errorf("Find with the first alone = %v; want %s", err, want)
	}
}

// TestRefusals has the whole text of what an operator reads.
func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	make := func(name string, change func(*fake)) string {
		f := good("/x")
		change(&f)
		f.write(t, at(name), "")
		return at(name)
	}
	fakeVenv(t, at("upgraded"), "3.11.2")
	fakeVenv(t, at("good"), "3.12.1.final.0")
	writeFile(t, at("gone/pyvenv.cfg"), "version = 3.9\n")
	if err := os.MkdirAll(at("gone/bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/nowhere/python3.9", at("gone/bin/python")); err != nil {
		t.Fatal(err)
	}
	writeFile(t, at("empty/pyvenv.cfg"), "")
	writeFile(t, at("plain/x"), "")
	writeScript(t, at("mute"), "")
	writeScript(t, at("fails"), "exit 3\n")
	const old = "m0serve needs 3.9 or newer: name one with --python, or make the virtual " +
		"environment anew with it"
	anew := func(name string) string {
		return "make it anew: python3 -m venv --clear " + at(name) + ", and install its packages again"
	}
	for _, c := range []struct {
		config Config
		path   string
		want   string
	}{
		{Config{Python: make("pypy", func(f *fake) { f.implementation = "PyPy" })}, at("pypy"),
			"it is PyPy 3.12.1; m0serve needs CPython 3.9 or newer"},
		{Config{Python: make("old", func(f *fake) { f.version, f.minor = "3.8.18", 8 })}, at("old"),
			"it is Python 3.8.18; " + old},
		{Config{Python: make("two", func(f *fake) { f.version, f.major = "2.7.18", 2 })}, at("two"),
			"it is Python 2.7.18; " + old},
		{Config{Python: make("bits", func(f *fake) { f.bits = 16 })}, at("bits"),
			"it is built for 16 bits, m0serve for 64; install a Python for this machine"},
		{Config{Python: at("nope")}, at("nope"),
			"no such file or directory; name an interpreter that is there"},
		{Config{Python: dir}, dir, "it is a directory; for a virtual environment there is --venv; " +
			"name an interpreter that is there"},
		{Config{Python: "no-such-python"}, "no-such-python", "there is none on PATH; name one " +
			"that is there, or give its whole path"},
		{Config{Python: at("plain/x")}, at("plain/x"), "it does not run: permission denied; " +
			"name another one with --python"},
		{Config{Python: at("mute")}, at("mute"),
			"it does not answer like a Python; name an interpreter"},
		{Config{Python: at("fails")}, at("fails"),
			"it does not run: exit status 3; name another one with --python"},
		{Config{Venv: at("nope")}, at("nope"),
			"there is no such directory; make it with: python3 -m venv " + at("nope")},
		{Config{Venv: at("mute")}, at("mute"), "it is a file; name the directory of a virtual " +
			"environment; for an interpreter there is --python"},
		{Config{Venv: at("plain")}, at("plain"), "it has no pyvenv.cfg, so it is no virtual " +
			"environment; make one with: python3 -m venv " + at("plain")},
		{Config{Venv: at("gone")}, at("gone"), at("gone/bin/python") +
			" points to /nowhere/python3.9, which is gone; " + anew("gone")},
		{Config{Venv: at("empty")}, at("empty"),
			"it has no interpreter (" + at("empty/bin/python") + "); " + anew("empty")},
		{Config{Venv: at("upgraded")}, at("upgraded"), "it was made by Python 3.11.2 and its " +
			"interpreter is now 3.12.1, which does not see its packages; make it anew: " +
			at("upgraded/bin/python") + " -m venv --clear " + at("upgraded") +
			", and install its packages again"},
		{Config{Python: at("good/bin/python"), Venv: at("upgraded")}, at("good/bin/python"),
			"it is not the interpreter of --venv " + at("upgraded") + "; leave one of the two out"},
	} {
		p, err := find(t, c.config)
		origin := "--python"
		if c.config.Python == "" {
			origin = "--venv"
		}
		want := fmt.Sprintf("%s %q: %s", origin, c.path, c.want)
		var e *Error
		if p != nil || !errors.As(err, &e) || err.Error() != want {
			t.Errorf("Find(%+v) = %v,\n  %v\nwant\n  %s", c.config, p, err, want)
		}
	}
}

func TestStaleActivationIsNamed(t *testing.T) {
	_, err := find(t, Config{Environ: []string{"VIRTUAL_ENV=/nowhere"}})
	const want = `VIRTUAL_ENV "/nowhere": there is no such directory; leave it (deactivate), ` +
		"or make it with: python3 -m venv /nowhere"
	if err == nil || err.Error() != want {
		t.Errorf("Find = %v; want %s", err, want)
	}
}

func TestNothingOnPathIsRefused(t *testing.T) {
	_, err := find(t, Config{Environ: []string{"PATH=" + t.TempDir()}})
	const want = "python3: there is none on PATH and no virtual environment; install " +
		"Python 3.9 or newer, or name one with --python or --venv"
	if err == nil || err.Error() != want {
		t.Errorf("Find = %v; want %s", err, want)
	}
}

func TestInterpreterThatHangsIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "python")
	writeScript(t, path, "exec sleep 300\n")
	began := time.Now()
	_, err := find(t, Config{Python: path, Timeout: 200 * time.Millisecond})
	if err == nil || !strings.Contains(err.Error(), "it did not start within 200ms; run it by hand") {
		t.Errorf("Find = %v; want a bound", err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("Find took %v; want its bound of 200 ms", took)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Find(ctx, Config{Python: path}); !errors.Is(err, context.Canceled) {
		t.Errorf("Find with a cancelled context = %v; want that", err)
	}
}

// realPython is the python3 on PATH, which every machine with these tests has.
func realPython(t *testing.T) *Python {
	t.Helper()
	c := Config{Dir: t.TempDir()}
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "VIRTUAL_ENV=") {
			c.Environ = append(c.Environ, entry)
		}
	}
	p, err := Find(context.Background(), c)
	if err != nil {
		t.Fatalf("Find on PATH = %v; these tests need a python3", err)
	}
	return p
}

func TestRealInterpreterSaysWhatItIs(t *testing.T) {
	p := realPython(t)
	out, err := exec.Command("python3", "-c", "import sys, platform\nprint(sys.executable, "+
		"platform.python_version(), sys.prefix, sys.base_prefix, sep='|')").Output()
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join([]string{p.Executable, p.Version, p.Prefix, p.BasePrefix}, "|")
	if want := strings.TrimSpace(string(out)); got != want {
		t.Errorf("Find = %s; python3 says %s", got, want)
	}
	if !p.Ctypes || p.Hosted() != nil || p.ABI == "" || p.Bits != 64 || len(p.Libraries) == 0 {
		t.Errorf("Find = %+v; want a whole CPython", p)
	}
}

func TestVirtualEnvironmentIsItsOwnInterpreter(t *testing.T) {
	base := realPython(t)
	venv := filepath.Join(t.TempDir(), "venv")
	out, err := exec.Command(base.Executable, "-m", "venv", "--without-pip", venv).CombinedOutput()
	if err != nil {
		t.Skipf("SKIPPED: this Python makes no virtual environment: %s", out)
	}
	p, err := find(t, Config{Venv: venv})
	if err != nil || p.Executable != filepath.Join(venv, "bin/python") || p.Venv() != venv ||
		p.BasePrefix != base.BasePrefix || p.VenvVersion != base.Version {
		t.Errorf("Find(%s) = %+v, %v; want the interpreter of the environment", venv, p, err)
	}
}

// TestModulesOfTheApplicationAreNotImported: an application has a platform.py
// and a json.py beside it, and finding its Python runs neither.
func TestModulesOfTheApplicationAreNotImported(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"json.py", "platform.py", "sysconfig.py", "struct.py"} {
		writeFile(t, filepath.Join(dir, name), "raise SystemExit('imported '+__file__)\n")
	}
	p, err := find(t, Config{Python: realPython(t).Executable, Dir: dir})
	if err != nil {
		t.Errorf("Find beside json.py = %v, %v; want the interpreter", p, err)
	}
}

func TestPackagesAreNamedWithTheirVersions(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "Flask-9.8.7.dist-info/METADATA"),
		"Metadata-Version: 2.1\nName: Flask\nVersion: 9.8.7\n")
	p, err := find(t, Config{Python: realPython(t).Executable,
		Environ: []string{"PYTHONPATH=" + dir}})
	if err != nil || p.Packages["flask"] != "9.8.7" {
		t.Errorf("Find = packages %v, %v; want flask 9.8.7", p.Packages, err)
	}
}

// TestEveryInterpreterOfTheMachine looks at what pyenv and the distribution have.
func TestEveryInterpreterOfTheMachine(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: -short")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	list, err := filepath.Glob(filepath.Join(home, ".pyenv/versions/*/bin/python"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(list, "/usr/bin/python3") {
		if !isFile(path) {
			continue
		}
		p, err := find(t, Config{Python: path})
		text := fmt.Sprint(p, err)
		version := filepath.Base(filepath.Dir(filepath.Dir(path)))
		if version != "usr" && !strings.Contains(text, version) {
			t.Errorf("Find(%s) = %s; want %s in it", path, text, version)
		}
		if p == nil && !strings.Contains(text, "needs 3.9 or newer") {
			t.Errorf("Find(%s) = %s; want it, or refused for its age", path, text)
		}
	}
}
