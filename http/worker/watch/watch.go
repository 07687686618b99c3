// SPDX-License-Identifier: MIT

// Package watch notices that files were changed, for a service that is to be
// restarted when its program is edited.
//
// A [Watcher] looks at directories at an interval and compares the modification
// time and size of every file that it includes. It is made for development: it
// needs no help of the system, works over network and container mounts, and looks
// less often where a look takes long. A burst of changes, such as a checkout,
// counts as one, when it has been quiet for one interval.
//
// It does not follow links to directories, except for the directories it was
// given, and does not look into files.
package watch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"
)

// Config says what to watch.
type Config struct {
	Dirs []string // with everything below them; required
	// Include are the files that count, Exclude the files and directories that do
	// not: patterns as of path.Match, against the name, or when they have a slash
	// against the path below the directory. Exclude wins. nil: the defaults below;
	// empty: nothing.
	Include  []string
	Exclude  []string
	Every    time.Duration // between two looks; 0: 300 ms
	FilesMax int           // that are watched, the rest is not; 0: 20,000
	Log      *slog.Logger  // nil: slog.Default
}

// DefaultInclude and DefaultExclude are what a Config without them uses.
func DefaultInclude() []string { return []string{"*.py"} }

// DefaultExclude are directories that no source is edited in.
func DefaultExclude() []string {
	return []string{".git", ".hg", ".svn", "__pycache__", "node_modules", ".venv", "venv",
		".tox", ".mypy_cache", ".pytest_cache", ".ruff_cache"}
}

const (
	everyDefault    = 300 * time.Millisecond
	filesMaxDefault = 20_000
	// looksPerChange bounds the wait for quiet, where something never stops to
	// write.
	looksPerChange = 10
	// idleShare is how much longer a Watcher waits than a look takes, at least.
	idleShare = 10
)

// A stamp is what is remembered of a file.
type stamp struct {
	changed time.Time
	size    int64
}

// A Watcher knows how the files were when it looked last. It belongs to one
// goroutine.
type Watcher struct {
	cfg   Config
	dirs  []string // without links
	files map[string]stamp
	full  bool // FilesMax was met, and said
}

// New takes the first look. The error names the pattern that is none, or the
// directory that is not there.
func New(cfg Config) (*Watcher, error) {
	if cfg.Include == nil {
		cfg.Include = DefaultInclude()
	}
	if cfg.Exclude == nil {
		cfg.Exclude = DefaultExclude()
	}
	if cfg.Every <= 0 {
		cfg.Every = everyDefault
	}
	if cfg.FilesMax <= 0 {
		cfg.FilesMax = filesMaxDefault
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	for _, p := range slices.Concat(cfg.Include, cfg.Exclude) {
		if _, err := path.Match(p, ""); err != nil {
			return nil, fmt.Errorf("watch: pattern %q: %w", p, err)
		}
	}
	w := &Watcher{cfg: cfg}
	if len(cfg.Dirs) == 0 {
		return nil, errors.New("watch: no directory")
	}
	for _, dir := range cfg.Dirs {
		real, err := resolve(dir)
		if err != nil {
			return nil, fmt.Errorf("watch: %w", err)
		}
		w.dirs = append(w.dirs, real)
	}
	w.files = w.look()
	return w, nil
}

// resolve follows links and wants a directory.
func resolve(dir string) (string, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(real)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a directory", dir)
	}
	return real, err
}

// Files is the number of files that are watched.
func (w *Watcher) Files() int { return len(w.files) }

// Run looks until ctx ends, and sends for each burst of changes one line that
// says what changed. While the receiver is busy it does not look; what changes
// meanwhile is in the next line.
func (w *Watcher) Run(ctx context.Context, changes chan<- string) {
	pause := w.cfg.Every
	for sleep(ctx, pause) {
		began := time.Now()
		changed := w.update()
		took := time.Since(began)
		pause = max(w.cfg.Every, idleShare*took)
		if len(changed) == 0 {
			continue
		}
		changed = w.settle(ctx, pause, changed)
		select {
		case changes <- describe(changed):
		case <-ctx.Done():
			return
		}
	}
}

// settle waits until nothing changes any more, and returns all that did.
func (w *Watcher) settle(ctx context.Context, pause time.Duration, changed []string) []string {
	for range looksPerChange {
		if !sleep(ctx, pause) {
			break
		}
		more := w.update()
		if len(more) == 0 {
			break
		}
		for _, name := range more {
			if !slices.Contains(changed, name) {
				changed = append(changed, name)
			}
		}
	}
	return changed
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// update looks again and returns the names of the files that are new, gone or
// different, sorted.
func (w *Watcher) update() []string {
	now := w.look()
	var changed []string
	for name, stamp := range now {
		if old, ok := w.files[name]; !ok || old != stamp {
			changed = append(changed, name)
		}
	}
	for name := range w.files {
		if _, ok := now[name]; !ok {
			changed = append(changed, name)
		}
	}
	w.files = now
	slices.Sort(changed)
	return changed
}

// look reads every directory. What cannot be read is not there.
func (w *Watcher) look() map[string]stamp {
	files := make(map[string]stamp, len(w.files))
	for _, dir := range w.dirs {
		// The function returns no error but to skip or to stop.
		_ = filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
			if err != nil {
				return skipOf(entry)
			}
			return w.visit(files, dir, name, entry)
		})
	}
	return files
}

func skipOf(entry fs.DirEntry) error {
	if entry != nil && entry.IsDir() {
		return fs.SkipDir
	}
	return nil
}

func (w *Watcher) visit(files map[string]stamp, dir, name string, entry fs.DirEntry) error {
	below, err := filepath.Rel(dir, name)
	if err != nil || below == "." {
		return nil
	}
	below = filepath.ToSlash(below)
	if matches(w.cfg.Exclude, below) {
		return skipOf(entry)
	}
	if entry.IsDir() || !matches(w.cfg.Include, below) {
		return nil
	}
	info, err := os.Stat(name) // of the file that a link leads to
	if err != nil || info.IsDir() {
		return nil
	}
	if len(files) >= w.cfg.FilesMax {
		if !w.full {
			w.full = true
			w.cfg.Log.Warn("watch: too many files, the rest is not watched: exclude some",
				"watched", len(files), "first left out", name)
		}
		return fs.SkipAll
	}
	files[name] = stamp{info.ModTime(), info.Size()}
	return nil
}

// matches reports whether a pattern fits a path below its directory, or its name.
func matches(patterns []string, below string) bool {
	for _, p := range patterns {
		subject := path.Base(below)
		if path.Base(p) != p {
			subject = below
		}
		if ok, _ := path.Match(p, subject); ok {
			return true
		}
	}
	return false
}

// describe names one file and counts the rest.
func describe(changed []string) string {
	switch len(changed) {
	case 1:
		return changed[0]
	case 2:
		return changed[0] + " and one more file"
	default:
		return fmt.Sprintf("%s and %d more files", changed[0], len(changed)-1)
	}
}
