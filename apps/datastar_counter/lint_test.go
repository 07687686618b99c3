// SPDX-License-Identifier: MIT

package main

import (
	"strings"
	"testing"

	"m0serve.dev/datastar/lint"
)

// TestPageIsHeard: the client knows every attribute of the page.
func TestPageIsHeard(t *testing.T) {
	page := strings.NewReplacer("{{.Count}}", "7", "{{.Script}}", "").Replace(pageSource)
	if strings.Contains(page, "{{") {
		t.Fatal("the page has more to fill in: this test does not see what a browser gets")
	}
	lint.HTML(t, []byte(page))
}
