// SPDX-License-Identifier: MIT

package watch

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// a tree is a directory of files whose times are set by hand: each write is a
// second after the one before.
type tree struct {
	t    *testing.T
	dir  string
	last time.Time
}

func newTree(t *testing.T, names ...string) *tree {
	tr := &tree{t: t, dir: t.TempDir(), last: time.Unix(1_700_000_000, 0)}
	for _, name := range names {
		tr.write(name, "first")
	}
	return tr
}

func (tr *tree) path(name string) string { return filepath.Join(tr.dir, filepath.FromSlash(name)) }

func (tr *tree) write(name, text string) {
	tr.t.Helper()
	tr.last = tr.last.Add(time.Second)
	p := tr.path(name)
	tr.must(os.MkdirAll(filepath.Dir(p), 0o755))
	tr.must(os.WriteFile(p, []byte(text), 0o644))
	tr.must(os.Chtimes(p, tr.last, tr.last))
}

func (tr *tree) must(err error) {
	tr.t.Helper()
	if err != nil {
		tr.t.Fatal(err)
	}
}

func (tr *tree) watch(cfg Config) *Watcher {
	tr.t.Helper()
	cfg.Dirs = append(cfg.Dirs, tr.dir)
	w, err := New(cfg)
	if err != nil {
		tr.t.Fatal(err)
	}
	return w
}

// changed is what a look finds, as paths below the directory.
func (tr *tree) changed(w *Watcher) string {
	var below []string
	for _, name := range w.update() {
		rel, err := filepath.Rel(tr.dir, name)
		tr.must(err)
		below = append(below, filepath.ToSlash(rel))
	}
	return strings.Join(below, " ")
}

func TestChangesAreNoticed(t *testing.T) {
	tr := newTree(t, "app.py", "pkg/views.py", "pkg/models.py")
	w := tr.watch(Config{})
	for _, step := range []struct {
		what, want string
		do         func()
	}{
		{"nothing", "", func() {}},
		{"a save", "pkg/views.py", func() { tr.write("pkg/views.py", "second") }},
		{"the same text at another time", "app.py", func() { tr.write("app.py", "first") }},
		{"another size at the same time", "app.py", func() {
			tr.write("app.py", "longer than before")
			tr.must(os.Chtimes(tr.path("app.py"), tr.last.Add(-time.Second), tr.last.Add(-time.Second)))
		}},
		{"a new file", "new/deep/mod.py", func() { tr.write("new/deep/mod.py", "x") }},
		{"a removal", "pkg/models.py", func() { tr.must(os.Remove(tr.path("pkg/models.py"))) }},
		{"a save by renaming", "app.py", func() {
			tr.write("app.py~", "saved by an editor")
			tr.must(os.Rename(tr.path("app.py~"), tr.path("app.py")))
		}},
		{"a directory that goes", "new/deep/mod.py", func() { tr.must(os.RemoveAll(tr.path("new"))) }},
		{"nothing again", "", func() {}},
	} {
		step.do()
		if got := tr.changed(w); got != step.want {
			t.Errorf("%s: changed %q, want %q", step.what, got, step.want)
		}
	}
}

func TestPatternsSayWhatCounts(t *testing.T) {
	names := []string{
		"app.py", "notes.txt", "templates/a.html", "pkg/templates/b.html", "pkg/mod.py",
		".git/hook.py", "__pycache__/app.py", "pkg/__pycache__/x.py", ".venv/lib/y.py",
		"node_modules/z.py",
	}
	for _, c := range []struct {
		include, exclude []string
		want             string
	}{
		{nil, nil, "app.py pkg/mod.py"},
		{[]string{"*.py", "*.html"}, nil, "app.py pkg/mod.py pkg/templates/b.html templates/a.html"},
		{[]string{"templates/*.html"}, nil, "templates/a.html"},
		{nil, []string{"pkg", ".*"}, "__pycache__/app.py app.py node_modules/z.py"},
		{nil, []string{"pkg/*.py", ".*", "__pycache__", "node_modules"}, "app.py"},
		{[]string{"*"}, []string{"*.py", ".*", "__pycache__", "node_modules"},
			"notes.txt pkg/templates/b.html templates/a.html"},
		{[]string{}, nil, ""},
	} {
		tr := newTree(t, names...)
		w := tr.watch(Config{Include: c.include, Exclude: c.exclude})
		for _, name := range names {
			tr.write(name, "second")
		}
		if got := tr.changed(w); got != c.want {
			t.Errorf("include %q, exclude %q: changed %q, want %q", c.include, c.exclude, got, c.want)
		}
	}
}

func TestLinksToFilesAndRootsAreFollowed(t *testing.T) {
	tr := newTree(t, "real/app.py", "elsewhere/shared.py")
	link := filepath.Join(t.TempDir(), "link")
	tr.must(os.Symlink(tr.path("real"), link))
	tr.must(os.Symlink(tr.path("elsewhere/shared.py"), tr.path("real/shared.py")))
	w, err := New(Config{Dirs: []string{link}})
	tr.must(err)
	if w.Files() != 2 {
		t.Errorf("%d files behind a link, want 2", w.Files())
	}
	tr.write("elsewhere/shared.py", "second")
	if got := tr.changed(w); got != "real/shared.py" {
		t.Errorf("changed %q, want real/shared.py", got)
	}
}

// run lets a Watcher run over tr inside a bubble, and returns what it says.
func run(tr *tree, cfg Config, during func()) (said []string) {
	w := tr.watch(cfg)
	ctx, cancel := context.WithCancel(context.Background())
	changes, done := make(chan string), make(chan struct{})
	go func() { w.Run(ctx, changes); close(done) }()
	collected := make(chan struct{})
	go func() {
		defer close(collected)
		for {
			select {
			case what := <-changes:
				said = append(said, strings.ReplaceAll(what, tr.dir+string(filepath.Separator), ""))
			case <-done:
				return
			}
		}
	}()
	during()
	cancel()
	<-collected
	return said
}

func TestBurstOfChangesIsOne(t *testing.T) {
	tr := newTree(t, "a.py", "b.py", "c.py")
	synctest.Test(t, func(t *testing.T) {
		said := run(tr, Config{Every: time.Second}, func() {
			time.Sleep(500 * time.Millisecond)
			for _, name := range []string{"a.py", "b.py", "c.py", "a.py"} {
				tr.write(name, "second")
				time.Sleep(time.Second)
			}
			time.Sleep(10 * time.Second)
			tr.write("c.py", "third")
			time.Sleep(10 * time.Second)
		})
		if got, want := fmt.Sprintf("%q", said), `["a.py and 2 more files" "c.py"]`; got != want {
			t.Errorf("said %s, want %s", got, want)
		}
	})
}

// What never stops to change is not waited for.
func TestSteadyChangesAreNotHeldBack(t *testing.T) {
	tr := newTree(t, "log.py")
	synctest.Test(t, func(t *testing.T) {
		said := run(tr, Config{Every: time.Second}, func() {
			time.Sleep(500 * time.Millisecond)
			for range 30 {
				tr.write("log.py", "more")
				time.Sleep(time.Second)
			}
		})
		if len(said) < 2 || len(said) > 4 {
			t.Errorf("said %d times in 30 s of changes, want 2 to 4", len(said))
		}
	})
}

func TestTooManyFilesAreSaidOnce(t *testing.T) {
	tr := newTree(t, "a.py", "b.py", "c.py")
	var log bytes.Buffer
	w := tr.watch(Config{FilesMax: 2, Log: slog.New(slog.NewTextHandler(&log, nil))})
	tr.write("a.py", "second")
	if got := tr.changed(w); got != "a.py" || w.Files() != 2 {
		t.Errorf("changed %q of %d files, want a.py of 2", got, w.Files())
	}
	if n := strings.Count(log.String(), "too many files"); n != 1 {
		t.Errorf("said %d times, want once:\n%s", n, log.String())
	}
}

func TestNewRefuses(t *testing.T) {
	tr := newTree(t, "a.py")
	for want, cfg := range map[string]Config{
		"no directory":       {},
		`pattern "[a"`:       {Dirs: []string{tr.dir}, Include: []string{"[a"}},
		`pattern "x["`:       {Dirs: []string{tr.dir}, Exclude: []string{"x["}},
		"missing":            {Dirs: []string{tr.path("missing")}},
		"is not a directory": {Dirs: []string{tr.path("a.py")}},
	} {
		if w, err := New(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New(%+v) = %v, %v; want an error with %q", cfg, w, err, want)
		}
	}
}

// BenchmarkLook is one look at a project of 2,000 files in 100 directories.
func BenchmarkLook(b *testing.B) {
	dir := b.TempDir()
	for i := range 2000 {
		p := filepath.Join(dir, fmt.Sprintf("d%d", i%100), fmt.Sprintf("f%d.py", i))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(p, nil, 0o644); err != nil {
			b.Fatal(err)
		}
	}
	w, err := New(Config{Dirs: []string{dir}})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		w.update()
	}
}
