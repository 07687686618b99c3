// SPDX-License-Identifier: MIT

package pack

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"m0serve.dev/tools/internal/proc"
)

func TestFiles(t *testing.T) {
	top := t.TempDir()
	if _, err := proc.Run(t.Context(), proc.Cmd{Dir: top, Args: []string{"git", "init"}}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		".gitignore", "m/go.mod", "m/a.go", "m/sub/b.go", "m/x.ignored", "m/nested/go.mod",
		"m/nested/c.go", "m/nested/deep/d.go", "other/e.go",
	} {
		text := ""
		if name == ".gitignore" {
			text = "*.ignored\n"
		}
		if err := writeFile(filepath.Join(top, name), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("a.go", filepath.Join(top, "m", "link.go")); err != nil {
		t.Skip("no symbolic links here")
	}
	got, err := Files(t.Context(), top, "m")
	slices.Sort(got)
	if want := []string{"a.go", "go.mod", "sub/b.go"}; !slices.Equal(got, want) || err != nil {
		t.Errorf("Files = %q, %v, want %q", got, err, want)
	}
}

func TestZipModule(t *testing.T) {
	dir := t.TempDir()
	if err := writeFile(filepath.Join(dir, "a/b.go"), []byte("package a\n")); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	err := zipModule(&b, dir, []string{"a/b.go", "a/b.go", "gone.go"}, "m0serve.dev/x@v0.1.0")
	if err != nil {
		t.Fatalf("zipModule = %v, want nil", err)
	}
	z, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if len(z.File) != 1 || z.File[0].Name != "m0serve.dev/x@v0.1.0/a/b.go" {
		t.Errorf("zipModule wrote %d files, want one with the module's prefix", len(z.File))
	}
}

func TestWithoutOurs(t *testing.T) {
	sum := "example.com/a v1 h1:x\nm0serve.dev/core v0.1.0 h1:y\nm0serve.devious/x v1 h1:z\n"
	want := "example.com/a v1 h1:x\nm0serve.devious/x v1 h1:z\n"
	if got := WithoutOurs([]byte(sum)); string(got) != want {
		t.Errorf("WithoutOurs = %q, want %q", got, want)
	}
	if got := WithoutOurs(nil); len(got) != 0 {
		t.Errorf("WithoutOurs(nil) = %q, want nothing", got)
	}
}

func TestShopsTakeTurns(t *testing.T) {
	if runtime.GOOS == "windows" || runtime.GOOS == "plan9" {
		t.Skip("there is no lock here")
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	first, err := Open(t.Context(), ".", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan *Shop)
	go func() {
		second, err := Open(t.Context(), ".", t.TempDir())
		if err != nil {
			t.Errorf("second Open = %v, want nil", err)
		}
		got <- second
	}()
	select {
	case <-got:
		t.Fatal("the second Open did not wait for Close of the first")
	case <-time.After(300 * time.Millisecond):
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := (<-got).Close(); err != nil {
		t.Fatal(err)
	}
}
