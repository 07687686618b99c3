// SPDX-License-Identifier: MIT

package mutate

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
)

// A Change is one operator that is another when its switch is thrown.
type Change struct {
	ID   int
	File string // its base name
	Line int
	Func string // the function around it, "" outside of any
	Text string // "a < b -> a <= b", blanks as in the source
}

// String is how a change is named where changes are reviewed: without its line, which
// moves with every edit.
func (c Change) String() string {
	return fmt.Sprintf("%s %s: %s", c.File, c.Func, c.Text)
}

// A Package is what is changed: parsed files and what the compiler knows of them.
type Package struct {
	Name  string
	Fset  *token.FileSet
	Files []*ast.File
	Src   [][]byte // beside Files
	Info  *types.Info
}

// Rewrite returns the text of each file with its switches, and the changes behind
// them. Only reports whether the file of a base name is changed.
func (p *Package) Rewrite(only func(name string) bool) (texts [][]byte, changes []Change) {
	texts = slices.Clone(p.Src)
	w := &writer{p: p, changes: &changes}
	for i, f := range p.Files {
		w.file, w.src, w.edits = p.Fset.File(f.Pos()), p.Src[i], nil
		if !only(filepath.Base(w.file.Name())) {
			continue
		}
		for _, d := range f.Decls {
			w.decl(d)
		}
		texts[i] = w.apply()
	}
	return texts, changes
}

// An edit puts a text in the place of so many bytes.
type edit struct {
	at, remove int
	text       string
}

type writer struct {
	p       *Package
	file    *token.File
	src     []byte
	fn      string
	edits   []edit
	changes *[]Change
}

func (w *writer) decl(d ast.Decl) {
	w.fn = ""
	if fn, ok := d.(*ast.FuncDecl); ok {
		w.fn = fn.Name.Name
	}
	if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.CONST {
		return
	}
	w.walk(d)
}

// walk visits a node and those below it. What closes an expression is noted on the way
// back, so that the inner one is closed first.
func (w *writer) walk(n ast.Node) {
	var open []func()
	ast.Inspect(n, func(n ast.Node) bool {
		if n == nil {
			done := open[len(open)-1]
			open = open[:len(open)-1]
			done()
			return false
		}
		if g, ok := n.(*ast.GenDecl); ok && g.Tok == token.CONST {
			return false
		}
		open = append(open, w.change(n))
		return true
	})
}

// change opens the switches of a node and returns what closes them.
func (w *writer) change(n ast.Node) (done func()) {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		if w.isConstant(n) {
			break
		}
		if negated, ok := negations[n.Op]; ok {
			return w.compare(n, negated)
		}
		if _, ok := calculations[n.Op]; ok && w.isNumber(n) {
			return w.calculate(n)
		}
	case *ast.UnaryExpr:
		if n.Op == token.SUB && !w.isConstant(n) && w.isNumber(n) {
			x := w.text(n.X)
			w.call("m0neg", w.record(n.Pos(), "-"+x+" -> +"+x), n, n.OpPos, 1, "")
			return func() { w.insert(n.End(), ")") }
		}
	case *ast.IncDecStmt:
		if tv := w.p.Info.Types[n.X]; tv.Addressable() && numeric(tv.Type) {
			w.step(n)
		}
	}
	return func() {}
}

var negations = map[token.Token]token.Token{
	token.EQL: token.NEQ, token.NEQ: token.EQL, token.LSS: token.GEQ, token.GEQ: token.LSS,
	token.GTR: token.LEQ, token.LEQ: token.GTR,
}

// bounds are the comparisons that may take their bound in or leave it out.
var bounds = map[token.Token]token.Token{
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
}

// calculations are the other operator, and the function that calculates either.
var calculations = map[token.Token]struct {
	other token.Token
	call  string
}{
	token.ADD: {token.SUB, "m0add"}, token.SUB: {token.ADD, "m0sub"},
	token.MUL: {token.QUO, "m0mul"}, token.QUO: {token.MUL, "m0quo"},
	token.REM: {token.MUL, "m0rem"},
}

// compare makes "a < b" to "(((a < b) || m0on(2) && (a) == (b)) != m0on(1))". Operands
// are evaluated twice only behind a switch that is thrown.
func (w *writer) compare(n *ast.BinaryExpr, negated token.Token) (done func()) {
	x, y := w.text(n.X), w.text(n.Y)
	end := fmt.Sprintf(" != m0on(%d))", w.add(n, negated))
	w.insert(n.Pos(), "((")
	other, ok := bounds[n.Op]
	if !ok || strings.ContainsAny(x+y, "\n{") { // a line must stay one
		return func() { w.insert(n.End(), ")"+end) }
	}
	id := w.add(n, other)
	w.insert(n.Pos(), "(")
	more := fmt.Sprintf(") || m0on(%d) && (%s) == (%s))", id, x, y)
	if n.Op == token.LEQ || n.Op == token.GEQ {
		more = fmt.Sprintf(") && !(m0on(%d) && (%s) == (%s)))", id, x, y)
	}
	return func() { w.insert(n.End(), more+end) }
}

// calculate makes "a + b" to "m0add(1, a, b)".
func (w *writer) calculate(n *ast.BinaryExpr) (done func()) {
	c := calculations[n.Op]
	id := w.add(n, c.other)
	w.call(c.call, id, n, n.OpPos, len(n.Op.String()), ",")
	return func() { w.insert(n.End(), ")") }
}

// call puts the call of a function before an expression, and a text for its operator.
func (w *writer) call(name string, id int, n ast.Node, op token.Pos, size int, instead string) {
	w.insert(n.Pos(), fmt.Sprintf("%s(%d, ", name, id))
	w.edits = append(w.edits, edit{w.file.Offset(op), size, instead})
}

// step makes "n++" to "m0inc(1, &(n))".
func (w *writer) step(n *ast.IncDecStmt) {
	name, other := "m0inc", token.DEC
	if n.Tok == token.DEC {
		name, other = "m0dec", token.INC
	}
	x := w.text(n.X)
	id := w.record(n.Pos(), x+n.Tok.String()+" -> "+x+other.String())
	w.insert(n.Pos(), fmt.Sprintf("%s(%d, &(", name, id))
	w.edits = append(w.edits, edit{w.file.Offset(n.TokPos), len(n.Tok.String()), "))"})
}

// add records that an expression has another operator.
func (w *writer) add(n *ast.BinaryExpr, other token.Token) (id int) {
	x, y := w.text(n.X), w.text(n.Y)
	return w.record(n.Pos(), w.text(n)+" -> "+x+" "+other.String()+" "+y)
}

func (w *writer) record(at token.Pos, text string) (id int) {
	id = len(*w.changes)
	*w.changes = append(*w.changes, Change{ID: id, File: filepath.Base(w.file.Name()),
		Line: w.file.Line(at), Func: w.fn, Text: strings.Join(strings.Fields(text), " ")})
	return id
}

func (w *writer) text(n ast.Node) string {
	return string(w.src[w.file.Offset(n.Pos()):w.file.Offset(n.End())])
}

func (w *writer) insert(at token.Pos, text string) {
	w.edits = append(w.edits, edit{at: w.file.Offset(at), text: text})
}

// apply edits the source from its beginning. Insertions at one place stay in their
// order, and stand before what is put in the place of an operator there.
func (w *writer) apply() []byte {
	slices.SortStableFunc(w.edits, func(a, b edit) int {
		return cmp.Or(a.at-b.at, min(a.remove, 1)-min(b.remove, 1))
	})
	var out []byte
	at := 0
	for _, e := range w.edits {
		out = append(out, w.src[at:e.at]...)
		out = append(out, e.text...)
		at = e.at + e.remove
	}
	return append(out, w.src[at:]...)
}

func (w *writer) isConstant(n ast.Expr) bool { return w.p.Info.Types[n].Value != nil }

// isNumber reports whether an expression calculates a number. A shift of a constant
// takes its type from what is around it, which a call would hide; and the garbage
// collector knows the sum of an address only where it stands.
func (w *writer) isNumber(n ast.Expr) bool {
	if b, ok := n.(*ast.BinaryExpr); ok && (w.shiftsConstant(b.X) || w.shiftsConstant(b.Y)) {
		return false
	}
	return numeric(w.p.Info.TypeOf(n))
}

func (w *writer) shiftsConstant(n ast.Expr) bool {
	b, ok := ast.Unparen(n).(*ast.BinaryExpr)
	return ok && (b.Op == token.SHL || b.Op == token.SHR) && w.isConstant(b.X)
}

func numeric(t types.Type) bool {
	if t == nil {
		return false
	}
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&(types.IsInteger|types.IsFloat) != 0 && b.Info()&types.IsUntyped == 0 &&
		b.Kind() != types.Uintptr
}
