// SPDX-License-Identifier: MIT

package spec

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// gateModule is a module whose test builds and runs a command, as a smoke does.
var gateModule = map[string]string{
	"core/go.mod": "module m0serve.dev/core\n\ngo 1.26\n",
	"core/a.go":   "package core\n\n// A is.\nfunc A() int {\n\treturn 1\n}\n",
	"core/cmd/main.go": "package main\n\nimport \"m0serve.dev/core\"\n\nfunc main() {\n" +
		"\tprintln(core.A())\n}\n",
	"core/a_test.go": `package core_test

import (
	"fmt"
	"os/exec"
	"testing"
	"time"

	"m0serve.dev/core"
)

func TestA(t *testing.T) {
	if got := core.A(); got != 1 {
		t.Errorf("A() = %d, want 1", got)
	}
}

func TestBlind(t *testing.T) { _ = core.A() }

func TestRed(t *testing.T) { t.Error("always") }

func TestHang(t *testing.T) {
	if core.A() == 2 {
		select {}
	}
}

func TestSlowBuild(t *testing.T) {
	fmt.Println("building a")
	time.Sleep(5 * time.Second)
	fmt.Println("built a")
	TestA(t)
}

func TestNested(t *testing.T) {
	out, err := exec.Command("go", "run", "./cmd").CombinedOutput()
	if err != nil || string(out) != "1\n" {
		t.Errorf("cmd printed %s, %v, want 1", out, err)
	}
}
`,
}

func TestVerdicts(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a dozen programs")
	}
	t.Setenv("GOWORK", "off")
	const run = "go test . -run "
	tests := []struct {
		name, gate, want, old, new string
		verdict                    Verdict
	}{
		{"killed", run + "^TestA$", "A() = 2, want 1", "\treturn 1\n", "\treturn 2\n", Killed},
		{"survived", run + "^TestBlind$", "A() = 2", "\treturn 1\n", "\treturn 2\n", Survived},
		{"broken", run + "^TestA$", "A() = 2", "\treturn 1\n", "\treturn no\n", Broken},
		{"stale", run + "^TestA$", "A() = 2", "\treturn 3\n", "\treturn 2\n", Stale},
		{"wrong reason", run + "^TestA$", "A() = 5", "\treturn 1\n", "\treturn 2\n", WrongReason},
		{"said anyway", run + "^TestA$", "TestA", "\treturn 1\n", "\treturn 2\n", WrongReason},
		{"red before", run + "^TestRed$", "always", "\treturn 1\n", "\treturn 2\n", RedBefore},
		{"no test", run + "^TestNone$", "A() = 2", "\treturn 1\n", "\treturn 2\n", RedBefore},
		{"hangs", run + "^TestHang$", "A() = 2", "\treturn 1\n", "\treturn 2\n", TimedOut},
		{"slow build", run + "^TestSlowBuild$", "A() = 2", "\treturn 1\n", "\treturn 2\n", Killed},
		{"nested build", run + "^TestNested$", "cmd printed 2", "\treturn 1\n", "\treturn 2\n", Killed},
		{"nested build broken", run + "^TestNested$", "exit status 1",
			"\treturn 1\n", "\treturn 1 // \n}\n\nfunc B() int {\n\treturn no\n", Broken},
		{"no go test", "go vet .", "result of", "\treturn 1\n", "\tnew(int)\n\treturn 1\n", Broken},
	}
	top := t.TempDir()
	for name, text := range gateModule {
		file := filepath.Join(top, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	r := &Runner{Top: top, Tmp: t.TempDir(), GateTime: 4 * time.Second}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := r.Run(t.Context(), &Sabotage{ID: "x", Module: "core", Row: "C1", File: "a.go",
				Gate: tt.gate, Want: tt.want, Old: tt.old, New: tt.new})
			if got.Verdict != tt.verdict {
				t.Errorf("Run = %q, want %q; detail:\n%s", got.Verdict, tt.verdict, got.Detail)
			}
			if tt.verdict != Killed && strings.TrimSpace(got.Detail) == "" &&
				tt.verdict != TimedOut {
				t.Errorf("Run = %q without a detail", got.Verdict)
			}
		})
	}
	text, err := os.ReadFile(filepath.Join(top, "core/a.go"))
	if string(text) != gateModule["core/a.go"] {
		t.Errorf("the tree was changed: a.go holds %q, %v", text, err)
	}
}
