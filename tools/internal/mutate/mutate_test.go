// SPDX-License-Identifier: MIT

package mutate

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// source is a program that prints one word for each kind of change.
const source = `package main

import "fmt"

const fixed = 2 + 3

type point struct{ x, y uint8 }

func bound(n int) bool { return n < 4 }

func least(n, of int) bool { return n*2+1 >= of }

func same(p *point) bool { return p == nil }

func sum(a, b uint8) uint8 { return a-b*2+1%(b) }

func count(n int) (c int) {
	for i := 0; i < n; i++ {
		c--
	}
	return -c
}

func join(a, b string) string { return a + b }

func shift(n uint) int { return 1<<n + fixed }

func main() {
	fmt.Print(bound(4), least(2, 5), same(nil), sum(9, 3), count(3), join("a", "b"), shift(3))
}
`

// TestRewrite builds a program with all changes and throws each switch: without one it
// says what it said, and each changes a word of it.
func TestRewrite(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "go.mod", "module x\n\ngo 1.26\n")
	write(t, dir, "main.go", source)
	write(t, dir, "other.go", "package main\n\nfunc unused(a, b int) bool { return a < b }\n")
	p, err := Load(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	texts, changes := p.Rewrite(func(name string) bool { return name == "main.go" })
	var names []string
	for i, c := range changes {
		if c.ID != i {
			t.Errorf("change %d has the number %d", i, c.ID)
		}
		names = append(names, c.String())
	}
	want := []string{
		"main.go bound: n < 4 -> n >= 4", "main.go bound: n < 4 -> n <= 4",
		"main.go least: n*2+1 >= of -> n*2+1 < of", "main.go least: n*2+1 >= of -> n*2+1 > of",
		"main.go least: n*2+1 -> n*2 - 1", "main.go least: n*2 -> n / 2",
		"main.go same: p == nil -> p != nil",
		"main.go sum: a-b*2+1%(b) -> a-b*2 - 1%(b)", "main.go sum: a-b*2 -> a + b*2",
		"main.go sum: b*2 -> b / 2", "main.go sum: 1%(b) -> 1 * (b)",
		"main.go count: i < n -> i >= n", "main.go count: i < n -> i <= n",
		"main.go count: i++ -> i--", "main.go count: c-- -> c++", "main.go count: -c -> +c",
	}
	if !slices.Equal(names, want) {
		t.Errorf("changes = %q,\nwant %q", names, want)
	}
	for i, f := range p.Files {
		write(t, dir, filepath.Base(p.Fset.File(f.Pos()).Name()), string(texts[i]))
	}
	write(t, dir, SwitchFile, string(Switches(p.Name, len(changes))))
	program := filepath.Join(dir, "program")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, texts[0])
	}
	throwEach(t, program, changes)
}

func throwEach(t *testing.T, program string, changes []Change) {
	t.Helper()
	const unchanged = "false true true 4 3ab13"
	seen := filepath.Join(t.TempDir(), "seen")
	say := func(variable string) string {
		cmd := exec.Command(program)
		cmd.Env = append(os.Environ(), variable)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", variable, err, out)
		}
		return string(out)
	}
	if got := say(SeenVariable + "=" + seen); got != unchanged {
		t.Errorf("without a switch it says %q, want %q", got, unchanged)
	}
	text, err := os.ReadFile(seen)
	if n := len(strings.Fields(string(text))); err != nil || n != len(changes) {
		t.Errorf("%d switches were passed, %v, want all %d once", n, err, len(changes))
	}
	for _, c := range changes {
		if strings.HasSuffix(c.Text, "i--") {
			continue // it would go on for ever
		}
		if got := say(Variable + "=" + strconv.Itoa(c.ID)); got == unchanged {
			t.Errorf("with %s it says what it said before", c)
		}
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestParseReview(t *testing.T) {
	r, err := ParseReview("# why\n\na/b.go f: x < y -> x <= y\n    only for\n    speed\n")
	if err != nil || len(r) != 1 || r["a/b.go f: x < y -> x <= y"] != "only for speed" {
		t.Errorf("ParseReview = %q, %v, want one change and its reason", r, err)
	}
	for _, bad := range []string{"a\n", "a\nb\n why\n", "  why\n", "a\n why\na\n why\n"} {
		if r, err := ParseReview(bad); err == nil {
			t.Errorf("ParseReview(%q) = %q, want an error", bad, r)
		}
	}
}
