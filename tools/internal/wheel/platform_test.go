// SPDX-License-Identifier: MIT

//go:build linux

package wheel

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// library compiles C into a shared library and returns its file.
func library(t *testing.T, dir, name, code string, flags ...string) string {
	t.Helper()
	source, file := filepath.Join(dir, name+".c"), filepath.Join(dir, "lib"+name+".so")
	if err := os.WriteFile(source, []byte(code), 0o666); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"-shared", "-fPIC", "-nostartfiles", "-o", file, source}, flags...)
	if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("gcc %q = %v\n%s", args, err, out)
	}
	return file
}

// TestPlatform reads real libraries: the newest glibc that any file needs decides,
// and a library that not every system has makes the wheel one of this machine alone.
func TestPlatform(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("SKIPPED: no gcc")
	}
	machine := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	if machine == "" {
		t.Skip("SKIPPED: the symbols of glibc are known for amd64 and arm64 alone")
	}
	dir := t.TempDir()
	old := library(t, dir, "old",
		"char *getenv(const char *); char *f(void) { return getenv(\"A\"); }")
	random := library(t, dir, "random",
		"long getrandom(void *, unsigned long, unsigned); long g(void *p) { return getrandom(p, 1, 0); }")
	foreign := library(t, dir, "foreign", "char *f(void); char *h(void) { return f(); }",
		"-Wl,--no-as-needed", "-L"+dir, "-lold")
	none := library(t, dir, "none", "int one(void) { return 1; }", "-nostdlib")
	for _, tt := range []struct {
		name         string
		files        []string
		tag, because string
	}{
		{"old symbols", []string{old}, "manylinux_2_17_" + machine, "no newer glibc"},
		{"no symbols", []string{none}, "manylinux_2_17_" + machine, "no newer glibc"},
		{"a newer one", []string{random}, "manylinux_2_25_" + machine, "getrandom@GLIBC_2.25"},
		{"the newest counts", []string{random, old}, "manylinux_2_25_" + machine, "getrandom@GLIBC_2.25"},
		{"foreign", []string{random, foreign}, "linux_" + machine, "libold.so"},
	} {
		got, err := PlatformOf(tt.files...)
		if err != nil || got.Tag != tt.tag || !strings.Contains(got.Because, tt.because) {
			t.Errorf("%s: PlatformOf = %+v, %v; want %s because of %s",
				tt.name, got, err, tt.tag, tt.because)
		}
	}
	if _, err := PlatformOf(filepath.Join(dir, "old.c")); err == nil {
		t.Error("PlatformOf(C source) = nil, want an error")
	}
}

// TestVersions has what no compiler here makes.
func TestVersions(t *testing.T) {
	for _, tt := range []struct {
		versions []string
		want     string
	}{
		{[]string{"GLIBC_2.2.5", "GLIBC_2.34", "GLIBC_2.9"}, "manylinux_2_34_x86_64"},
		{[]string{"GLIBC_2.17", "GLIBC_ABI_DT_RELR"}, "manylinux_2_36_x86_64"},
		{[]string{"GCC_3.0", "OPENSSL_3.0.0"}, "manylinux_2_17_x86_64"},
		{[]string{"GLIBC_2.34", "GLIBC_PRIVATE"}, "linux_x86_64"},
	} {
		n := needs{machine: "x86_64"}
		for _, v := range tt.versions {
			n.version(v, nil)
		}
		if got := n.platform().Tag; got != tt.want {
			t.Errorf("versions %q = %s, want %s", tt.versions, got, tt.want)
		}
	}
}
