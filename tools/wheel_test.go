// SPDX-License-Identifier: MIT

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"m0serve.dev/tools/internal/tree"
)

func TestWheelTime(t *testing.T) {
	for _, tt := range []struct {
		epoch string
		want  time.Time
	}{
		{"", zipEpoch},
		{"1700000000", time.Unix(1700000000, 0)},
	} {
		if got, err := wheelTime(tt.epoch); err != nil || !got.Equal(tt.want) {
			t.Errorf("wheelTime(%q) = %v, %v, want %v", tt.epoch, got, err, tt.want)
		}
	}
	for _, epoch := range []string{"yesterday", "0", "-1", "1.5"} {
		if got, err := wheelTime(epoch); err == nil || !strings.Contains(err.Error(), epoch) {
			t.Errorf("wheelTime(%q) = %v, %v, want an error that names it", epoch, got, err)
		}
	}
}

// here returns the environment of the repository around this folder, or skips.
func here(t *testing.T) *env {
	t.Helper()
	top, err := tree.FindTop(".")
	if err != nil {
		t.Skip("SKIPPED: not inside the repository")
	}
	return &env{ctx: t.Context(), top: top}
}

// TestWheelHoldsThePackagesOfPython: what lies in the folder is in the wheel, and
// nothing that Python left beside it.
func TestWheelHoldsThePackagesOfPython(t *testing.T) {
	top := t.TempDir()
	for _, name := range []string{"m0serve/__init__.py", "m0serve/__main__.py",
		"m0serve/__pycache__/x.pyc"} {
		write(t, filepath.Join(top, wheelPackages, name), "# "+name)
	}
	write(t, filepath.Join(top, wheelPublisher, "__init__.py"), "# m0pub/__init__.py")
	files, err := (&env{top: top}).wheelSources()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Name)
		if string(f.Data) != "# "+f.Name || f.Executable {
			t.Errorf("%s = %q, executable %v; want its text, not executable", f.Name, f.Data, f.Executable)
		}
	}
	want := []string{"m0pub/__init__.py", "m0serve/__init__.py", "m0serve/__main__.py"}
	if !slices.Equal(names, want) {
		t.Errorf("wheelSources() = %q, want %q", names, want)
	}
	if _, err := (&env{top: t.TempDir()}).wheelSources(); err == nil {
		t.Error("wheelSources() without the folder = nil, want an error")
	}
}

// TestWheelAndCommandHaveOneVersion: the wheel is named after go.work, the command
// says its own.
func TestWheelAndCommandHaveOneVersion(t *testing.T) {
	e := here(t)
	version, err := e.workVersion()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(e.top, "wsgi/serve/main.go"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^const Version = "(.+)"$`).FindSubmatch(text)
	if m == nil || "v"+string(m[1]) != version {
		t.Errorf("const Version of wsgi/serve = %q, want %s without its v", m, version)
	}
}

// TestWheelHasTheLicencesOfWhatItShips reads them where they are.
func TestWheelHasTheLicencesOfWhatItShips(t *testing.T) {
	list, err := here(t).licences()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, l := range list {
		got[l.Name] = len(l.Data) > 500
	}
	for _, want := range []string{"LICENSE", "go/LICENSE", "golang.org/x/sys/LICENSE",
		"github.com/cespare/xxhash/v2/LICENSE"} {
		if !got[want] {
			t.Errorf("licences() = %v, want %s with its text", got, want)
		}
	}
}
