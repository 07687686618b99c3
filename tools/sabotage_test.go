// SPDX-License-Identifier: MIT

package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"m0serve.dev/tools/internal/spec"
)

func TestSabotageNames(t *testing.T) {
	s := &spec.Sabotage{ID: "bus-skip", Module: "http", Row: "B1.bus", File: "bus/bus.go"}
	for _, what := range []string{
		"", "bus-skip", "http", "http/bus", "http/bus-skip", "http/B1.bus", "B1.bus",
	} {
		if !matches(s, what) {
			t.Errorf("matches(%q) = false, want true", what)
		}
	}
	for _, what := range []string{"bus", "http/bu", "core", "http/sse", "B1", "http/bus/bus.go"} {
		if matches(s, what) {
			t.Errorf("matches(%q) = true, want false", what)
		}
	}
}

func TestSabotageFindsTheBlindTest(t *testing.T) {
	top := repository(t)
	test := "package x\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {\n\tif A != 1 {\n" +
		"\t\tt.Errorf(\"A = %d, want 1\", A)\n\t}\n}\n\nfunc TestBlind(t *testing.T) {}\n"
	write(t, filepath.Join(top, "core/x/x_test.go"), test)
	sabotage := func(id, gate string) {
		write(t, filepath.Join(top, "core/testdata/sabotage", id+".txt"), "row: C1\nfile: x/x.go\n"+
			"gate: go test ./x -run "+gate+"\nwant: A = 2\n-- old --\nconst A = 1\n-- new --\n"+
			"const A = 2\n")
	}
	sabotage("seen", "^TestA$")
	commitAll(t, top)
	if status, out := callHere(t, top, "sabotage", "core"); status != 0 ||
		!strings.Contains(out, "1 killed of 1") {
		t.Errorf("sabotage core = %d, want 0 with one killed in\n%s", status, out)
	}
	sabotage("unseen", "^TestBlind$")
	write(t, filepath.Join(top, "core/testdata/sabotage/unread.txt"), "row: C1\n")
	status, out := callHere(t, top, "sabotage")
	if status != 1 || !strings.Contains(out, "1 survived, 1 broken") {
		t.Errorf("sabotage = %d, want 1 with one survived and one broken in\n%s", status, out)
	}
	status, out = callHere(t, top, "sabotage", "unseen")
	if status != 1 || !strings.Contains(out, "core/testdata/sabotage/unseen.txt: survived") {
		t.Errorf("sabotage unseen = %d, want 1 with the file in\n%s", status, out)
	}
}

func TestSabotageChanged(t *testing.T) {
	top := repository(t)
	for _, m := range []string{"core/x", "http/y"} {
		module, pkg, _ := strings.Cut(m, "/")
		write(t, filepath.Join(top, module, "testdata/sabotage", pkg+".txt"), "row: C1\nfile: "+
			pkg+"/"+pkg+".go\ngate: go test ./"+pkg+"\nwant: x\n-- old --\na\n-- new --\nb\n")
	}
	commitAll(t, top)
	commitOther(t, top)
	tests := []struct {
		name, file, text string
		want             []string
	}{
		{"file", "http/y/y.go", "package y\n", []string{"y"}},
		{"file beside it", "core/x/new.go", "package x\n", []string{"x"}},
		{"the sabotage itself", "core/testdata/sabotage/x.txt", "row: C1\n", []string{"x"}},
		{"something else", "core/LICENSE", "BSD\n", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			write(t, filepath.Join(top, tt.file), tt.text)
			e := &env{ctx: t.Context(), top: top}
			list, err := e.selectSabotages("", true)
			var got []string
			for _, s := range list {
				got = append(got, s.ID)
			}
			if !slices.Equal(got, tt.want) || err != nil {
				t.Errorf("selectSabotages(changed) = %q, %v, want %q", got, err, tt.want)
			}
			git(t, top, "stash", "--quiet", "--include-untracked")
		})
	}
}

// commitOther makes a last commit that touches no sabotage.
func commitOther(t *testing.T, top string) {
	t.Helper()
	write(t, filepath.Join(top, "wsgi/w.txt"), "w\n")
	commitAll(t, top)
}
