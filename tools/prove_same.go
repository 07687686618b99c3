// SPDX-License-Identifier: MIT

package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"

	"m0serve.dev/tools/internal/console"
	"m0serve.dev/tools/internal/pack"
	"m0serve.dev/tools/internal/proc"
	"m0serve.dev/tools/internal/prove"
)

// sameBuilds are the programs that two folders must give alike: with C and without.
var sameBuilds = []struct{ name, dir, pkg, cgo string }{
	{"m0serve", "wsgi", "./cmd/m0serve", "0"},
	{"m0serve with cgo", "wsgi", "./cmd/m0serve", "1"},
	{"datastar_todo", "apps", "./datastar_todo", "0"},
}

// proveSame copies the tree into two folders whose names differ in length and
// builds in each, with a build cache of its own: from one cache the second build
// would be a copy of the first.
func (e *env) proveSame(s *console.Step, _ proveOptions) (r prove.Result, err error) {
	tmp, remove, err := proveDir()
	if err != nil {
		return r, err
	}
	defer remove()
	var sums [2][]string
	roots := [2]string{filepath.Join(tmp, "a"), filepath.Join(tmp, "another", "folder")}
	if err := e.copyTree(roots[0]); err != nil {
		return r, err
	}
	// A copy of the copy: the tree may have changed meanwhile.
	if err := os.CopyFS(roots[1], os.DirFS(roots[0])); err != nil {
		return r, err
	}
	for i, root := range roots {
		if sums[i], err = e.buildSums(s, root, filepath.Join(tmp, fmt.Sprint("cache", i))); err != nil {
			return r, err
		}
	}
	r.Ran = fmt.Sprintf("%d programs built twice, with -trimpath, in two folders", len(sameBuilds))
	r.Found, err = differ(sums[0], sums[1])
	return r, err
}

// copyTree copies what git has of the repository.
func (e *env) copyTree(to string) error {
	for _, folder := range append([]string{"."}, moduleNames(e.top)...) {
		if err := e.copyFolder(folder, to); err != nil {
			return err
		}
	}
	return nil
}

// copyFolder copies what git has of a folder that is a module, or of the top without
// the modules, to the same place below another top.
func (e *env) copyFolder(folder, to string) error {
	files, err := pack.Files(e.ctx, e.top, folder)
	if err != nil {
		return err
	}
	for _, name := range files {
		name = filepath.Join(folder, filepath.FromSlash(name))
		text, err := os.ReadFile(filepath.Join(e.top, name))
		if err != nil {
			return err
		}
		file := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// buildSums builds in a copy and returns a line of name and sum for each program.
func (e *env) buildSums(s *console.Step, root, cache string) (sums []string, err error) {
	for _, b := range sameBuilds {
		s.Doing("go build " + b.name)
		file := cache + ".out"
		_, err := proc.Run(e.ctx, proc.Cmd{Dir: filepath.Join(root, b.dir),
			Env:  []string{"CGO_ENABLED=" + b.cgo, "GOCACHE=" + cache, "GOFLAGS="},
			Args: []string{"go", "build", "-trimpath", "-buildvcs=false", "-o", file, b.pkg}})
		if err != nil {
			return nil, err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		sums = append(sums, fmt.Sprintf("%-18s %x", b.name, sha256.Sum256(text)))
	}
	return sums, nil
}

// differ returns the sums, and an error that names the programs that differ.
func differ(one, other []string) (told []string, err error) {
	var wrong []string
	for i := range one {
		if i >= len(other) || one[i] != other[i] {
			wrong = append(wrong, one[i])
		}
	}
	if len(wrong) > 0 || len(one) != len(other) || len(one) == 0 {
		return wrong, fmt.Errorf("two builds differ: %q and %q", one, other)
	}
	return one, nil
}
