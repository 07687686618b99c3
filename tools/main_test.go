// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"m0serve.dev/tools/internal/console"
	"m0serve.dev/tools/internal/tree"
)

// callHere runs the tools in the folder dir and returns status and output.
func callHere(t *testing.T, dir string, args ...string) (int, string) {
	t.Helper()
	t.Chdir(dir)
	var out bytes.Buffer
	return run(t.Context(), args, &out), out.String()
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{nil, {"help"}, {"-h"}, {"--help"}} {
		status, out := callHere(t, ".", args...)
		if status != 0 {
			t.Errorf("tools %q = %d, want 0", args, status)
		}
		for _, v := range verbs() {
			if !strings.Contains(out, "\n  "+v.name+" ") || v.help == "" {
				t.Errorf("tools %q has no line for %s in\n%s", args, v.name, out)
			}
		}
	}
}

func TestWrongCalls(t *testing.T) {
	tests := []struct {
		args []string
		want string
	}{
		{[]string{"fly"}, `no verb "fly"`},
		{[]string{"quick", "fly"}, `no step "fly"; there are rules vet`},
		{[]string{"full", "fast"}, "takes only --offline"},
		{[]string{"setup", "-x"}, "takes only --offline"},
		{[]string{"smoke"}, "wants one of a_app"},
		{[]string{"smoke", "b_app"}, `no application "b_app"; there are a_app`},
		{[]string{"bench", "goodbye"}, `does not know "goodbye"; there are hello`},
		{[]string{"bench", "wsgi", "--fast"}, "-fast"},
		{[]string{"build-apps", "x"}, "takes no argument"},
		{[]string{"wheel", "x"}, "takes only --out DIR"},
		{[]string{"wheel", "--out"}, "takes only --out DIR"},
		{[]string{"sbom", "x"}, "takes only --out FILE"},
		{[]string{"prove", "--only", "fly"}, `no part "fly"; there are vulns`},
		{[]string{"isolate", "x"}, "takes no argument"},
		{[]string{"tidy", "x"}, "takes no argument"},
		{[]string{"sabotage", "nothing"}, `nothing is called "nothing"`},
		{[]string{"sabotage", "a", "b"}, `does not understand "b"`},
		{[]string{"sabotage", "--fast"}, `does not understand "--fast"`},
	}
	top := t.TempDir()
	write(t, filepath.Join(top, "go.work"), "go 1.26\n")
	write(t, filepath.Join(top, "tools/go.mod"), "module m0serve.dev/tools\n")
	write(t, filepath.Join(top, "apps/a_app/smoke_test.go"), "package main\n")
	for _, tt := range tests {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			status, out := callHere(t, top, tt.args...)
			if status != 2 || !strings.Contains(out, tt.want) {
				t.Errorf("tools %q = %d, want 2 with %q in\n%s", tt.args, status, tt.want, out)
			}
		})
	}
}

func TestOutsideOfARepository(t *testing.T) {
	status, out := callHere(t, t.TempDir(), "quick")
	if status != 1 || !strings.Contains(out, "run this inside the repository") {
		t.Errorf("tools quick outside = %d, want 1 with the cure in\n%s", status, out)
	}
}

// TestTopIsFoundFromBelow uses the rules because they run nothing.
func TestTopIsFoundFromBelow(t *testing.T) {
	top := t.TempDir()
	write(t, filepath.Join(top, "go.work"), "go 1.26\n")
	write(t, filepath.Join(top, "tools/go.mod"), "module m0serve.dev/tools\n")
	write(t, filepath.Join(top, "core/go.mod"), "module m0serve.dev/core\n")
	write(t, filepath.Join(top, "core/a/b/b.go"), "package b\n")
	status, out := callHere(t, filepath.Join(top, "core/a/b"), "quick", "rules")
	if status != 1 || !strings.Contains(out, "core/a/b/b.go:1: licence: ") {
		t.Errorf("tools quick rules = %d, want 1 with the licence missing in\n%s", status, out)
	}
}

func TestStepsGoOnAfterAFailure(t *testing.T) {
	var out bytes.Buffer
	e := &env{con: console.New(&out)}
	ran := ""
	note := func(name string, err error) step {
		return step{name, "x", func(*console.Step) error { ran += name; return err }}
	}
	list := []step{note("a", errFailed), note("b", nil), note("c", nil)}
	if err := e.steps(list, nil); err != nil || ran != "abc" {
		t.Errorf("steps(all) = %v, ran %q, want abc", err, ran)
	}
	ran = ""
	if err := e.steps(list, []string{"c", "b"}); err != nil || ran != "bc" {
		t.Errorf("steps(c, b) = %v, ran %q, want bc", err, ran)
	}
	if e.con.Close("x") {
		t.Error("Close = true, want false after a failed step")
	}
}

func TestExceptionsFileExists(t *testing.T) {
	top, err := tree.FindTop(".")
	if err != nil {
		t.Skip("not inside the repository: a module alone has no exceptions")
	}
	if _, err := os.Stat(filepath.Join(top, filepath.FromSlash(exceptionsFile))); err != nil {
		t.Errorf("%s: %v, want it beside the rules", exceptionsFile, err)
	}
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
