// SPDX-License-Identifier: MIT

package mutate

import (
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"strings"

	"m0serve.dev/tools/internal/proc"
)

// listed is what "go list -json" says of a package.
type listed struct {
	ImportPath, Dir, Name, Export string
	GoFiles                       []string
	DepOnly                       bool
}

// Load parses the package in a folder, as the go command would build it here, with the
// types of what it imports.
func Load(ctx context.Context, dir string) (*Package, error) {
	out, err := proc.Run(ctx, proc.Cmd{Dir: dir, Args: []string{"go", "list", "-e", "-export",
		"-deps", "-json=ImportPath,Dir,Name,Export,GoFiles,DepOnly", "."}})
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	var own listed
	for in := json.NewDecoder(strings.NewReader(out)); ; {
		var l listed
		if err := in.Decode(&l); err == io.EOF {
			break
		} else if err != nil {
			return nil, fmt.Errorf("mutate: go list: %w", err)
		}
		exports[l.ImportPath] = l.Export
		if !l.DepOnly {
			own = l
		}
	}
	return check(own, func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})
}

// check parses the files of a package and asks the compiler's own checker for types.
func check(l listed, lookup func(string) (io.ReadCloser, error)) (*Package, error) {
	p := &Package{Name: l.Name, Fset: token.NewFileSet(),
		Info: &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}}
	for _, name := range l.GoFiles {
		name = filepath.Join(l.Dir, name)
		src, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		f, err := parser.ParseFile(p.Fset, name, src, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		p.Files, p.Src = append(p.Files, f), append(p.Src, src)
	}
	config := types.Config{Importer: importer.ForCompiler(p.Fset, "gc", lookup)}
	if _, err := config.Check(l.ImportPath, p.Fset, p.Files, p.Info); err != nil {
		return nil, fmt.Errorf("mutate: %w", err)
	}
	return p, nil
}
