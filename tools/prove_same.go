// SPDX-License-Identifier: MIT

package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"m0serve.dev/tools/internal/console"
	"m0serve.dev/tools/internal/pack"
	"m0serve.dev/tools/internal/proc"
	"m0serve.dev/tools/internal/prove"
	"m0serve.dev/tools/internal/tree"
)

// sameBuilds are the programs that two folders must give alike: with C and without.
var sameBuilds = []struct{ name, dir, pkg, cgo string }{
	{"m0serve", "wsgi", "./cmd/m0serve", "0"},
	{"m0serve with cgo", "wsgi", "./cmd/m0serve", "1"},
	{"datastar_todo", "apps", "./datastar_todo", "0"},
}

// proveSame copies the tree into two folders whose names differ in length and
// builds in each, with a build cache of its own: from one cache the second build
// would be a copy of the first. What others wrote does not know the folder, and is
// nearly all of the time, so that both caches begin with it.
func (e *env) proveSame(s *console.Step, _ proveOptions) (r prove.Result, err error) {
	tmp, remove, err := proveDir()
	if err != nil {
		return r, err
	}
	defer remove()
	roots := [2]string{filepath.Join(tmp, "a"), filepath.Join(tmp, "another", "folder")}
	if err := e.copyTree(roots[0]); err != nil {
		return r, err
	}
	// A copy of the copy: the tree may have changed meanwhile.
	if err := os.CopyFS(roots[1], os.DirFS(roots[0])); err != nil {
		return r, err
	}
	others, err := e.buildOthers(s, roots[0])
	if err != nil {
		return r, err
	}
	var sums [2][]string
	var ours [2]int
	for i, root := range roots {
		cache := filepath.Join(tmp, fmt.Sprint("cache", i))
		if err := os.CopyFS(cache, os.DirFS(others)); err != nil {
			return r, err
		}
		if sums[i], ours[i], err = e.buildSums(s, root, cache); err != nil {
			return r, err
		}
	}
	r.Ran = fmt.Sprintf("%d programs built twice, with -trimpath, in two folders; %d and %d packages "+
		"of ours compiled", len(sameBuilds), ours[0], ours[1])
	if r.Found, err = differ(sums[0], sums[1]); err != nil {
		return r, err
	}
	return r, compiledTwice(ours)
}

// compiledTwice is an error when one of the builds took packages of ours from a cache:
// a copy of the other build is always the same as it.
func compiledTwice(ours [2]int) error {
	if ours[0] == 0 || ours[0] != ours[1] {
		return fmt.Errorf("the folders compiled %d and %d packages of ours, want all in both",
			ours[0], ours[1])
	}
	return nil
}

// buildArgs are what every build of this part begins with. It names what it compiles.
var buildArgs = []string{"go", "build", "-v", "-trimpath", "-buildvcs=false"}

// buildOthers compiles what the programs import of others, in a cache that is kept, and
// returns that.
func (e *env) buildOthers(s *console.Step, root string) (cache string, err error) {
	if cache, err = os.UserCacheDir(); err != nil {
		return "", err
	}
	cache = filepath.Join(cache, "m0", "same")
	for _, b := range sameBuilds {
		s.Doing("go list, for " + b.name)
		c := proc.Cmd{Dir: filepath.Join(root, b.dir),
			Env: []string{"CGO_ENABLED=" + b.cgo, "GOCACHE=" + cache, "GOFLAGS="}}
		c.Args = []string{"go", "list", "-deps", "-f", "{{.ImportPath}}", b.pkg}
		text, err := proc.Run(e.ctx, c)
		if err != nil {
			return "", err
		}
		others := slices.DeleteFunc(strings.Fields(text), func(path string) bool {
			return isOurs(path) || path == "unsafe" || path == "C"
		})
		c.Args = append(slices.Clone(buildArgs), others...)
		c.OnLine = func(line string) { s.Doing("go build, for " + b.name + ": " + line) }
		if _, err := proc.Run(e.ctx, c); err != nil {
			return "", err
		}
	}
	return cache, nil
}

// isOurs tells packages of this repository, which are compiled in both folders.
func isOurs(path string) bool { return strings.HasPrefix(path, tree.Root+"/") }

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

// buildSums builds in a copy and returns a line of name and sum for each program, and
// how many packages of ours were compiled for them.
func (e *env) buildSums(s *console.Step, root, cache string) (sums []string, ours int, err error) {
	for _, b := range sameBuilds {
		s.Doing("go build " + b.name)
		file := cache + ".out"
		said, err := proc.Run(e.ctx, proc.Cmd{Dir: filepath.Join(root, b.dir),
			Env:  []string{"CGO_ENABLED=" + b.cgo, "GOCACHE=" + cache, "GOFLAGS="},
			Args: append(slices.Clone(buildArgs), "-o", file, b.pkg)})
		if err != nil {
			return nil, 0, err
		}
		for line := range strings.Lines(said) {
			if isOurs(line) {
				ours++
			}
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, 0, err
		}
		sums = append(sums, fmt.Sprintf("%-18s %x", b.name, sha256.Sum256(text)))
	}
	return sums, ours, nil
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
