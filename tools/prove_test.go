// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"m0serve.dev/tools/internal/console"
	"m0serve.dev/tools/internal/proc"
	"m0serve.dev/tools/internal/prove"
	"m0serve.dev/tools/internal/tree"
)

func TestProveFlags(t *testing.T) {
	o, err := parseProve(strings.Fields(
		"--hours 1.5 --only fuzz,race --in core/a --seeds 7 --out x.md"))
	if err != nil || o.hours != 1.5 || !o.wants("race") || o.wants("soak") || o.seeds != 7 ||
		o.requests != proveRequests || !slices.Equal(o.in, []string{"core/a"}) || o.out != "x.md" {
		t.Errorf("parseProve = %+v, %v, want all of it", o, err)
	}
	for _, bad := range []string{"fuzz", "--only fuzz,fly", "--hours -1", "--hours x", "--requests 0",
		"--fast"} {
		if o, err := parseProve(strings.Fields(bad)); err == nil {
			t.Errorf("parseProve(%q) = %+v, want an error", bad, o)
		}
	}
	if _, err := tree.FindTop("."); err != nil {
		t.Skip("SKIPPED: the module stands alone: ", err)
	}
	status, out := callHere(t, ".", "prove", "--list")
	for _, p := range proveParts() {
		if status != 0 || !strings.Contains(out, "\n"+p.name+" ") && !strings.HasPrefix(out, p.name+" ") {
			t.Errorf("prove --list = %d without a line for %s in\n%s", status, p.name, out)
		}
	}
}

// TestProveGoesOn: a part that fails does not hide the next, one that says nothing
// failed, and the report has what there was when the run was broken off.
func TestProveGoesOn(t *testing.T) {
	part := func(name string, r prove.Result, err error) provePart {
		return provePart{name, "x", func(*env, *console.Step, proveOptions) (prove.Result, error) {
			return r, err
		}}
	}
	ctx, stop := context.WithCancel(t.Context())
	parts := []provePart{
		part("bad", prove.Result{Ran: "half", Found: []string{"a thing"}}, errors.New("why")),
		part("good", prove.Result{Ran: "all"}, nil),
		part("other", prove.Result{Ran: "unwanted"}, nil),
		part("absent", prove.Result{Skipped: "no gcc"}, nil),
		part("mute", prove.Result{}, nil),
		{"stops", "x", func(*env, *console.Step, proveOptions) (prove.Result, error) {
			stop()
			return prove.Result{Ran: "some"}, nil
		}},
		part("never", prove.Result{Ran: "too late"}, nil),
	}
	file := filepath.Join(t.TempDir(), "report.md")
	var out bytes.Buffer
	e := &env{ctx: ctx, out: &out, con: console.New(&out)}
	o := proveOptions{out: file, only: []string{"bad", "good", "absent", "mute", "stops", "never"}}
	if err := e.proveAll(parts, o, prove.Report{}); err == nil ||
		!strings.Contains(err.Error(), "broken off") {
		t.Errorf("proveAll = %v, want that it was broken off", err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| bad | FAILED | half |", "| good | ok | all |",
		"| absent | not run | no gcc |", "| mute | FAILED |  |", "| stops | ok | some |", "- `a thing`"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the report has no %q in\n%s", want, text)
		}
	}
	for _, not := range []string{"unwanted", "too late"} {
		if strings.Contains(string(text)+out.String(), not) {
			t.Errorf("%q ran, want it left out", not)
		}
	}
}

// TestProveEndsWithItsHours: a part that the hours end is cut off and no failure, what
// comes behind it is left, and both are told with the command that runs them.
func TestProveEndsWithItsHours(t *testing.T) {
	var shares []float64
	waits := func(e *env, _ *console.Step, o proveOptions) (prove.Result, error) {
		shares = append(shares, o.hours)
		<-e.ctx.Done()
		return prove.Result{Ran: "3 of 9"}, e.ctx.Err()
	}
	at := func(_ *env, _ *console.Step, o proveOptions) (prove.Result, error) {
		shares = append(shares, o.hours)
		return prove.Result{Ran: "all"}, nil
	}
	var out bytes.Buffer
	e := &env{ctx: t.Context(), out: &out, con: console.New(&out)}
	file := filepath.Join(t.TempDir(), "new", "report.md")
	hours := (100 * time.Millisecond).Hours()
	err := e.proveAll([]provePart{{"whole", "x", at}, {"long", "x", waits}, {"late", "x", at}},
		proveOptions{hours: hours, out: file}, prove.Report{})
	if !errors.Is(err, errFailed) || len(shares) != 2 || shares[0] > hours/3 ||
		shares[1] > hours/2 || shares[1] <= 0 {
		t.Errorf("proveAll = %v with the shares %v of %v, want a third, then half of the rest", err,
			shares, hours)
	}
	text, err := os.ReadFile(file)
	for _, want := range []string{"| whole | ok | all |", "| long | cut off | 3 of 9 |",
		"left to run: `go run ./tools prove --only long,late`"} {
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("the report has no %q: %v\n%s", want, err, text)
		}
	}
	if !strings.Contains(out.String(), "left to run: go run ./tools prove --only long,late\n") ||
		strings.Contains(out.String(), "FAILED") {
		t.Errorf("it does not say what is left, or calls it failed:\n%s", &out)
	}
}

// TestProveHelp: a stranger is told what the flags and the parts are.
func TestProveHelp(t *testing.T) {
	for _, flag := range []string{"-h", "--help"} {
		status, out := callHere(t, t.TempDir(), "prove", flag)
		for _, want := range []string{"usage: go run ./tools prove [--hours H]", "\n--hours H ",
			"\nfuzz "} {
			if status != 0 || !strings.Contains(out, want) {
				t.Errorf("prove %s = %d without %q in\n%s", flag, status, want, out)
			}
		}
	}
}

// TestFuzzTime: what builds take is missing for the targets that are left.
func TestFuzzTime(t *testing.T) {
	for _, tt := range []struct {
		o       proveOptions
		past    time.Duration
		targets int
		want    string
	}{
		{proveOptions{each: "9x"}, time.Hour, 4, "9x"},
		{proveOptions{}, time.Hour, 4, "10m0s"},
		{proveOptions{hours: 1}, 0, 57, "1m0s"},
		{proveOptions{hours: 1}, 1610 * time.Second, 30, "1m0s"},
		{proveOptions{hours: 1}, 2 * time.Hour, 3, "1s"},
	} {
		each, patience := fuzzTime(tt.o, tt.past, tt.targets)
		if each != tt.want || patience < fuzzPatience {
			t.Errorf("fuzzTime(%v, %v, %d) = %s, %v, want %s", tt.o.hours, tt.past, tt.targets, each,
				patience, tt.want)
		}
	}
}

// TestProveGremlins changes a package whose tests see some of its changes.
func TestProveGremlins(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: -short: builds a package")
	}
	keepBuildCache(t)
	top := repository(t)
	write(t, filepath.Join(top, "core/hash/hash.go"), "package hash\n\n"+
		"func Big(n int) bool { return n > 4 }\n\n"+
		"func Next(n int) int {\n\tfor range n {\n\t\tn++\n\t}\n\treturn n - 1\n}\n\n"+
		"func unused(n int) int { return -n }\n")
	write(t, filepath.Join(top, "core/hash/hash_test.go"), "package hash\n\nimport \"testing\"\n\n"+
		"func TestBig(t *testing.T) {\n\tif !Big(9) || Big(0) {\n\t\tt.Error()\n\t}\n}\n\n"+
		"func TestNext(t *testing.T) {\n\tif Next(1) != 1 {\n\t\tt.Error()\n\t}\n}\n")
	status, out := callHere(t, top, "prove", "--only", "gremlins", "--in", "core/hash")
	for _, want := range []string{
		"5 of 5 changes: 3 killed, 0 timed out, 1 lived, 1 not reached (0 of these reviewed): 60.0 %",
		"core/hash/hash.go Big: n > 4 -> n >= 4", "core/hash/hash.go unused: -n -> +n, not reached",
		"core/hash: tests notice 60.0 %, below 80"} {
		if status != 1 || !strings.Contains(out, want) {
			t.Errorf("prove --only gremlins = %d without %q in\n%s", status, want, out)
		}
	}
}

// TestQuickTests: parallel parts count to their test, whose own time leaves them out.
func TestQuickTests(t *testing.T) {
	const said = "--- PASS: TestMany (0.00s)\n    --- PASS: TestMany/a (0.30s)\n" +
		"    --- PASS: TestMany/b (0.30s)\n--- SKIP: TestNone (0.00s)\n--- PASS: FuzzA (0.05s)\n" +
		"--- PASS: TestLong (9.00s)\n"
	if got := quickTests(said); got != "^(-|TestNone|FuzzA|TestMany)$" {
		t.Errorf("quickTests = %s, want all but the long one", got)
	}
	if got := quickTests(""); got != "^(-)$" {
		t.Errorf("quickTests of nothing = %s, want none", got)
	}
}

// TestProveReadsOtherVerbs: what a verb prints inside of a part comes back.
// TestTryMutants: each change is tried once and told of, one at a time, and none any more
// once the context has ended.
func TestTryMutants(t *testing.T) {
	var told []int
	tryMutants(t.Context(), 20, func(i int) string { return fmt.Sprint(i) },
		func(i int, fate string) {
			if fate != fmt.Sprint(i) {
				t.Errorf("change %d is told of as %s", i, fate)
			}
			told = append(told, i)
		})
	slices.Sort(told)
	if once := slices.Compact(slices.Clone(told)); len(told) != 20 || len(once) != 20 {
		t.Fatalf("told of %v, want 0 to 19", told)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	tryMutants(ctx, 20, func(i int) string { return "" }, func(i int, _ string) {
		t.Errorf("change %d is told of behind the end", i)
	})
}

func TestProveReadsOtherVerbs(t *testing.T) {
	var out bytes.Buffer
	e := &env{ctx: t.Context(), out: &out, con: console.New(&out)}
	var text string
	_ = e.con.Step("part", "x", func(s *console.Step) (err error) {
		text, err = e.within(s, func(e *env) error {
			_ = e.con.Step("python3 3.11.2", "x", func(s *console.Step) error {
				s.Printf("2 killed of 3\nall of native: 517 cases: 513 OK, 4 informational")
				s.Printf("nethttp: 16 cases: 16 OK, 0 informational")
				s.Printf("\ncore/testdata/sabotage/a.txt: survived\n  gate: go test")
				return nil
			})
			_ = e.con.Step("python3 3.9.1", "x", func(s *console.Step) error { return errFailed })
			e.con.Printf("skipped autobahn: no Python 2.7")
			return nil
		})
		return err
	})
	for pattern, want := range map[string]string{
		killedLine: "2 killed of 3", missedLine: "core/testdata/sabotage/a.txt: survived",
		casesLine: "native: 517 cases: 513 OK, 4 informational", interpreterLine: "python3 3.11.2",
		noAutobahnLine: "no Python 2.7",
	} {
		if got := lastMatch(text, pattern); got != want {
			t.Errorf("%s finds %q, want %q in\n%s", pattern, got, want, text)
		}
	}
	if got := lastMatch(text, failedLine); !strings.HasPrefix(got, "FAILED python3 3.9.1") {
		t.Errorf("%s finds %q, want the interpreter", failedLine, got)
	}
	if !strings.Contains(out.String(), "\n   == python3 3.11.2") {
		t.Errorf("the step does not show what the verb printed:\n%s", &out)
	}
}

func TestPackagesThatAsk(t *testing.T) {
	const uses = "import \"m0serve.dev/core/internal/sim\"\n\nvar _ = sim.X\n"
	top := t.TempDir()
	for name, text := range map[string]string{
		"core/go.mod":              "module m0serve.dev/core\n",
		"core/a/a_test.go":         "package a\n\nvar x = \"M0_SEEDS\"\n",
		"core/b/b.go":              "package b\n",
		"core/internal/sim/sim.go": "package sim\n\nvar x = \"M0_SEEDS\"\n",
		"core/c/c_test.go":         "package c\n\n" + uses,
		"core/d/d.go":              "package d\n\n" + uses,
		"tools/go.mod":             "module m0serve.dev/tools\n",
		"tools/prove.go":           "package main\n\nvar x = \"M0_SEEDS\"\n",
	} {
		write(t, filepath.Join(top, name), text)
	}
	got, err := packagesThatAsk(top, "M0_SEEDS")
	if want := []string{"./core/a", "./core/c"}; !slices.Equal(got, want) || err != nil {
		t.Errorf("packagesThatAsk = %q, %v, want %q", got, err, want)
	}
	if got, err := packagesThatAsk(top, "M0_NONE"); len(got) != 0 || err != nil {
		t.Errorf("packagesThatAsk(M0_NONE) = %q, %v, want none", got, err)
	}
}

// TestProveFuzz fuzzes a package for so many inputs that the second is wrong.
func TestProveFuzz(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: -short: builds for the fuzzer")
	}
	keepBuildCache(t)
	top := repository(t)
	const head = "package x\n\nimport \"testing\"\n\n"
	write(t, filepath.Join(top, "core/x/x_test.go"), head+"func FuzzGood(f *testing.F) {\n"+
		"\tf.Add(\"a\")\n\tf.Fuzz(func(*testing.T, string) {})\n}\n")
	write(t, filepath.Join(top, "http/y/y_test.go"), "package y\n\nimport \"testing\"\n\n"+
		"func FuzzBad(f *testing.F) {\n\tf.Add(\"a\")\n\tf.Fuzz(func(t *testing.T, s string) {\n"+
		"\t\tif s != \"a\" {\n\t\t\tt.Fatal(\"it is not a\")\n\t\t}\n\t})\n}\n")
	status, out := callHere(t, top, "prove", "--only", "fuzz", "--each", "100x", "--in", "core")
	if status != 0 || !strings.Contains(out, "1 of 1 targets in ") {
		t.Errorf("prove --only fuzz = %d, want 0 with one target in\n%s", status, out)
	}
	status, out = callHere(t, top, "prove", "--only", "fuzz", "--each", "100x")
	if status != 1 || !strings.Contains(out, "http/y FuzzBad: http/y/testdata/fuzz/FuzzBad/") ||
		!strings.Contains(out, "it is not a") || !strings.Contains(out, "2 of 2 targets") {
		t.Errorf("prove --only fuzz = %d, want 1 with the file of the input in\n%s", status, out)
	}
	found, _ := filepath.Glob(filepath.Join(top, "http/y/testdata/fuzz/FuzzBad/*"))
	if len(found) != 1 {
		t.Errorf("failing inputs = %q, want one", found)
	}
}

// TestProveFuzzBrokenOff: targets that were not reached are not said to have run.
func TestProveFuzzBrokenOff(t *testing.T) {
	top, err := tree.FindTop(".")
	if err != nil {
		t.Skip("SKIPPED: the module stands alone: ", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	var out bytes.Buffer
	e := &env{ctx: ctx, top: top, out: &out, con: console.New(&out)}
	e.con.Step("fuzz", "x", func(s *console.Step) error {
		r, err := e.proveFuzz(s, proveOptions{each: "1x", in: []string{"core"}})
		if err == nil || !strings.Contains(err.Error(), "broken off after 0 of ") ||
			!strings.HasPrefix(r.Ran, "0 of ") {
			t.Errorf("proveFuzz, broken off = %+v, %v, want that said", r, err)
		}
		return nil
	})
}

// keepBuildCache lets the go command find what it built before, although the test
// has a cache folder of its own.
func keepBuildCache(t *testing.T) {
	t.Helper()
	out, err := proc.Run(t.Context(), proc.Cmd{Args: []string{"go", "env", "GOCACHE"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOCACHE", strings.TrimSpace(out))
}

func TestSameBuilds(t *testing.T) {
	one := []string{"a 1", "b 2"}
	if told, err := differ(one, slices.Clone(one)); err != nil || len(told) != 2 {
		t.Errorf("differ of the same = %q, %v, want both and no error", told, err)
	}
	for _, other := range [][]string{{"a 1", "b 3"}, {"a 1"}, nil} {
		if told, err := differ(one, other); err == nil {
			t.Errorf("differ(%q, %q) = %q, want an error", one, other, told)
		}
	}
	if _, err := differ(nil, nil); err == nil {
		t.Error("differ of nothing = nil, want an error")
	}
	if err := compiledTwice([2]int{40, 40}); err != nil {
		t.Errorf("compiledTwice(40, 40) = %v, want nil", err)
	}
	for _, ours := range [][2]int{{40, 0}, {0, 0}, {40, 39}} {
		if err := compiledTwice(ours); err == nil {
			t.Errorf("compiledTwice(%v) = nil, want an error: one is a copy", ours)
		}
	}
}

// TestCopies: a copy of the tree has what git has, and a copy of modules finds them
// without the workspace.
func TestCopies(t *testing.T) {
	top, to := repository(t), t.TempDir()
	write(t, filepath.Join(top, "http/untracked.db"), "x")
	write(t, filepath.Join(top, ".gitignore"), "*.db\n")
	e := &env{ctx: t.Context(), top: top}
	if err := e.copyTree(filepath.Join(to, "tree")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"go.work", "core/x/x.go", "http/go.mod"} {
		if _, err := os.Stat(filepath.Join(to, "tree", name)); err != nil {
			t.Errorf("the copy has no %s", name)
		}
	}
	if _, err := os.Stat(filepath.Join(to, "tree/http/untracked.db")); err == nil {
		t.Error("the copy has what git ignores")
	}
}
