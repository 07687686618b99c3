// SPDX-License-Identifier: MIT

// Package pyvenv finds the virtual environment that `go run ./tools setup` makes
// for tests of Python applications: the frameworks and servers of
// tools/testdata/requirements.txt in the user's cache folder. A test that cannot
// have it says why and is skipped. M0_TEST_VENV names another environment, made by
// another interpreter say, which is then taken as it is.
package pyvenv

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// cure is what a skipped test tells the reader to do.
const cure = "`go run ./tools setup` makes it"

// Dir returns the folder of the environment, or an error that says why there is
// none.
func Dir() (string, error) {
	if dir := os.Getenv("M0_TEST_VENV"); dir != "" {
		if _, err := os.Stat(filepath.Join(dir, "bin", "python")); err != nil {
			return "", fmt.Errorf("pyvenv: M0_TEST_VENV: %w", err)
		}
		return dir, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("pyvenv: no cache folder: %w", err)
	}
	dir := filepath.Join(cache, "m0", "venv")
	made, err := os.ReadFile(filepath.Join(dir, "complete"))
	if err != nil {
		return "", fmt.Errorf("pyvenv: no virtual environment for tests in %s; %s", dir, cure)
	}
	want := wanted()
	if want != "" && strings.TrimSpace(string(made)) != want {
		return "", fmt.Errorf("pyvenv: %s is of another tools/testdata/requirements.txt; %s", dir, cure)
	}
	return dir, nil
}

// Find returns the folder of the environment, or skips the test.
func Find(t testing.TB) string {
	t.Helper()
	dir, err := Dir()
	if err != nil {
		t.Skip("SKIPPED:", err)
	}
	return dir
}

// Python returns the interpreter of the environment, or skips the test.
func Python(t testing.TB) string {
	t.Helper()
	return filepath.Join(Find(t), "bin", "python")
}

// wanted is the sum of the list of versions of the repository around the current
// folder, "" when there is none.
func wanted() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	for {
		text, err := os.ReadFile(filepath.Join(dir, "tools", "testdata", "requirements.txt"))
		if err == nil {
			sum := sha256.Sum256(text)
			return hex.EncodeToString(sum[:])
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}
