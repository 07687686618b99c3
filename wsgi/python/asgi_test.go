// SPDX-License-Identifier: MIT

package python

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// TestASGI runs the tests of asgi.py, which are Python, with the python3 of PATH: each
// against an engine that is a script.
func TestASGI(t *testing.T) {
	exe, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("SKIPPED: no python3 on PATH")
	}
	text, err := Source("asgi") // as it is embedded, not as it is in the tree
	if err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(t.TempDir(), "asgi.py")
	if err := os.WriteFile(source, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-B", "-m", "unittest", "test_asgi")
	cmd.Dir = "testdata"
	cmd.Env = append(os.Environ(), "M0_ASGI_LOOP=asyncio", "M0_ASGI_SOURCE="+source)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	if !regexp.MustCompile(`Ran [3-9]\d tests`).Match(out) {
		t.Errorf("%v ran too few tests:\n%s", cmd.Args, out)
	}
}
