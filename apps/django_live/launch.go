// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

const (
	// command is the package of m0serve.
	command = "m0serve.dev/wsgi/cmd/m0serve"
	// hasDjango ends with 0 where there is one that knows the settings of the project.
	hasDjango = "import django, sys; sys.exit(django.VERSION < (5, 1))"
)

// launch becomes m0serve, and returns only why it could not.
func launch(args []string) error {
	if runtime.GOOS != "linux" {
		return fmt.Errorf("m0serve serves Python on Linux, not yet on %s", runtime.GOOS)
	}
	project, err := folder("m0serve.dev/apps/django_live")
	if err != nil {
		return err
	}
	python, err := findPython(project)
	if err != nil {
		return err
	}
	m0serve, err := build()
	if err != nil {
		return err
	}
	publisher, err := folder("m0serve.dev/wsgi/python")
	if err != nil {
		return err
	}
	if err := enter(project, publisher, filepath.Dir(m0serve)); err != nil {
		return err
	}
	say("migrating the database")
	if err := run(python, "manage.py", "migrate", "--verbosity=0"); err != nil {
		return err
	}
	argv := append([]string{m0serve, "--python", python, "--workers", "2", "--realtime",
		"--static", "/static=board/static"}, append(args, "live.wsgi")...)
	say("starting  " + strings.Join(argv, " "))
	say("open the address below in two tabs; from another shell, publish to them:")
	fmt.Printf("\n    cd %s\n    export PYTHONPATH=%s\n    %s manage.py longjob\n"+
		"    %[3]s -m m0pub board 'Tea is ready' --event notice\n\n", project, publisher, python)
	return fmt.Errorf("exec %s: %w", m0serve, syscall.Exec(m0serve, argv, os.Environ()))
}

// enter makes this process what the project runs in: its folder, m0pub on Python's path, and
// compiled Python out of the checkout.
func enter(project, publisher, cache string) error {
	path := publisher
	if rest := os.Getenv("PYTHONPATH"); rest != "" {
		path += string(os.PathListSeparator) + rest
	}
	if err := os.Setenv("PYTHONPATH", path); err != nil {
		return err
	}
	if err := os.Setenv("PYTHONPYCACHEPREFIX", filepath.Join(cache, "pycache")); err != nil {
		return err
	}
	return os.Chdir(project)
}

func say(line string) { fmt.Println("django_live:", line) }

// folder is where a package of this checkout lies.
func folder(pkg string) (string, error) {
	out, err := exec.Command("go", "list", "-f", "{{.Dir}}", pkg).Output()
	if err != nil {
		return "", fmt.Errorf("go list %s: %v; run this inside the checkout, with go on PATH",
			pkg, reason(err))
	}
	return string(bytes.TrimSpace(out)), nil
}

// reason adds what a command printed to how it ended.
func reason(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(exit.Stderr))
	}
	return err
}

// findPython returns the interpreter of an environment that has Django: the active one, that
// of the tests (`go run ./tools setup`), or the project's own .venv, which is made if need be.
func findPython(project string) (string, error) {
	own := filepath.Join(project, ".venv")
	places := []string{os.Getenv("VIRTUAL_ENV")}
	if cache, err := os.UserCacheDir(); err == nil {
		places = append(places, filepath.Join(cache, "m0", "venv"))
	}
	for _, dir := range append(places, own) {
		python := filepath.Join(dir, "bin", "python")
		if dir == "" || exec.Command(python, "-c", hasDjango).Run() != nil {
			continue
		}
		say("using     " + dir)
		return python, nil
	}
	say("making    " + own + " with Django in it")
	if err := run("python3", "-m", "venv", own); err != nil {
		return "", fmt.Errorf("%w; Debian: apt-get install python3-venv", err)
	}
	python := filepath.Join(own, "bin", "python")
	return python, run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
		"--requirement", filepath.Join(project, "requirements.txt"))
}

// build makes m0serve as it is in the checkout: the command, and beside it the library that
// its workers load.
func build() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "m0", "django_live")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	say("building  m0serve in " + dir + " (the first time takes a minute)")
	bin := filepath.Join(dir, "m0serve")
	if err := run("go", "build", "-o", bin, command); err != nil {
		return "", err
	}
	library := filepath.Join(dir, "libm0serve.so")
	if err := run("go", "build", "-buildmode=c-shared", "-o", library, command); err != nil {
		return "", fmt.Errorf("%w; cgo needs a C compiler, such as gcc", err)
	}
	return bin, nil
}

func run(name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), err)
	}
	return nil
}
