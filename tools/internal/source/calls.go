// SPDX-License-Identifier: MIT

package source

import (
	"fmt"
	"go/ast"

	"m0serve.dev/tools/internal/rule"
	"m0serve.dev/tools/internal/tree"
)

// ban forbids calls in the packages below place, outside of tests.
type ban struct {
	place string
	pkg   string   // name before the dot
	names []string // names after it
	why   string
}

var bans = []ban{
	{"http/wire", "time", []string{"Now", "Since", "Until"}, "wire has no clock: take the time"},
	{"http/loop", "time", []string{"Sleep"}, "the loop never sleeps"},
	{"core", "time", []string{"Now", "Since", "Sleep"}, "core has no clock"},
}

// calls finds calls that a package's promise excludes, and goroutines in core.
func calls(t *tree.Tree) []rule.Finding {
	var found []rule.Finding
	t.EachFile(func(_ *tree.Module, p *tree.Package, f *tree.File) {
		if f.AST != nil && !f.Test {
			found = append(found, callsIn(t, p.Dir, f)...)
		}
	})
	return found
}

func callsIn(t *tree.Tree, dir string, f *tree.File) []rule.Finding {
	var found []rule.Finding
	add := func(n ast.Node, name, why string) {
		found = append(found, rule.Finding{
			File: f.Path, Line: t.Line(n.Pos()), Name: name,
			What: fmt.Sprintf("%s in %s", name, dir), Cure: why,
		})
	}
	ast.Inspect(f.AST, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			if isBelow(dir, "core") {
				add(n, "go", "core starts no goroutine")
			}
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			if !ok {
				return true
			}
			for _, b := range bans {
				if isBelow(dir, b.place) && x.Name == b.pkg && contains(b.names, n.Sel.Name) {
					add(n, b.pkg+"."+n.Sel.Name, b.why)
				}
			}
		}
		return true
	})
	return found
}
