// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSBOM: our modules are in it with what they use, under their licence; a licence
// that is not allowed fails.
func TestSBOM(t *testing.T) {
	top := repository(t)
	mit, err := os.ReadFile("LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range moduleNames(top) {
		write(t, filepath.Join(top, name, "LICENSE"), string(mit))
	}
	file := filepath.Join(t.TempDir(), "x", "m0.json")
	status, out := callHere(t, top, "sbom", "--out", file)
	if status != 0 {
		t.Fatalf("sbom = %d, want 0\n%s", status, out)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Components   []struct{ Name string }
		Dependencies []struct {
			Ref string
			On  []string `json:"dependsOn"`
		}
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	names, on := "", map[string]string{}
	for _, c := range got.Components {
		names += c.Name + " "
	}
	for _, d := range got.Dependencies {
		on[d.Ref] = strings.Join(d.On, " ")
	}
	if !strings.Contains(names, "m0serve.dev/core ") || !strings.Contains(names, "std ") {
		t.Errorf("components = %s, want core and std among them", names)
	}
	const core = "pkg:golang/m0serve.dev/core"
	if got := on["pkg:golang/m0serve.dev/http"]; !strings.HasPrefix(got, core) {
		t.Errorf("http depends on %q, want core", got)
	}
	write(t, filepath.Join(top, "core/LICENSE"), "GNU GENERAL PUBLIC LICENSE Version 3")
	status, out = callHere(t, top, "sbom", "--out", file)
	if status != 1 || !strings.Contains(out, "m0serve.dev/core is under GPL-3.0") {
		t.Errorf("sbom with the GPL = %d, want 1 with the licence in\n%s", status, out)
	}
}
