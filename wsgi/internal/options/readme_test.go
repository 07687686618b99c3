// SPDX-License-Identifier: MIT

package options

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestReadmeNamesFlagsThatExist: every flag that the README of the module names is
// one of the table, with the default that the README gives.
func TestReadmeNamesFlagsThatExist(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	flags := regexp.MustCompile("--?[a-z][a-z-]*")
	table := newTable()
	seen := 0
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "|") && !strings.Contains(line, "m0serve ") {
			continue // of another program, or plain text
		}
		for _, span := range regexp.MustCompile("`[^`]+`|^    .*").FindAllString(line, -1) {
			span, _, _ = strings.Cut(span, "#")
			for _, at := range flags.FindAllStringIndex(span, -1) {
				if at[0] > 0 && !strings.ContainsRune("` [\"", rune(span[at[0]-1])) {
					continue // inside of a word
				}
				name := strings.Replace(span[at[0]:at[1]], "--ssl-", "--", 1) // uvicorn's
				if table.bySpelling[name] == nil && name != "-m" {
					t.Errorf("README names %s, which is no flag: %s", name, line)
				}
				seen++
			}
		}
	}
	if seen < 40 {
		t.Errorf("README names %d flags; want the test to see 40 at least", seen)
	}
	for _, d := range []struct{ name, def string }{
		{"timeout", "30s"}, {"graceful-timeout", "5s"}, {"keep-alive", "75s"}, {"port", "8080"},
		{"limit-request-body", "1G"},
	} {
		if f := table.bySpelling["--"+d.name]; f.def != d.def {
			t.Errorf("default of --%s = %q; README says %q", d.name, f.def, d.def)
		}
	}
}
