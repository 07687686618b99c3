// SPDX-License-Identifier: MIT

package source

import (
	"bytes"
	"fmt"
	"go/ast"
	"unicode/utf8"

	"m0serve.dev/tools/internal/rule"
	"m0serve.dev/tools/internal/tree"
)

// Limits of the style guide. What is normal is well below each.
const (
	lineColumnsMax = 100
	fileLinesMax   = 500
	funcLinesMax   = 70
	nestingMax     = 4
)

// lineSize counts characters, a tab as one, as the linters of the field do. A line
// with a link in it is exempt.
func lineSize(t *tree.Tree) []rule.Finding {
	var found []rule.Finding
	for _, f := range t.Files() {
		for i, line := range bytes.Split(f.Src, []byte("\n")) {
			columns := utf8.RuneCount(line)
			if columns <= lineColumnsMax || bytes.Contains(line, []byte("://")) {
				continue
			}
			found = append(found, rule.Finding{
				File: f.Path, Line: i + 1, Name: fmt.Sprintf("%d", i+1), Size: columns,
				What: fmt.Sprintf("%d columns, the limit is %d", columns, lineColumnsMax),
				Cure: "break the line",
			})
		}
	}
	return found
}

func fileSize(t *tree.Tree) []rule.Finding {
	var found []rule.Finding
	for _, f := range t.Files() {
		lines := bytes.Count(f.Src, []byte("\n"))
		if lines <= fileLinesMax {
			continue
		}
		found = append(found, rule.Finding{
			File: f.Path, Size: lines,
			What: fmt.Sprintf("%d lines, the limit is %d", lines, fileLinesMax),
			Cure: "give the second subject a file of its own",
		})
	}
	return found
}

// funcSize counts the lines of a function from its func to its closing brace. In
// a test file the lines of tables do not count: composite literals of a slice,
// an array or a map.
func funcSize(t *tree.Tree) []rule.Finding {
	var found []rule.Finding
	eachFunc(t, func(f *tree.File, fn *ast.FuncDecl) {
		lines := t.Line(fn.End()) - t.Line(fn.Pos()) + 1
		if f.Test {
			lines -= tableLines(t, fn.Body)
		}
		if lines <= funcLinesMax {
			return
		}
		found = append(found, rule.Finding{
			File: f.Path, Line: t.Line(fn.Pos()), Name: fn.Name.Name, Size: lines,
			What: fmt.Sprintf("%s has %d lines, the limit is %d", fn.Name.Name, lines, funcLinesMax),
			Cure: "give a step a name of its own",
		})
	})
	return found
}

// tableLines returns how many lines the outermost tables in body take.
func tableLines(t *tree.Tree, body *ast.BlockStmt) int {
	lines := 0
	ast.Inspect(body, func(n ast.Node) bool {
		lit, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		switch lit.Type.(type) {
		case *ast.ArrayType, *ast.MapType:
			lines += t.Line(lit.End()) - t.Line(lit.Pos())
			return false
		}
		return true
	})
	return lines
}

// nesting counts the if, for, switch and select statements around the deepest
// one of a function; else-if does not nest and a function literal starts anew.
func nesting(t *tree.Tree) []rule.Finding {
	var found []rule.Finding
	eachFunc(t, func(f *tree.File, fn *ast.FuncDecl) {
		d := depth{}
		d.walk(fn.Body, 0)
		if d.deepest <= nestingMax {
			return
		}
		found = append(found, rule.Finding{
			File: f.Path, Line: t.Line(d.at.Pos()), Name: fn.Name.Name, Size: d.deepest,
			What: fmt.Sprintf("%s nests %d levels deep, the limit is %d",
				fn.Name.Name, d.deepest, nestingMax),
			Cure: "return early or name the inner part",
		})
	})
	return found
}

type depth struct {
	deepest int
	at      ast.Node // where deepest was reached
}

func (d *depth) walk(root ast.Node, level int) {
	ast.Inspect(root, func(n ast.Node) bool {
		if n == nil || n == root {
			return true
		}
		switch s := n.(type) {
		case *ast.FuncLit:
			d.walk(s.Body, 0)
			return false
		case *ast.IfStmt:
			d.enterIf(s, level+1)
			return false
		case *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
			d.enter(n, level+1)
			d.walk(n, level+1)
			return false
		}
		return true
	})
}

func (d *depth) enterIf(s *ast.IfStmt, level int) {
	d.enter(s, level)
	d.walk(s.Body, level)
	switch other := s.Else.(type) {
	case *ast.IfStmt:
		d.enterIf(other, level)
	case *ast.BlockStmt:
		d.walk(other, level)
	}
}

func (d *depth) enter(n ast.Node, level int) {
	if level > d.deepest {
		d.deepest, d.at = level, n
	}
}

// eachFunc calls visit for every function with a body.
func eachFunc(t *tree.Tree, visit func(*tree.File, *ast.FuncDecl)) {
	for _, f := range t.Files() {
		if f.AST == nil {
			continue
		}
		for _, d := range f.AST.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
				visit(f, fn)
			}
		}
	}
}
