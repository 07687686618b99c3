// SPDX-License-Identifier: MIT

// Package pack makes what a release would publish out of the working tree: each
// module as the zip that the go command downloads, in a module proxy that is a
// folder. Against it a module can be tidied, built and tested as an outsider sees
// it, before anything is tagged.
//
// A module is the files that git tracks, and those it would track, below its
// folder and outside of nested modules. Nothing is written into the tree.
package pack

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"m0serve.dev/tools/internal/proc"
	"m0serve.dev/tools/internal/tree"
)

// Files lists the files of the module in folder dir below top, relative to it and
// with slashes.
func Files(ctx context.Context, top, dir string) ([]string, error) {
	out, err := proc.Run(ctx, proc.Cmd{
		Dir:  filepath.Join(top, filepath.FromSlash(dir)),
		Args: []string{"git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"},
	})
	if err != nil {
		return nil, fmt.Errorf("pack: list %s: %w", dir, err)
	}
	var all, files []string
	nested := map[string]bool{}
	seen := map[string]bool{}
	for _, name := range strings.Split(strings.TrimRight(out, "\x00"), "\x00") {
		st, err := os.Lstat(filepath.Join(top, dir, filepath.FromSlash(name)))
		if err != nil || !st.Mode().IsRegular() || seen[name] {
			continue // removed, or a link: the go command leaves links out too
		}
		seen[name] = true
		all = append(all, name)
		if path.Base(name) == "go.mod" && name != "go.mod" {
			nested[path.Dir(name)] = true
		}
	}
	for _, name := range all {
		if !isInside(name, nested) {
			files = append(files, name)
		}
	}
	return files, nil
}

func isInside(name string, dirs map[string]bool) bool {
	for d := path.Dir(name); d != "."; d = path.Dir(d) {
		if dirs[d] {
			return true
		}
	}
	return false
}

// Shop is a temporary folder with copies of modules and a proxy of those that are
// packed already.
type Shop struct {
	top   string
	dir   string
	cache string   // module cache of its own, kept between runs
	env   []string // of every go command
	held  *os.File // lock on the module cache, until Close
}

// Open makes a shop in the folder dir. The module cache lies in the user's cache,
// so that third-party modules are built once; ours are removed from it, since a
// version in a module cache is never read again. Shops of other processes wait for
// Close.
func Open(ctx context.Context, top, dir string) (*Shop, error) {
	out, err := proc.Run(ctx, proc.Cmd{
		Dir: top, Args: []string{"go", "env", "-json", "GOPROXY", "GOMODCACHE", "GOFLAGS"},
	})
	var now struct{ GOPROXY, GOMODCACHE, GOFLAGS string }
	if err == nil {
		err = json.Unmarshal([]byte(out), &now)
	}
	if err != nil {
		return nil, fmt.Errorf("pack: go env: %w", err)
	}
	caches, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("pack: no cache folder: %w", err)
	}
	s := &Shop{top: top, dir: dir, cache: filepath.Join(caches, "m0", "modules")}
	if err := s.lockCache(); err != nil {
		return nil, err
	}
	for _, ours := range []string{tree.Root, "cache/download/" + tree.Root} {
		if err := os.RemoveAll(filepath.Join(s.cache, filepath.FromSlash(ours))); err != nil {
			return nil, fmt.Errorf("pack: empty the module cache: %w", err)
		}
	}
	s.env = []string{
		"GOWORK=off", "GOMODCACHE=" + s.cache,
		// The go command indexes a module in a module cache once for ever.
		"GODEBUG=goindex=0",
		"GOFLAGS=" + strings.TrimSpace(now.GOFLAGS+" -mod=mod -modcacherw"),
		"GONOSUMDB=" + tree.Root, "GONOSUMCHECK=" + tree.Root,
		"GOPROXY=" + strings.Join([]string{
			fileURL(s.proxy()), fileURL(filepath.Join(now.GOMODCACHE, "cache", "download")), now.GOPROXY,
		}, ","),
	}
	return s, os.MkdirAll(s.proxy(), 0o777)
}

func (s *Shop) lockCache() error {
	if err := os.MkdirAll(s.cache, 0o777); err != nil {
		return fmt.Errorf("pack: %w", err)
	}
	f, err := os.Create(s.cache + ".lock")
	if err != nil {
		return fmt.Errorf("pack: %w", err)
	}
	s.held = f
	if err := lock(f); err != nil {
		return fmt.Errorf("pack: lock %s: %w", f.Name(), err)
	}
	return nil
}

// Close lets other shops use the module cache.
func (s *Shop) Close() error {
	return s.held.Close()
}

// Copy copies the module in folder module. The copy's go.sum has no sum of ours:
// what the last release published is not what is packed now.
func (s *Shop) Copy(ctx context.Context, module string) error {
	files, err := Files(ctx, s.top, module)
	if err != nil {
		return err
	}
	for _, name := range files {
		from := filepath.Join(s.top, module, filepath.FromSlash(name))
		to := filepath.Join(s.Dir(module), filepath.FromSlash(name))
		if err := copyFile(to, from); err != nil {
			return fmt.Errorf("pack: copy %s: %w", module, err)
		}
	}
	sumFile := filepath.Join(s.Dir(module), "go.sum")
	sum, err := os.ReadFile(sumFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("pack: %w", err)
	}
	return writeFile(sumFile, WithoutOurs(sum))
}

// Dir returns the folder of the copy of a module.
func (s *Shop) Dir(module string) string {
	return filepath.Join(s.dir, "copy", module)
}

// Cmd returns the go command with args, to be run in the copy of a module.
func (s *Shop) Cmd(module string, args ...string) proc.Cmd {
	return proc.Cmd{Dir: s.Dir(module), Env: s.env, Args: append([]string{"go"}, args...)}
}

// Go runs the go command in the copy of a module.
func (s *Shop) Go(ctx context.Context, module string, args ...string) error {
	_, err := proc.Run(ctx, s.Cmd(module, args...))
	return err
}

// Publish packs the copy of a module into the proxy as the given version, where
// the modules that follow find it.
func (s *Shop) Publish(ctx context.Context, module, version string) error {
	files, err := Files(ctx, s.top, module)
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(s.Dir(module), "go.sum")); err == nil {
		files = append(files, "go.sum") // a tidy may have made it
	}
	var z bytes.Buffer
	if err := zipModule(&z, s.Dir(module), files, tree.Path(module)+"@"+version); err != nil {
		return err
	}
	mod, err := os.ReadFile(filepath.Join(s.Dir(module), "go.mod"))
	if err != nil {
		return fmt.Errorf("pack: %w", err)
	}
	info, err := json.Marshal(map[string]any{
		"Version": version, "Time": time.Now().UTC().Truncate(time.Second),
	})
	if err != nil {
		return fmt.Errorf("pack: %w", err)
	}
	base := filepath.Join(s.proxy(), filepath.FromSlash(tree.Path(module)), "@v")
	for name, text := range map[string][]byte{
		"list": []byte(version + "\n"), version + ".info": info,
		version + ".mod": mod, version + ".zip": z.Bytes(),
	} {
		if err := writeFile(filepath.Join(base, name), text); err != nil {
			return err
		}
	}
	return nil
}

func (s *Shop) proxy() string { return filepath.Join(s.dir, "proxy") }

// zipModule writes the zip of a module: every name opens with path@version/.
func zipModule(w *bytes.Buffer, dir string, files []string, prefix string) error {
	z := zip.NewWriter(w)
	done := map[string]bool{}
	for _, name := range files {
		text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if errors.Is(err, fs.ErrNotExist) || done[name] {
			continue // a file that tidy removed, or go.sum named twice
		}
		done[name] = true
		if err != nil {
			return fmt.Errorf("pack: %w", err)
		}
		f, err := z.Create(prefix + "/" + name)
		if err != nil {
			return fmt.Errorf("pack: zip %s: %w", name, err)
		}
		if _, err := f.Write(text); err != nil {
			return fmt.Errorf("pack: zip %s: %w", name, err)
		}
	}
	if err := z.Close(); err != nil {
		return fmt.Errorf("pack: zip: %w", err)
	}
	return nil
}

// WithoutOurs returns the text of a go.sum without the lines about our modules:
// their sums exist only once a release is packed.
func WithoutOurs(sum []byte) []byte {
	var kept []byte
	for _, line := range bytes.SplitAfter(sum, []byte("\n")) {
		if !bytes.HasPrefix(line, []byte(tree.Root+"/")) {
			kept = append(kept, line...)
		}
	}
	return kept
}

func copyFile(to, from string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	st, err := os.Stat(from)
	if err != nil {
		return err
	}
	if err := writeFile(to, text); err != nil {
		return err
	}
	return os.Chmod(to, st.Mode().Perm()|0o200)
}

func writeFile(file string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return fmt.Errorf("pack: %w", err)
	}
	if err := os.WriteFile(file, text, 0o666); err != nil {
		return fmt.Errorf("pack: %w", err)
	}
	return nil
}

func fileURL(dir string) string {
	return "file://" + filepath.ToSlash(dir)
}
