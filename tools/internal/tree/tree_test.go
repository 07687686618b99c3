// SPDX-License-Identifier: MIT

package tree

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func repository(t *testing.T, names ...string) string {
	t.Helper()
	top := t.TempDir()
	for _, name := range append(names, "go.work", "tools/go.mod") {
		file := filepath.Join(top, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		text := ""
		if strings.HasSuffix(name, ".go") {
			text = "package x\n"
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return top
}

func TestFindTop(t *testing.T) {
	top := repository(t, "core/a/b/x.go", "other/go.work")
	for _, dir := range []string{"", "core", "core/a/b", "tools", "other"} {
		got, err := FindTop(filepath.Join(top, dir))
		if got != top || err != nil {
			t.Errorf("FindTop(%q) = %q, %v, want the top", dir, got, err)
		}
	}
	if got, err := FindTop(filepath.Dir(top)); !errors.Is(err, ErrNoTop) {
		t.Errorf("FindTop(above) = %q, %v, want ErrNoTop", got, err)
	}
}

func TestLoad(t *testing.T) {
	top := repository(t, "core/go.mod", "core/a/a.go", "core/a/a_test.go", "core/a/a.s",
		"core/testdata/x.go", "core/.hidden/x.go", "core/_old/x.go", "core/vendor/x.go",
		"tools/rivals/go.mod", "tools/rivals/r/r.go", "tools/x.go", "http/x.go", "stray/x.go")
	tree, err := Load(top)
	if err != nil {
		t.Fatalf("Load = %v, want nil", err)
	}
	var got []string
	tree.EachFile(func(m *Module, p *Package, f *File) {
		mark := ""
		if f.Test {
			mark = " test"
		}
		got = append(got, m.Dir+": "+p.Dir+": "+f.Path+mark)
	})
	want := "core: core/a: core/a/a.go\ncore: core/a: core/a/a_test.go test\n" +
		"tools: tools: tools/x.go\ntools/rivals: tools/rivals/r: tools/rivals/r/r.go"
	if text := strings.Join(got, "\n"); text != want {
		t.Errorf("Load read\n%s\nwant\n%s", text, want)
	}
	if core := tree.Module("core"); len(core.Others) != 1 || core.Others[0] != "core/a/a.s" {
		t.Errorf("Others = %q, want core/a/a.s", core.Others)
	}
	if tree.Module("http") != nil {
		t.Error("Module(http) without a go.mod, want nil")
	}
	if p := tree.Module("core").Package("core/b"); p != nil {
		t.Errorf("Package(core/b) = %v, want nil", p)
	}
}
