// SPDX-License-Identifier: MIT

package interpreter

import (
	"os"
	"path/filepath"
	"testing"
)

func TestLibpythonIsTheFirstThatIsThere(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "libpython3.12.so")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	p := &Python{Libraries: []string{filepath.Join(dir, "libpython3.12.so.1.0"), dir, path}}
	if got, err := p.Libpython(); err != nil || got != path {
		t.Errorf("Libpython = %q, %v; want %q", got, err, path)
	}
}

func TestMissingLibpythonNamesItsCure(t *testing.T) {
	p := &Python{Origin: "--python", Executable: "/opt/py/bin/python", BasePrefix: "/opt/py",
		Major: 3, Minor: 12, LibraryName: "libpython3.12.a"}
	const want = `--python "/opt/py/bin/python": it has no shared library (libpython3.12.so), which ` +
		"embedding needs; use a Python that was configured with --enable-shared"
	if got, err := p.Libpython(); err == nil || err.Error() != want {
		t.Errorf("Libpython = %q, %v; want %s", got, err, want)
	}
	for _, c := range []struct{ prefix, release, want string }{
		{"/usr", "etc/debian_version", "install it: apt install libpython3.12"},
		{"/usr", "etc/redhat-release", "install it: dnf install python3.12-libs"},
		{"/usr", "etc/alpine-release", "install it: apk add python3-dev"},
		{"/usr", "", "use a Python that was configured with --enable-shared"},
		{"/usr/local", "etc/debian_version", "use a Python that was configured with --enable-shared"},
		{"/home/u/.pyenv/versions/3.12.1", "etc/debian_version", "build it again with one: " +
			"PYTHON_CONFIGURE_OPTS=--enable-shared pyenv install --force 3.12.1"},
	} {
		root := t.TempDir()
		if c.release != "" {
			file := filepath.Join(root, c.release)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		p.BasePrefix = c.prefix
		if got := libpythonCure(p, root); got != c.want {
			t.Errorf("libpythonCure(%s with %q) = %q; want %q", c.prefix, c.release, got, c.want)
		}
	}
}

func TestPythonWithoutCtypesCannotHost(t *testing.T) {
	p := &Python{Origin: "--python", Executable: "/p/python", Ctypes: true}
	if err := p.Hosted(); err != nil {
		t.Errorf("Hosted with ctypes = %v; want nil", err)
	}
	for prefix, cure := range map[string]string{
		"/p": "install the whole standard library of this Python, or build it with libffi",
		"/h/.pyenv/versions/3.9.1": "install libffi with its headers (libffi-dev), then build it " +
			"again: pyenv install --force 3.9.1",
	} {
		p.Ctypes, p.BasePrefix = false, prefix
		want := `--python "/p/python": its module ctypes does not work, by which the engine is ` +
			"loaded; " + cure
		if err := p.Hosted(); err == nil || err.Error() != want {
			t.Errorf("Hosted without ctypes = %v; want %s", err, want)
		}
	}
}
