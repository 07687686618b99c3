// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"m0serve.dev/tools/internal/proc"
	"m0serve.dev/tools/internal/tree"
)

// repository makes a git repository of eight modules: core has a package, http
// imports it, the others are empty. The user's cache is a temporary one.
func repository(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("packs and builds eight modules")
	}
	top := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("GOFLAGS", "-modcacherw")
	files := map[string]string{
		"go.work":     "go 1.26\n\nreplace m0serve.dev/core v0.1.0 => ./core\n",
		"core/x/x.go": "// Package x is.\npackage x\n\n// A is.\nconst A = 1\n",
		"http/y/y.go": "// Package y is.\npackage y\n\nimport \"m0serve.dev/core/x\"\n\n" +
			"// B is.\nconst B = x.A\n",
		"http/y/y_test.go": "package y\n\nimport \"testing\"\n\nfunc TestB(t *testing.T) {\n" +
			"\tif B != 1 {\n\t\tt.Errorf(\"B = %d, want 1\", B)\n\t}\n}\n",
	}
	for _, m := range tree.Names {
		files["go.work"] += "use ./" + m + "\n"
		files[m+"/go.mod"] = "module m0serve.dev/" + m + "\n\ngo 1.26\n"
		files[m+"/CHANGELOG.md"] = "# Changelog\n\n## Unreleased (v0.1.0)\n"
		files[m+"/LICENSE"] = "MIT\n"
	}
	files["http/go.mod"] += "\nrequire m0serve.dev/core v0.1.0\n"
	for name, text := range files {
		write(t, filepath.Join(top, name), text)
	}
	git(t, top, "init", "--quiet")
	git(t, top, "config", "user.name", "test")
	git(t, top, "config", "user.email", "test@example.com")
	commitAll(t, top)
	return top
}

func TestReleaseIsDryByDefault(t *testing.T) {
	top := repository(t)
	status, out := callHere(t, top, "release", "v0.1.0")
	if status != 0 || !strings.Contains(out, "git tag -a http/v0.1.0") {
		t.Fatalf("release v0.1.0 = %d, want 0 and its commands in\n%s", status, out)
	}
	if dirty := git(t, top, "status", "--porcelain"); dirty != "" {
		t.Errorf("release without --do changed\n%s", dirty)
	}
	if tags := git(t, top, "tag"); tags != "" {
		t.Errorf("release without --do tagged\n%s", tags)
	}
}

// TestReleaseSumsAreOfTheTaggedTree compares the sum that the release wrote with
// that of the files in its tag, which is what a module proxy serves.
func TestReleaseSumsAreOfTheTaggedTree(t *testing.T) {
	top := repository(t)
	if status, out := callHere(t, top, "release", "v0.1.0", "--do"); status != 0 {
		t.Fatalf("release v0.1.0 --do = %d, want 0\n%s", status, out)
	}
	if dirty := git(t, top, "status", "--porcelain"); dirty != "" {
		t.Errorf("release left uncommitted\n%s", dirty)
	}
	if tags, want := git(t, top, "tag"), "core/v0.1.0 datastar/v0.1.0 host/v0.1.0 http/v0.1.0 "+
		"sqlite/v0.1.0 wsgi/v0.1.0"; strings.Join(strings.Fields(tags), " ") != want {
		t.Errorf("tags = %q, want %q", tags, want)
	}
	sum, err := os.ReadFile(filepath.Join(top, "http", "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	want := "m0serve.dev/core v0.1.0 " + sumOfTag(t, top, "core", "v0.1.0") + "\n"
	if !strings.Contains(string(sum), want) {
		t.Errorf("http/go.sum = %q, want the line %q", sum, want)
	}
}

func TestReleaseRefuses(t *testing.T) {
	tests := []struct {
		name   string
		spoil  func(top string)
		args   []string
		status int
		want   string
	}{
		{"no version", nil, nil, 2, "wants a version"},
		{"no such word", nil, []string{"v0.1.0", "--now"}, 2, `does not understand "--now"`},
		{"other version", nil, []string{"v0.2.0"}, 1, "go.work prepares v0.1.0"},
		{"dirty", func(top string) { write(t, filepath.Join(top, "core/new.go"), "package core\n") },
			[]string{"v0.1.0"}, 1, "core/new.go"},
		{"tagged", func(top string) { git(t, top, "tag", "http/v0.1.0") }, []string{"v0.1.0"}, 1,
			"the tag http/v0.1.0 exists"},
		{"changelog", func(top string) {
			write(t, filepath.Join(top, "host/CHANGELOG.md"), "# none\n")
			commitAll(t, top)
		}, []string{"v0.1.0"}, 1, "host/CHANGELOG.md"},
		{"untidy", func(top string) {
			write(t, filepath.Join(top, "host/go.mod"), "module m0serve.dev/host\n\ngo 1.26\n\n"+
				"require m0serve.dev/core v0.1.0\n")
			commitAll(t, top)
		}, []string{"v0.1.0"}, 1, "host/go.mod: is not tidy"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			top := repository(t)
			if tt.spoil != nil {
				tt.spoil(top)
			}
			status, out := callHere(t, top, append([]string{"release"}, tt.args...)...)
			if status != tt.status || !strings.Contains(out, tt.want) {
				t.Errorf("release %q = %d, want %d with %q in\n%s", tt.args, status, tt.status, tt.want, out)
			}
		})
	}
}

func TestTidy(t *testing.T) {
	top := repository(t)
	untidy := "module m0serve.dev/host\n\ngo 1.26.0\n\nrequire m0serve.dev/core v0.1.0\n"
	write(t, filepath.Join(top, "host/go.mod"), untidy)
	write(t, filepath.Join(top, "http/go.sum"), "m0serve.dev/core v0.1.0 h1:x\n")
	if status, out := callHere(t, top, "tidy"); status != 0 {
		t.Fatalf("tidy = %d, want 0\n%s", status, out)
	}
	for file, want := range map[string]string{
		"host/go.mod": "module m0serve.dev/host\n\ngo 1.26.0\n",
		"core/go.mod": "module m0serve.dev/core\n\ngo 1.26.0\n",
		"http/go.sum": "",
	} {
		got, err := os.ReadFile(filepath.Join(top, file))
		if string(got) != want || err != nil && want != "" {
			t.Errorf("after tidy %s = %q, %v, want %q", file, got, err, want)
		}
	}
	work, err := os.ReadFile(filepath.Join(top, "go.work"))
	if !bytes.HasPrefix(work, []byte("go 1.26.0\n")) {
		t.Errorf("after tidy go.work = %q, %v, want go 1.26.0 first", work, err)
	}
}

func TestIsolate(t *testing.T) {
	top := repository(t)
	status, out := callHere(t, top, "isolate")
	if status != 0 || !strings.Contains(out, "http      builds and passes") {
		t.Fatalf("isolate = %d, want 0 with http in\n%s", status, out)
	}
	// A file that git ignores is there on this disk and nowhere else.
	write(t, filepath.Join(top, ".gitignore"), "z.go\n")
	write(t, filepath.Join(top, "core/x/z.go"), "package x\n\n// C is.\nconst C = 1\n")
	write(t, filepath.Join(top, "http/y/c.go"), "package y\n\nimport \"m0serve.dev/core/x\"\n\n"+
		"// C is.\nconst C = x.C\n")
	status, out = callHere(t, top, "isolate")
	if status != 1 || !strings.Contains(out, "undefined: x.C") {
		t.Errorf("isolate = %d, want 1 with \"undefined: x.C\" in\n%s", status, out)
	}
	if strings.Contains(out, "core/x/z.go") {
		t.Errorf("isolate saw an ignored file:\n%s", out)
	}
}

// sumOfTag is the h1 sum of a module as a tag has it: the sum over the lines
// "sum of the file, two spaces, path@version/name", sorted by name.
func sumOfTag(t *testing.T, top, module, version string) string {
	t.Helper()
	tag := module + "/" + version
	names := strings.Fields(git(t, top, "ls-tree", "-r", "--name-only", tag+":"+module))
	sort.Strings(names)
	all := sha256.New()
	for _, name := range names {
		text, err := proc.Run(t.Context(), proc.Cmd{
			Dir: top, Args: []string{"git", "show", tag + ":" + module + "/" + name},
		})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(all, "%x  %s@%s/%s\n", sha256.Sum256([]byte(text)), tree.Path(module), version, name)
	}
	return "h1:" + base64.StdEncoding.EncodeToString(all.Sum(nil))
}

func commitAll(t *testing.T, top string) {
	t.Helper()
	git(t, top, "add", "-A")
	git(t, top, "commit", "--quiet", "-m", "fixture")
}

func git(t *testing.T, top string, args ...string) string {
	t.Helper()
	out, err := proc.Run(t.Context(), proc.Cmd{Dir: top, Args: append([]string{"git"}, args...)})
	if err != nil {
		t.Fatalf("git %q = %v", args, err)
	}
	return out
}
