// SPDX-License-Identifier: MIT

//go:build unix

package venv

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// script plays python3: it makes an environment whose interpreter is itself, and
// its pip fails when the file "broken" lies beside it.
const script = `#!/bin/sh
case "$1 $2" in
"-m venv")
	/bin/rm -rf "$4" && /bin/mkdir -p "$4/bin" && /bin/cp "$0" "$4/bin/python"
	echo made >>HERE/made ;;
"-c import importlib.metadata as m, sys; sys.exit(m.version(sys.argv[1]) != sys.argv[2])")
	[ -e "HERE/has-$3" ] ;;
"-m pip")
	if [ -e HERE/broken ]; then echo no such version; exit 1; fi
	echo pip >>HERE/pips
	echo Collecting Django
	for last; do :; done
	last=${last##*/}
	echo >"HERE/has-${last%%==*}" ;;
esac
`

// house makes a repository with the list of versions and a machine whose python3
// is the script. It returns the folder of the script.
func house(t *testing.T, list string) (top, here string) {
	t.Helper()
	top, here = t.TempDir(), t.TempDir()
	text := strings.ReplaceAll(script, "HERE", here)
	write(t, filepath.Join(here, "python3"), text)
	write(t, filepath.Join(top, Requirements), list)
	t.Setenv("PATH", here)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	return top, here
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o777); err != nil {
		t.Fatal(err)
	}
}

func testsOf(t *testing.T, top string) *Venv {
	t.Helper()
	v, err := Of(top)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// made counts how often an environment was made.
func made(here string) int {
	text, _ := os.ReadFile(filepath.Join(here, "made"))
	return strings.Count(string(text), "made")
}

func TestMakeOnce(t *testing.T) {
	top, here := house(t, "Django==5\n")
	v := testsOf(t, top)
	if err := v.Check(t.Context()); !errors.Is(err, ErrMissing) {
		t.Errorf("Check before Make = %v, want %v", err, ErrMissing)
	}
	var said []string
	for range 2 {
		if err := v.Make(t.Context(), func(s string) { said = append(said, s) }); err != nil {
			t.Fatalf("Make = %v, want nil", err)
		}
	}
	if err := v.Check(t.Context()); err != nil {
		t.Errorf("Check after Make = %v, want nil", err)
	}
	if n := made(here); n != 1 {
		t.Errorf("two calls of Make made %d environments, want 1", n)
	}
	if len(said) != 1 || said[0] != "Collecting Django" {
		t.Errorf("Make said %q, want the line of pip", said)
	}
}

func TestMakeAnew(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(t *testing.T, v *Venv, top string)
	}{
		{"another list", func(t *testing.T, _ *Venv, top string) {
			write(t, filepath.Join(top, Requirements), "Django==6\n")
		}},
		{"broken off", func(t *testing.T, v *Venv, _ string) {
			write(t, filepath.Join(v.Dir, complete), "")
		}},
		{"its interpreter is gone", func(t *testing.T, v *Venv, _ string) {
			if err := os.Remove(v.Python()); err != nil {
				t.Fatal(err)
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			top, here := house(t, "Django==5\n")
			v := testsOf(t, top)
			if err := v.Make(t.Context(), func(string) {}); err != nil {
				t.Fatal(err)
			}
			tt.spoil(t, v, top)
			v = testsOf(t, top)
			if err := v.Check(t.Context()); !errors.Is(err, ErrMissing) {
				t.Errorf("Check = %v, want %v", err, ErrMissing)
			}
			if err := v.Make(t.Context(), func(string) {}); err != nil || made(here) != 2 {
				t.Errorf("Make = %v, made %d times, want nil and 2", err, made(here))
			}
		})
	}
}

func TestMakeSaysWhatPipSaid(t *testing.T) {
	top, here := house(t, "Django==99\n")
	write(t, filepath.Join(here, "broken"), "")
	v := testsOf(t, top)
	err := v.Make(t.Context(), func(string) {})
	if err == nil || !strings.Contains(err.Error(), "no such version") {
		t.Errorf("Make = %v, want the line of pip in it", err)
	}
	if err := v.Check(t.Context()); !errors.Is(err, ErrMissing) {
		t.Errorf("Check after a failure = %v, want %v", err, ErrMissing)
	}
}

// TestBenchAndAdd makes the environment of the benches beside the other, and puts
// one more into it, which is done once and may fail alone.
func TestBenchAndAdd(t *testing.T) {
	top, here := house(t, "Django==5\n")
	write(t, filepath.Join(top, BenchRequirements), "Django==6\n")
	v, err := Bench(top)
	if err != nil {
		t.Fatal(err)
	}
	if tests := testsOf(t, top); tests.Dir == v.Dir || tests.sum == v.sum {
		t.Errorf("Of and Bench are one environment: %+v", v)
	}
	ignore := func(string) {}
	if err := v.Make(t.Context(), ignore); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := v.Add(t.Context(), "bjoern==3", ignore); err != nil {
			t.Errorf("Add = %v, want nil", err)
		}
	}
	pips, _ := os.ReadFile(filepath.Join(here, "pips"))
	if n := strings.Count(string(pips), "pip"); n != 2 {
		t.Errorf("pip ran %d times, want once for the list and once for bjoern", n)
	}
	write(t, filepath.Join(here, "broken"), "")
	err = v.Add(t.Context(), "uwsgi==2", ignore)
	if err == nil || !strings.Contains(err.Error(), "no such version") {
		t.Errorf("Add of what cannot be built = %v, want the line of pip", err)
	}
	if err := v.Check(t.Context()); err != nil {
		t.Errorf("Check after it = %v, want nil", err)
	}
}
