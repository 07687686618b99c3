// SPDX-License-Identifier: MIT

package source

import (
	"go/ast"
	"go/token"
	"path"
	"strings"

	"m0serve.dev/tools/internal/rule"
	"m0serve.dev/tools/internal/tree"
)

// packageDoc asks every package for one comment that opens with its name.
func packageDoc(t *tree.Tree) []rule.Finding {
	var found []rule.Finding
	for _, m := range t.Modules {
		for _, p := range m.Packages {
			if f := packageDocOf(p); f != nil {
				found = append(found, *f)
			}
		}
	}
	return found
}

func packageDocOf(p *tree.Package) *rule.Finding {
	name := ""
	var doc []string
	for _, f := range p.Files {
		if f.AST == nil || f.Test {
			continue
		}
		name = f.AST.Name.Name
		if f.AST.Doc != nil {
			doc = append(doc, f.AST.Doc.Text())
		}
	}
	want := "Package " + name + " "
	if name == "main" {
		want = "Command " + path.Base(p.Dir) + " "
	}
	switch {
	case name == "":
		return nil // tests only
	case len(doc) == 0:
		return &rule.Finding{
			File: p.Dir, What: "the package has no comment",
			Cure: "open doc.go with \"// " + want + "…\": purpose, model, limits, what it does not do",
		}
	case len(doc) > 1:
		return &rule.Finding{File: p.Dir, What: "two files carry a package comment", Cure: "join them"}
	case !strings.HasPrefix(doc[0], want):
		return &rule.Finding{
			File: p.Dir, What: "the package comment does not open with \"" + want + "\"",
		}
	}
	return nil
}

// exportedDoc asks every exported name outside of tests and commands for a
// comment that opens with the name; an article before the name of a type is
// allowed, and a group of constants or variables may have one comment together.
func exportedDoc(t *tree.Tree) []rule.Finding {
	var found []rule.Finding
	for _, f := range t.Files() {
		if f.AST == nil || f.Test || f.AST.Name.Name == "main" {
			continue
		}
		d := docs{t: t, file: f}
		for _, decl := range f.AST.Decls {
			d.decl(decl)
		}
		found = append(found, d.found...)
	}
	return found
}

type docs struct {
	t     *tree.Tree
	file  *tree.File
	found []rule.Finding
}

func (d *docs) decl(decl ast.Decl) {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		if decl.Name.IsExported() && isReceiverExported(decl) && !isCommonMethod(decl) {
			d.want(decl.Name, decl.Doc, true)
		}
	case *ast.GenDecl:
		for _, s := range decl.Specs {
			d.spec(decl, s)
		}
	}
}

func (d *docs) spec(decl *ast.GenDecl, s ast.Spec) {
	switch s := s.(type) {
	case *ast.TypeSpec:
		if s.Name.IsExported() {
			d.want(s.Name, either(s.Doc, decl.Doc), true)
		}
	case *ast.ValueSpec:
		for _, name := range s.Names {
			if !name.IsExported() {
				continue
			}
			grouped := decl.Lparen.IsValid()
			comment := either(s.Doc, s.Comment)
			d.want(name, either(comment, decl.Doc), !grouped && decl.Tok != token.IMPORT)
		}
	}
}

// want checks the comment of name; named asks that it opens with the name.
func (d *docs) want(name *ast.Ident, doc *ast.CommentGroup, named bool) {
	what := ""
	switch {
	case doc == nil || doc.Text() == "":
		what = name.Name + " is exported and has no comment"
	case named && !opensWith(doc.Text(), name.Name):
		what = "the comment of " + name.Name + " does not open with its name"
	default:
		return
	}
	d.found = append(d.found, rule.Finding{
		File: d.file.Path, Line: d.t.Line(name.Pos()), Name: name.Name, What: what,
		Cure: "say what it does and what its limits are",
	})
}

func opensWith(doc, name string) bool {
	for _, article := range []string{"A ", "An ", "The "} {
		doc = strings.TrimPrefix(doc, article)
	}
	rest, ok := strings.CutPrefix(doc, name)
	return ok && (rest == "" || !isWord(rest[0])) || strings.HasPrefix(doc, "Deprecated:")
}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func either(a, b *ast.CommentGroup) *ast.CommentGroup {
	if a != nil {
		return a
	}
	return b
}

// isCommonMethod reports whether fn is a method that every reader knows.
func isCommonMethod(fn *ast.FuncDecl) bool {
	switch fn.Name.Name {
	case "Error", "String", "Unwrap":
		return fn.Recv != nil
	}
	return false
}

// isReceiverExported reports whether fn is a function or a method that the
// documentation shows.
func isReceiverExported(fn *ast.FuncDecl) bool {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return true
	}
	typ := fn.Recv.List[0].Type
	for {
		switch x := typ.(type) {
		case *ast.StarExpr:
			typ = x.X
		case *ast.IndexExpr:
			typ = x.X
		case *ast.IndexListExpr:
			typ = x.X
		case *ast.Ident:
			return x.IsExported()
		default:
			return false
		}
	}
}
