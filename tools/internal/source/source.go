// SPDX-License-Identifier: MIT

// Package source holds the rules that look at Go source: format, licence, sizes,
// documentation and who may import whom.
//
// The rules read the parsed tree and run nothing. Each has a test with a small
// repository that breaks it.
package source

import (
	"fmt"

	"m0serve.dev/tools/internal/rule"
	"m0serve.dev/tools/internal/tree"
)

// Rules are all rules of this package.
var Rules = []rule.Rule{
	{Name: "parse", Why: "a file that does not parse is checked by nothing else", Check: parse},
	{Name: "gofmt", Why: "one format, no discussion", Check: gofmt},
	{Name: "licence", Why: "a file copied alone still says what it may be used for", Check: licence},
	{Name: "line-size", Why: "two files fit beside each other", Check: lineSize},
	{Name: "file-size", Why: "a file has one subject", Check: fileSize},
	{Name: "func-size", Why: "a function fits on a screen", Check: funcSize},
	{Name: "nesting", Why: "a reader holds few conditions in mind", Check: nesting},
	{Name: "package-doc", Why: "purpose, model and limits come first", Check: packageDoc},
	{Name: "exported-doc", Why: "the documentation page is complete", Check: exportedDoc},
	{Name: "imports", Why: "imports go only down", Check: imports},
	{Name: "third-party", Why: "a dependency can be replaced in one place", Check: thirdParty},
	{Name: "calls", Why: "a package keeps the promise of its doc", Check: calls},
}

func parse(t *tree.Tree) []rule.Finding {
	var found []rule.Finding
	for _, f := range t.Files() {
		if f.Err != nil {
			found = append(found, rule.Finding{File: f.Path, What: fmt.Sprint(f.Err)})
		}
	}
	return found
}
