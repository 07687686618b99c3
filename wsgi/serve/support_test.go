// SPDX-License-Identifier: MIT

package serve

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"m0serve.dev/wsgi/internal/options"
)

// TestReadmeSaysWhatIsNotThere: what this version refuses is in the list of the
// README, and nothing else is.
func TestReadmeSaysWhatIsNotThere(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, limits, found := strings.Cut(string(text), "Not there yet:")
	limits, _, _ = strings.Cut(limits, ";")
	refused := ""
	if err := unsupported(&options.Options{User: "x"}); err != nil {
		refused = err.Error()
	}
	flags := regexp.MustCompile(`--[a-z][a-z-]+`)
	for _, flag := range flags.FindAllString(refused, -1) {
		if flag != "--group" && !strings.Contains(limits, flag+"`") {
			t.Errorf("unsupported refuses %s, which the list of the README has not:%s", flag, limits)
		}
	}
	for _, flag := range flags.FindAllString(limits, -1) {
		if !found || !strings.Contains(refused, flag) {
			t.Errorf("README says that %s is not there; unsupported says only:\n%s", flag, refused)
		}
	}
}
