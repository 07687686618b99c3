// SPDX-License-Identifier: MIT

//go:build unix

package pyvenv

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An environment is found only when it is complete and of the list of this
// repository; everything else says what to do.
func TestDir(t *testing.T) {
	list, err := os.ReadFile(filepath.Join("..", "..", "..", "tools", "testdata", "requirements.txt"))
	if err != nil {
		t.Skip("SKIPPED: outside of the repository:", err)
	}
	if len(list) == 0 || wanted() == "" {
		t.Fatalf("wanted() = %q, want the sum of %d bytes", wanted(), len(list))
	}
	tests := []struct {
		name, complete, want string
	}{
		{"none", "", "go run ./tools setup"},
		{"of another list", "00ff", "of another tools/testdata/requirements.txt"},
		{"of this list", wanted() + "\n", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cache := t.TempDir()
			t.Setenv("XDG_CACHE_HOME", cache)
			t.Setenv("HOME", cache)
			t.Setenv("M0_TEST_VENV", "")
			base, err := os.UserCacheDir()
			if err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(base, "m0", "venv")
			if err := os.MkdirAll(dir, 0o777); err != nil {
				t.Fatal(err)
			}
			if tt.complete != "" {
				file := filepath.Join(dir, "complete")
				if err := os.WriteFile(file, []byte(tt.complete), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			got, err := Dir()
			if tt.want == "" && (got != dir || err != nil) {
				t.Errorf("Dir() = %q, %v, want %q", got, err, dir)
			}
			if tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("Dir() = %q, %v, want an error with %q", got, err, tt.want)
			}
		})
	}
}
