// SPDX-License-Identifier: MIT

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBenchAllFromFiles renders saved runs; a file that is none fails and is named.
func TestBenchAllFromFiles(t *testing.T) {
	top := t.TempDir()
	write(t, filepath.Join(top, "go.work"), "go 1.26\n")
	write(t, filepath.Join(top, "tools/go.mod"), "module m0serve.dev/tools\n")
	one, two := filepath.Join(top, "route.json"), filepath.Join(top, "two.json")
	write(t, one, `{"machine":{"cpu":"a CPU"},"command":"go run ./tools bench route",
		"figures":[{"name":"find","unit":"ns","ours":10,"rival":20,"ratio_target":1}]}`)
	write(t, two, `{"figures":[{"bench":"ws","name":"echo","ours":3,"rival":2}]}`)
	out := filepath.Join(top, "figures")
	status, said := callHere(t, top, "bench", "all", "--out", out, "--from", one, two)
	if status != 0 {
		t.Fatalf("bench all --from = %d, want 0\n%s", status, said)
	}
	table, err := os.ReadFile(filepath.Join(out, "table.md"))
	if err != nil || !strings.Contains(string(table), "## route\n\n") ||
		!strings.Contains(string(table), "| find, ns |") || !strings.Contains(string(table), "| echo,") {
		t.Errorf("table.md = %s, %v, want a row of each file", table, err)
	}
	page, err := os.ReadFile(filepath.Join(out, "README.md"))
	if err != nil || !strings.Contains(string(page), "go run ./tools bench route\n") {
		t.Errorf("README.md = %s, %v, want the commands", page, err)
	}
	for _, name := range []string{"route.svg", "ws.svg"} {
		if text, err := os.ReadFile(filepath.Join(out, name)); err != nil ||
			!strings.HasPrefix(string(text), "<svg ") {
			t.Errorf("%s = %.40s, %v, want a picture", name, text, err)
		}
	}
	for want, args := range map[string][]string{
		"--from takes files": {"--from"}, "--out takes a folder": {"--out"},
		"not both": {"--quick", "--from", one}, "has no bench \"rout\"": {"--only", "rout"},
		"--only takes benches": {"--only"}, "two.txt": {"--from", filepath.Join(top, "two.txt")},
	} {
		status, said := callHere(t, top, append([]string{"bench", "all"}, args...)...)
		if status == 0 || !strings.Contains(said, want) {
			t.Errorf("bench all %q = %d, want a failure with %q in\n%s", args, status, want, said)
		}
	}
}
