// SPDX-License-Identifier: MIT

package source

import (
	"fmt"
	"strconv"
	"strings"

	"m0serve.dev/tools/internal/rule"
	"m0serve.dev/tools/internal/tree"
)

// allowed is the order of the modules: what each may import of ours.
var allowed = map[string][]string{
	"core":         {},
	"sqlite":       {},
	"http":         {"core"},
	"datastar":     {"core", "http"}, // http from its stream package only, see edges
	"host":         {"http", "core"},
	"wsgi":         {"http", "core"},
	"apps":         {"core", "sqlite", "http", "datastar", "host", "wsgi"},
	"tools":        {},
	"tools/rivals": {"core", "sqlite", "http", "datastar", "host"},
}

// edge forbids the packages below from to import anything below to.
type edge struct{ from, to, but, why string }

// edges are the rules inside a module, and the finer ones between two.
var edges = []edge{
	{"datastar", "m0serve.dev/http", "datastar/stream",
		"the SDK is bytes; only datastar/stream knows a server"},
	{"http/wire", "m0serve.dev/http", "", "wire is the lowest layer: bytes and messages"},
	{"http/wire", "net", "", "wire does no I/O"},
	{"http/wire", "os", "", "wire does no I/O"},
	{"http/wire", "syscall", "", "wire does no I/O"},
	{"http/loop", "m0serve.dev/http/server", "", "no package calls back up"},
	{"http/loop", "m0serve.dev/http/sse", "", "held streams meet the loop through loop.Source"},
	{"http/loop", "m0serve.dev/http/ws", "", "held streams meet the loop through loop.Source"},
	{"http/loop", "m0serve.dev/http/bus", "", "no package calls back up"},
	{"http/server", "m0serve.dev/http/sse", "", "server and sse meet in the handler"},
	{"http/server", "m0serve.dev/http/ws", "", "server and ws meet in the handler"},
	{"http/bus", "m0serve.dev/http/sse", "", "the bus carries bytes and knows no stream"},
	{"http/bus", "m0serve.dev/http/server", "", "no package calls back up"},
	{"http/sse", "m0serve.dev/http/server", "", "sse works over net/http alone"},
	{"core", "os", "", "core does no I/O"},
	{"core", "net", "", "core does no I/O"},
}

// only names the one place that may import a path.
var only = []struct{ path, place, why string }{
	{"golang.org/x/sys", "http/internal/sys", "all system calls stand in one package"},
	{"C", "wsgi/internal/python", "cgo stands in one package"},
}

// imports checks every import, in tests too, against the order of the modules.
// Test files may go across the inner edges, never across modules.
func imports(t *tree.Tree) []rule.Finding {
	var found []rule.Finding
	eachImport(t, func(m *tree.Module, p *tree.Package, f *tree.File, path string, line int) {
		if why := forbidden(m.Dir, p.Dir, path, f.Test); why != "" {
			found = append(found, rule.Finding{
				File: f.Path, Line: line, Name: path,
				What: fmt.Sprintf("%s may not import %s", p.Dir, path), Cure: why,
			})
		}
	})
	return found
}

func forbidden(module, pkg, path string, test bool) string {
	if rest, ok := strings.CutPrefix(path, tree.Root+"/"); ok {
		other, _, _ := strings.Cut(rest, "/")
		if other != module && !isBelow(rest, module) && !contains(allowed[module], other) {
			return "imports go only down: " + module + " may import " +
				orNothing(allowed[module])
		}
	}
	if module == "tools" && isThirdParty(path) {
		return "the standard library only, so that nobody downloads our tools' tools"
	}
	for _, o := range only {
		if isBelow(path, o.path) && !isBelow(pkg, o.place) {
			return o.why + ": " + o.place
		}
	}
	if test {
		return ""
	}
	for _, e := range edges {
		if isBelow(pkg, e.from) && isBelow(path, e.to) && (e.but == "" || !isBelow(pkg, e.but)) {
			return e.why
		}
	}
	return ""
}

// thirdParty asks that outside of tests a foreign module is imported by one
// package of a module only.
func thirdParty(t *tree.Tree) []rule.Finding {
	var found []rule.Finding
	home := map[string]string{} // module + foreign module → package
	eachImport(t, func(m *tree.Module, p *tree.Package, f *tree.File, path string, line int) {
		if f.Test || !isThirdParty(path) || m.Dir == "tools/rivals" {
			return
		}
		key := m.Dir + " " + foreignModule(path)
		if home[key] == "" {
			home[key] = p.Dir
		}
		if home[key] != p.Dir {
			found = append(found, rule.Finding{
				File: f.Path, Line: line, Name: path,
				What: fmt.Sprintf("%s is imported by %s already", foreignModule(path), home[key]),
				Cure: "use it through that package",
			})
		}
	})
	return found
}

func eachImport(t *tree.Tree, visit func(*tree.Module, *tree.Package, *tree.File, string, int)) {
	t.EachFile(func(m *tree.Module, p *tree.Package, f *tree.File) {
		if f.AST == nil {
			return
		}
		for _, spec := range f.AST.Imports {
			if path, err := strconv.Unquote(spec.Path.Value); err == nil {
				visit(m, p, f, path, t.Line(spec.Pos()))
			}
		}
	})
}

// isThirdParty reports whether path is neither ours nor of the standard library.
func isThirdParty(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return strings.Contains(first, ".") && !isBelow(path, tree.Root)
}

// foreignModule guesses the module of an import path: three elements where the
// host keeps repositories by owner, else two.
func foreignModule(path string) string {
	part := strings.SplitN(path, "/", 4)
	n := 2
	if part[0] == "github.com" || part[0] == "golang.org" {
		n = 3
	}
	return strings.Join(part[:min(n, len(part))], "/")
}

func isBelow(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, dir+"/")
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

func orNothing(list []string) string {
	if len(list) == 0 {
		return "nothing of ours"
	}
	return strings.Join(list, ", ")
}
