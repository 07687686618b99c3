// SPDX-License-Identifier: MIT

// Package tree finds the repository and reads its Go source once, so that every
// rule works on the same parsed files.
//
// A Tree is what lies on the disk, tracked or not: a rule that only saw tracked
// files would pass until the commit. Folders named testdata and those that open
// with a dot or an underscore are left out, as the go command does. A folder
// with its own go.mod is a module of its own, never part of the one around it.
package tree

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"
)

// Root is the import path that all modules of the repository share.
const Root = "m0serve.dev"

// Names lists the eight modules, each after those it may import.
var Names = [...]string{"core", "sqlite", "http", "datastar", "host", "wsgi", "apps", "tools"}

// Tree is the repository, read by Load and not changed afterwards.
type Tree struct {
	Top     string         // absolute path of the folder that holds go.work
	Fset    *token.FileSet // positions of all files below
	Modules []*Module      // in the order of Names, nested ones after their parent
}

// Module is one folder with a go.mod.
type Module struct {
	Dir      string     // below Top, with slashes: "http", "tools/rivals"
	Packages []*Package // sorted by folder
	Others   []string   // .s .c .h .py files below Top, with slashes
}

// Package is one folder with Go files, of whatever package clauses.
type Package struct {
	Dir   string  // below Top, with slashes: "http/wire"
	Files []*File // sorted by name
}

// File is one Go file.
type File struct {
	Path string    // below Top, with slashes
	Src  []byte    // as on the disk
	AST  *ast.File // nil when Err is set
	Test bool      // the name ends in _test.go
	Err  error     // why it does not parse
}

// ErrNoTop reports that no folder above is the top of the repository.
var ErrNoTop = errors.New("tree: no go.work with a tools folder beside it here or above; " +
	"run this inside the repository")

// FindTop returns the top of the repository that dir lies in.
func FindTop(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("tree: find top: %w", err)
	}
	for {
		if isFile(filepath.Join(abs, "go.work")) && isFile(filepath.Join(abs, "tools", "go.mod")) {
			return abs, nil
		}
		up := filepath.Dir(abs)
		if up == abs {
			return "", ErrNoTop
		}
		abs = up
	}
}

// Load reads every module of the repository at top. A module whose folder or
// go.mod is missing is left out; the layout rules report it.
func Load(top string) (*Tree, error) {
	t := &Tree{Top: top, Fset: token.NewFileSet()}
	for _, name := range Names {
		if !isFile(filepath.Join(top, name, "go.mod")) {
			continue
		}
		if err := t.loadModule(name); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// Module returns the module in folder dir, nil when there is none.
func (t *Tree) Module(dir string) *Module {
	for _, m := range t.Modules {
		if m.Dir == dir {
			return m
		}
	}
	return nil
}

// Files returns the files of all packages of all modules.
func (t *Tree) Files() []*File {
	var all []*File
	t.EachFile(func(_ *Module, _ *Package, f *File) { all = append(all, f) })
	return all
}

// EachFile calls visit for every file with the package and module it is in.
func (t *Tree) EachFile(visit func(*Module, *Package, *File)) {
	for _, m := range t.Modules {
		for _, p := range m.Packages {
			for _, f := range p.Files {
				visit(m, p, f)
			}
		}
	}
}

// Abs returns the absolute path of a path below the top.
func (t *Tree) Abs(rel string) string {
	return filepath.Join(t.Top, filepath.FromSlash(rel))
}

// Line returns the line of a position in a file of the tree.
func (t *Tree) Line(pos token.Pos) int {
	return t.Fset.Position(pos).Line
}

// Path returns the import path of the package or module in folder dir.
func Path(dir string) string {
	return path.Join(Root, dir)
}

// Package returns the package in folder dir below the top, nil when there is none.
func (m *Module) Package(dir string) *Package {
	for _, p := range m.Packages {
		if p.Dir == dir {
			return p
		}
	}
	return nil
}

func (t *Tree) loadModule(dir string) error {
	m := &Module{Dir: dir}
	t.Modules = append(t.Modules, m)
	byDir := map[string]*Package{}
	var nested []string
	err := filepath.WalkDir(t.Abs(dir), func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(t.Top, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			switch {
			case rel == dir:
				return nil
			case isSkipped(d.Name()):
				return filepath.SkipDir
			case isFile(filepath.Join(p, "go.mod")):
				nested = append(nested, rel)
				return filepath.SkipDir
			}
			return nil
		}
		return t.addFile(m, byDir, rel)
	})
	if err != nil {
		return fmt.Errorf("tree: read module %s: %w", dir, err)
	}
	sort.Slice(m.Packages, func(i, j int) bool { return m.Packages[i].Dir < m.Packages[j].Dir })
	for _, n := range nested {
		if err := t.loadModule(n); err != nil {
			return err
		}
	}
	return nil
}

func (t *Tree) addFile(m *Module, byDir map[string]*Package, rel string) error {
	switch path.Ext(rel) {
	case ".s", ".c", ".h", ".py":
		m.Others = append(m.Others, rel)
		return nil
	case ".go":
	default:
		return nil
	}
	src, err := os.ReadFile(t.Abs(rel))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // removed since the folder was listed
	}
	if err != nil {
		return err
	}
	f := &File{Path: rel, Src: src, Test: strings.HasSuffix(rel, "_test.go")}
	mode := parser.ParseComments | parser.SkipObjectResolution
	f.AST, f.Err = parser.ParseFile(t.Fset, rel, src, mode)
	if f.Err != nil {
		f.AST = nil
	}
	dir := path.Dir(rel)
	p := byDir[dir]
	if p == nil {
		p = &Package{Dir: dir}
		byDir[dir] = p
		m.Packages = append(m.Packages, p)
	}
	p.Files = append(p.Files, f)
	return nil
}

func isSkipped(name string) bool {
	return name == "testdata" || name == "vendor" || name == "__pycache__" ||
		strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")
}

func isFile(p string) bool {
	st, err := os.Stat(p)
	return err == nil && st.Mode().IsRegular()
}
