// SPDX-License-Identifier: MIT

// Package ruletest holds what the tests of the rules share: a repository made of a
// few files, and the comparison of what a rule finds with what it should find.
package ruletest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"m0serve.dev/tools/internal/rule"
	"m0serve.dev/tools/internal/tree"
)

// Fixture writes files (path below the top to text) into a temporary folder that
// looks like the repository and loads it. A go.mod is added for each module that
// a path opens with, unless the fixture brings its own. It is for tests of rules.
func Fixture(t *testing.T, files map[string]string) *tree.Tree {
	t.Helper()
	top := t.TempDir()
	all := map[string]string{}
	for p := range files {
		module, _, below := strings.Cut(p, "/")
		if !below {
			continue
		}
		all[module+"/go.mod"] = "module m0serve.dev/" + module + "\n\ngo 1.26\n"
	}
	for p, text := range files {
		all[p] = text
	}
	for p, text := range all {
		write(t, filepath.Join(top, filepath.FromSlash(p)), text)
	}
	loaded, err := tree.Load(top)
	if err != nil {
		t.Fatalf("tree.Load(fixture) = %v, want nil", err)
	}
	return loaded
}

// Want fails the test unless r finds exactly the places in want, each given as
// "file:line part of the text".
func Want(t *testing.T, r rule.Rule, fixture *tree.Tree, want ...string) {
	t.Helper()
	found := rule.Run(fixture, []rule.Rule{r})
	if len(found) != len(want) {
		t.Fatalf("rule %s found %d places, want %d:\n%s", r.Name, len(found), len(want), list(found))
	}
	for i, f := range found {
		place, part, _ := strings.Cut(want[i], " ")
		got := f.String()
		if !strings.HasPrefix(got, place+": "+r.Name+": ") || !strings.Contains(got, part) {
			t.Errorf("rule %s finding %d = %q, want %q with %q", r.Name, i, got, place, part)
		}
	}
}

func list(found []rule.Finding) string {
	var b strings.Builder
	for _, f := range found {
		b.WriteString("  " + f.String() + "\n")
	}
	return b.String()
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}
