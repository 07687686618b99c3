// SPDX-License-Identifier: MIT

package main

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"m0serve.dev/tools/internal/console"
	"m0serve.dev/tools/internal/proc"
	"m0serve.dev/tools/internal/tree"
	"m0serve.dev/tools/internal/wheel"
)

const (
	wheelCommand = "./wsgi/cmd/m0serve"
	// wheelPackages holds the Python packages of the wheel, one folder each; their
	// files are installed as they are.
	wheelPackages = "wsgi/python/wheel"
	// wheelPublisher is the package m0pub, which is used without the wheel as well.
	wheelPublisher = "wsgi/python/m0pub"
	// wheelBin is where the package m0serve looks for the command.
	wheelBin = "m0serve/bin/"
	// wheelLibrary is what the command looks for beside itself.
	wheelLibrary = "libm0serve.so"
)

// zipEpoch is the oldest time that a zip can hold, and that of every file unless
// SOURCE_DATE_EPOCH gives another.
var zipEpoch = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// buildWheel is the verb wheel.
func buildWheel(e *env, args []string) error {
	out := filepath.Join(e.top, "bin")
	switch {
	case len(args) == 2 && args[0] == "--out":
		out = args[1]
	case len(args) > 0:
		return usageError("takes only --out DIR")
	}
	e.con.Step("wheel", "m0serve as a Python package", func(s *console.Step) error {
		_, err := e.wheelStep(s, out)
		return err
	})
	if !e.con.Close("wheel") {
		return errFailed
	}
	return nil
}

// wheelStep builds the wheel in the folder out and returns its file.
func (e *env) wheelStep(s *console.Step, out string) (string, error) {
	if runtime.GOOS != "linux" {
		return "", fmt.Errorf("wheel: it is for Linux and is built there, not on %s", runtime.GOOS)
	}
	at, err := wheelTime(os.Getenv("SOURCE_DATE_EPOCH"))
	if err != nil {
		return "", err
	}
	tmp, err := os.MkdirTemp("", "m0-wheel-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	w, err := e.newWheel(s, tmp)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(out, 0o777); err != nil {
		return "", err
	}
	file := filepath.Join(out, w.FileName())
	if err := writeWheel(file, w, at); err != nil {
		return "", err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	s.Printf("%-14s %5.1f MB  sha256 %x", "wheel", float64(len(text))/1e6, sha256.Sum256(text))
	s.Printf("%s", file)
	return file, nil
}

// wheelTime reads SOURCE_DATE_EPOCH: seconds since 1970.
func wheelTime(epoch string) (time.Time, error) {
	if epoch == "" {
		return zipEpoch, nil
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	at := time.Unix(seconds, 0)
	if err != nil || at.Before(zipEpoch) {
		return at, fmt.Errorf("wheel: SOURCE_DATE_EPOCH=%q: want seconds since 1970, of 1980 or later",
			epoch)
	}
	return at, nil
}

func writeWheel(file string, w *wheel.Wheel, at time.Time) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	if err := w.Write(f, at); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// newWheel compiles in the folder tmp and gathers everything.
func (e *env) newWheel(s *console.Step, tmp string) (*wheel.Wheel, error) {
	version, err := e.workVersion()
	if err != nil {
		return nil, err
	}
	readme, err := os.ReadFile(filepath.Join(e.top, "wsgi/README.md"))
	if err != nil {
		return nil, err
	}
	w := &wheel.Wheel{
		Name: "m0serve", Version: strings.TrimPrefix(version, "v"), Description: string(readme),
		Scripts: []wheel.Script{{Name: "m0serve", Call: "m0serve:main"}},
		Metadata: []wheel.Field{
			{Name: "Summary", Value: "A server for Django, Flask, FastAPI and any WSGI or ASGI application"},
			{Name: "License", Value: "MIT"},
			{Name: "Requires-Python", Value: ">=3.9"},
			{Name: "Classifier", Value: "License :: OSI Approved :: MIT License"},
			{Name: "Classifier", Value: "Operating System :: POSIX :: Linux"},
			{Name: "Classifier", Value: "Programming Language :: Python :: Implementation :: CPython"},
			{Name: "Classifier", Value: "Topic :: Internet :: WWW/HTTP :: WSGI :: Server"},
		},
	}
	if w.Files, err = e.wheelSources(); err != nil {
		return nil, err
	}
	if w.Licences, err = e.licences(); err != nil {
		return nil, err
	}
	return w, e.compileInto(s, w, tmp)
}

// wheelSources are the files of Python packages, in the order of their names.
func (e *env) wheelSources() ([]wheel.File, error) {
	var files []wheel.File
	for _, folder := range []struct{ from, to string }{
		{wheelPackages, ""}, {wheelPublisher, "m0pub/"},
	} {
		found, err := sourcesBelow(filepath.Join(e.top, filepath.FromSlash(folder.from)), folder.to)
		if err == nil && len(found) == 0 {
			err = fmt.Errorf("no Python in %s", folder.from)
		}
		if err != nil {
			return nil, fmt.Errorf("wheel: %w", err)
		}
		files = append(files, found...)
	}
	slices.SortFunc(files, func(x, y wheel.File) int { return strings.Compare(x.Name, y.Name) })
	return files, nil
}

// sourcesBelow are the sources in a folder, under prefix.
func sourcesBelow(folder, prefix string) (files []wheel.File, err error) {
	root := os.DirFS(folder)
	err = fs.WalkDir(root, ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || path.Ext(name) != ".py" && path.Base(name) != "py.typed" {
			return err
		}
		text, err := fs.ReadFile(root, name)
		files = append(files, wheel.File{Name: prefix + name, Data: text})
		return err
	})
	return files, err
}

// compileInto builds the command and the engine, and says by them where the wheel
// can be installed. The command needs no C: in a wheel it never holds a Python.
func (e *env) compileInto(s *console.Step, w *wheel.Wheel, tmp string) error {
	flags := []string{"-trimpath", "-buildvcs=false", "-ldflags=-s -w"}
	var files []string
	for _, b := range []struct {
		name, cgo string
		mode      []string
	}{
		{"m0serve", "0", nil},
		{wheelLibrary, "1", []string{"-buildmode=c-shared"}},
	} {
		s.Doing("go build " + b.name)
		file := filepath.Join(tmp, b.name)
		args := append(append([]string{"build"}, flags...), b.mode...)
		err := e.goRun([]string{"CGO_ENABLED=" + b.cgo}, append(args, "-o", file, wheelCommand)...)
		if err != nil {
			return fmt.Errorf("wheel: %w", err)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		s.Printf("%-14s %5.1f MB", b.name, float64(len(text))/1e6)
		files = append(files, file)
		w.Files = append(w.Files, wheel.File{Name: wheelBin + b.name, Executable: true, Data: text})
	}
	platform, err := wheel.PlatformOf(files...)
	if err != nil {
		return err
	}
	s.Printf("%-14s %s: %s", "platform", platform.Tag, platform.Because)
	w.Tag = "py3-none-" + platform.Tag
	return nil
}

// licences are those of everything that is compiled into the wheel: ours, Go's, and
// of each module of others.
func (e *env) licences() ([]wheel.File, error) {
	out, err := proc.Run(e.ctx, proc.Cmd{Dir: e.top, Args: []string{"go", "list", "-deps",
		"-f", "{{with .Module}}{{.Path}}\t{{.Dir}}{{end}}", wheelCommand}})
	if err != nil {
		return nil, fmt.Errorf("wheel: %w", err)
	}
	goroot, err := proc.Run(e.ctx, proc.Cmd{Dir: e.top, Args: []string{"go", "env", "GOROOT"}})
	if err != nil {
		return nil, fmt.Errorf("wheel: %w", err)
	}
	list := []wheel.File{{Name: "LICENSE"}, {Name: "go/LICENSE"}}
	dirs := []string{e.top, strings.TrimSpace(goroot)}
	seen := map[string]bool{}
	for line := range strings.Lines(out) {
		module, dir, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if module == "" || seen[module] || strings.HasPrefix(module, tree.Root+"/") {
			continue
		}
		seen[module] = true
		list = append(list, wheel.File{Name: module + "/LICENSE"})
		dirs = append(dirs, dir)
	}
	for i := range list {
		if list[i].Data, err = readLicence(dirs[i]); err != nil {
			return nil, fmt.Errorf("wheel: what is shipped needs its licence: %w", err)
		}
	}
	return list, nil
}

// readLicence reads the licence at the top of a module, by the names that people
// give it.
func readLicence(dir string) (text []byte, err error) {
	for _, name := range []string{"LICENSE.txt", "LICENSE.md", "LICENSE"} {
		if text, err = os.ReadFile(filepath.Join(dir, name)); err == nil {
			return text, nil
		}
	}
	return nil, err
}
