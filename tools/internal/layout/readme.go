// SPDX-License-Identifier: MIT

package layout

import (
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"m0serve.dev/tools/internal/rule"
	"m0serve.dev/tools/internal/tree"
)

// readmeLinesMax is the length of a README.
const readmeLinesMax = 150

var (
	toolsVerb  = regexp.MustCompile(`go run (?:\./tools|m0serve\.dev/tools) ([a-z][a-z-]*)`)
	goCommand  = regexp.MustCompile(`go (?:run|build|install|vet|test) (\./|m0serve\.dev/)([\w./-]*)`)
	rowLink    = regexp.MustCompile(`\[([A-Z](?:\d+[a-z]?)?(?:\.[\w.-]+)?)\]\(([^)\s]*SPEC\.md)\)`)
	mdLink     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	importLine = regexp.MustCompile(`"(m0serve\.dev/[\w./-]+)"`)
)

// readmeRule checks every README, at the top, of a module or of an application, and
// the page of a module for people who come from something else (COMING_FROM.md), and
// SECURITY.md: its length, that the commands and packages in it exist, that its links
// lead somewhere, those to rows of a SPEC.md to such a row, and that its Go parses.
func readmeRule(t *tree.Tree, verbs []string) []rule.Finding {
	var found []rule.Finding
	for _, file := range readmes(t) {
		text, err := os.ReadFile(t.Abs(file))
		if err != nil {
			continue // the papers rule reports it
		}
		r := readme{t: t, file: file, verbs: verbs}
		r.check(string(text))
		found = append(found, r.found...)
	}
	return found
}

func readmes(t *tree.Tree) []string {
	files := []string{"README.md", "SECURITY.md"}
	for _, name := range tree.Names {
		for _, pattern := range []string{"/README.md", "/*/README.md", "/COMING_FROM.md"} {
			list, _ := filepath.Glob(t.Abs(name) + filepath.FromSlash(pattern))
			for _, abs := range list {
				if rel, err := filepath.Rel(t.Top, abs); err == nil {
					files = append(files, filepath.ToSlash(rel))
				}
			}
		}
	}
	return files
}

type readme struct {
	t     *tree.Tree
	file  string
	verbs []string
	found []rule.Finding
	block []string // lines of the fenced Go block that is open
	from  int      // its first line; 0: none is open
}

func (r *readme) check(text string) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) > readmeLinesMax {
		r.found = append(r.found, rule.Finding{File: r.file, Size: len(lines), What: fmt.Sprintf(
			"%d lines, the limit is %d", len(lines), readmeLinesMax), Cure: "move the rest into doc.go"})
	}
	for i, line := range lines {
		r.line(i+1, line)
	}
}

func (r *readme) line(n int, line string) {
	switch {
	case r.from > 0 && strings.HasPrefix(line, "```"):
		r.goBlock()
		r.from, r.block = 0, nil
	case r.from > 0:
		r.block = append(r.block, line)
	case line == "```go":
		r.from = n + 1
	}
	for _, m := range toolsVerb.FindAllStringSubmatch(line, -1) {
		if !contains(r.verbs, m[1]) {
			r.add(n, m[1], "go run ./tools has no verb "+m[1])
		}
	}
	for _, m := range goCommand.FindAllStringSubmatch(line, -1) {
		r.folder(n, m[1]+m[2])
	}
	for _, m := range importLine.FindAllStringSubmatch(line, -1) {
		r.folder(n, m[1])
	}
	if r.from > 0 {
		return
	}
	for _, m := range mdLink.FindAllStringSubmatch(line, -1) {
		target, _, _ := strings.Cut(m[1], "#")
		if target == "" || strings.Contains(target, ":") {
			continue
		}
		p := path.Join(path.Dir(r.file), target)
		if _, err := os.Stat(r.t.Abs(p)); err != nil {
			r.add(n, target, "the link "+m[1]+" leads nowhere")
		}
	}
	for _, m := range rowLink.FindAllStringSubmatch(line, -1) {
		spec, err := os.ReadFile(r.t.Abs(path.Join(path.Dir(r.file), m[2])))
		if err == nil && !strings.Contains(string(spec), "\n| "+m[1]+" |") {
			r.add(n, m[1], m[2]+" has no row "+m[1])
		}
	}
}

// folder checks a package pattern of a command or an import path. A relative one
// may be meant from the top, from the module or from the folder of the README.
func (r *readme) folder(n int, pattern string) {
	rest, absolute := strings.CutPrefix(pattern, tree.Root+"/")
	rest = strings.TrimSuffix(strings.TrimSuffix(path.Clean(rest), "..."), "/")
	module, _, _ := strings.Cut(r.file, "/")
	here := path.Dir(r.file)
	switch {
	case rest == "" || r.hasGo(rest):
		return
	case !absolute && (r.hasGo(path.Join(module, rest)) || r.hasGo(path.Join(here, rest))):
		return
	}
	r.add(n, pattern, "there is no Go in "+pattern)
}

// hasGo reports whether a package lies in or below the folder.
func (r *readme) hasGo(dir string) bool {
	for _, m := range r.t.Modules {
		for _, p := range m.Packages {
			if p.Dir == dir || strings.HasPrefix(p.Dir, dir+"/") {
				return true
			}
		}
	}
	return false
}

// goBlock parses a fenced block as a file, as declarations or as statements.
func (r *readme) goBlock() {
	code := strings.Join(r.block, "\n")
	var first error
	for _, frame := range []string{"%s\n", "package p\n%s\n", "package p\nfunc f() {\n%s\n}\n"} {
		_, err := parser.ParseFile(token.NewFileSet(), "", fmt.Sprintf(frame, code), 0)
		if err == nil {
			return
		}
		if first == nil || !strings.Contains(code, "package ") {
			first = err
		}
	}
	r.add(r.from, "code", "the Go here does not parse: "+first.Error())
}

func (r *readme) add(line int, name, what string) {
	r.found = append(r.found, rule.Finding{File: r.file, Line: line, Name: name, What: what})
}
