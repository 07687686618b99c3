// SPDX-License-Identifier: MIT

package gotest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"m0serve.dev/tools/internal/proc"
)

// module is a module with one test of every kind.
var module = map[string]string{
	"go.mod":    "module m0serve.dev/fixture\n\ngo 1.26\n",
	"good/a.go": "package good\n",
	"good/a_test.go": `package good

import "testing"

func TestPass(t *testing.T) { t.Run("sub", func(t *testing.T) {}) }
func TestSkip(t *testing.T) { t.Skip("why") }
func TestShort(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
}
`,
	"bad/a_test.go": `package bad

import "testing"

func TestPass(t *testing.T) {}
func TestFail(t *testing.T) {
	t.Log("before")
	t.Run("sub", func(t *testing.T) { t.Error("the reason") })
}
`,
	"broken/a_test.go": "package broken\n\nfunc f() { undefined() }\n",
	"exit/a_test.go": `package exit

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) { println("said"); os.Exit(3) }
`,
}

func fixture(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range module {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func run(t *testing.T, tally *Tally, dir string, args ...string) error {
	t.Helper()
	c := proc.Cmd{
		Dir: dir, Env: []string{"GOWORK=off"},
		Args: append([]string{"go", "test", "-json"}, args...),
	}
	return tally.Test(t.Context(), c, func(string) {})
}

func wantCounts(t *testing.T, tally *Tally, passed, failed, skipped int) {
	t.Helper()
	p, f, s := tally.Counts()
	if p != passed || f != failed || s != skipped {
		t.Errorf("Counts = %d, %d, %d, want %d passed, %d failed, %d skipped",
			p, f, s, passed, failed, skipped)
	}
}

func TestCounts(t *testing.T) {
	dir, tally := fixture(t), &Tally{}
	if err := run(t, tally, dir, "-short", "./good"); err != nil {
		t.Fatalf("Test(good) = %v, want nil", err)
	}
	wantCounts(t, tally, 1, 0, 2)
	if err := run(t, tally, dir, "./good"); err != nil {
		t.Fatalf("Test(good) = %v, want nil", err)
	}
	wantCounts(t, tally, 2, 0, 1) // the long run passed what the short one skipped
	if got := strings.Join(tally.Skips(), ","); got != "m0serve.dev/fixture/good TestSkip" {
		t.Errorf("Skips = %q, want TestSkip alone", got)
	}
	if err := run(t, tally, dir, "./..."); err == nil {
		t.Fatal("Test(./...) = nil, want an error")
	}
	// TestPass and TestFail of bad, and one failure each for broken and exit.
	wantCounts(t, tally, 3, 3, 1)
}

func TestFailures(t *testing.T) {
	tests := []struct {
		pkg  string
		want []string
	}{
		{"./bad", []string{"FAIL fixture/bad TestFail/sub\n", "fixture/bad/a_test.go:8: the reason"}},
		{"./broken", []string{"broken/a_test.go:3:12: undefined: undefined"}},
		{"./exit", []string{"FAIL fixture/exit", "said"}},
		{"./none", []string{"no such file or directory|directory not found"}},
	}
	dir := fixture(t)
	for _, tt := range tests {
		t.Run(tt.pkg, func(t *testing.T) {
			err := run(t, &Tally{}, dir, tt.pkg)
			if err == nil {
				t.Fatal("Test = nil, want an error")
			}
			for _, want := range tt.want {
				if !containsAny(err.Error(), strings.Split(want, "|")) {
					t.Errorf("Test(%s) = %v\nwant %q in it", tt.pkg, err, want)
				}
			}
		})
	}
}

func containsAny(text string, parts []string) bool {
	for _, p := range parts {
		if strings.Contains(text, p) {
			return true
		}
	}
	return false
}
