// SPDX-License-Identifier: MIT

package python

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// unpackPublisher writes m0pub as it is embedded, not as it is in the tree, and
// returns the directory to import it from.
func unpackPublisher(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, Publisher()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"__init__.py", "_client.py", "py.typed"} {
		if _, err := fs.Stat(Publisher(), "m0pub/"+name); err != nil {
			t.Errorf("the embedded package lacks a file: %v", err)
		}
	}
	return dir
}

func findPython(t *testing.T) string {
	t.Helper()
	exe, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("SKIPPED: no python3 on PATH")
	}
	return exe
}

// TestPublisher runs the tests of m0pub, which are Python, with the python3 of
// PATH: each against a service that is a script.
func TestPublisher(t *testing.T) {
	// Read here as well, so that the go command sees when it changes.
	if _, err := os.ReadFile("testdata/test_m0pub.py"); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(findPython(t), "-B", "-W", "error", "-m", "unittest", "test_m0pub")
	cmd.Dir = "testdata"
	cmd.Env = append(os.Environ(), "M0_PUB_SOURCE="+unpackPublisher(t))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	if !regexp.MustCompile(`Ran [3-9]\d tests`).Match(out) {
		t.Errorf("%v ran too few tests:\n%s", cmd.Args, out)
	}
}

// TestPublisherIsOfPython39 parses every file as the oldest Python that is
// supported does.
func TestPublisherIsOfPython39(t *testing.T) {
	const check = `import ast, sys
for name in sys.argv[1:]:
    ast.parse(open(name).read(), name, feature_version=(3, 9))`
	files, err := filepath.Glob(filepath.Join(unpackPublisher(t), "m0pub", "*.py"))
	if err != nil || len(files) < 5 {
		t.Fatalf("files %v, %v; want those of the package", files, err)
	}
	args := append([]string{"-c", check}, files...)
	out, err := exec.Command(findPython(t), args...).CombinedOutput()
	if err != nil {
		t.Errorf("%v: %v\n%s", files, err, out)
	}
}

// TestPublisherIsWhole: what the engine gives applications is every module of m0pub.
func TestPublisherIsWhole(t *testing.T) {
	finder, err := Source("publisher")
	if err != nil {
		t.Fatal(err)
	}
	files, err := fs.Glob(Publisher(), "m0pub/*.py")
	if err != nil || len(files) < 5 {
		t.Fatalf("files %v, %v; want those of the package", files, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(strings.ReplaceAll(strings.TrimSuffix(file, ".py"), "/", "."),
			".__init__")
		if !strings.Contains(finder, strconv.Quote(name)) {
			t.Errorf("publisher.py does not name %s", name)
		}
		if text, err := Source(name); err != nil || text == "" {
			t.Errorf("Source(%q) = %d bytes, %v", name, len(text), err)
		}
	}
}
