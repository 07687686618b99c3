// SPDX-License-Identifier: MIT

package interpreter

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Libpython is the interpreter as a shared library, for serving in embedded
// mode. Many Pythons are static executables without one; the error is then an
// *Error that names what to install.
func (p *Python) Libpython() (string, error) {
	for _, path := range p.Libraries {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, nil
		}
	}
	name := p.LibraryName
	if name == "" || strings.HasSuffix(name, ".a") {
		name = fmt.Sprintf("libpython%d.%d.so", p.Major, p.Minor)
	}
	return "", &Error{Origin: p.Origin, Path: p.Executable,
		Reason: "it has no shared library (" + name + "), which embedding needs",
		Cure:   libpythonCure(p, "/")}
}

// libpythonCure says how the shared library comes to this interpreter; root is
// the file system that tells the distribution.
func libpythonCure(p *Python, root string) string {
	version := fmt.Sprintf("%d.%d", p.Major, p.Minor)
	has := func(path string) bool {
		_, err := os.Stat(filepath.Join(root, path))
		return err == nil
	}
	switch {
	case isPyenv(p.BasePrefix):
		return "build it again with one: PYTHON_CONFIGURE_OPTS=--enable-shared " +
			"pyenv install --force " + filepath.Base(p.BasePrefix)
	case p.BasePrefix == "/usr" && has("etc/debian_version"):
		return "install it: apt install libpython" + version
	case p.BasePrefix == "/usr" && has("etc/redhat-release"):
		return "install it: dnf install python" + version + "-libs"
	case p.BasePrefix == "/usr" && has("etc/alpine-release"):
		return "install it: apk add python3-dev"
	}
	return "use a Python that was configured with --enable-shared"
}

// isPyenv tells whether the installation is one of pyenv's.
func isPyenv(prefix string) bool {
	versions := filepath.Dir(prefix)
	return filepath.Base(versions) == "versions" &&
		strings.Contains(filepath.Base(filepath.Dir(versions)), "pyenv")
}
