// SPDX-License-Identifier: MIT

package spec

import (
	"bytes"
	"fmt"
	"go/ast"
	"os"
	"path"
	"regexp"
	"strings"

	"m0serve.dev/tools/internal/rule"
	"m0serve.dev/tools/internal/tree"
)

// Rules are all rules of this package.
var Rules = []rule.Rule{
	{Name: "spec-rows", Why: "a promise without a test is a wish", Check: rowRule},
	{Name: "spec-tests", Why: "a test that is renamed takes its promise along", Check: testRule},
	{Name: "spec-sabotage", Why: "a test that never fails proves nothing", Check: sabotageRule},
}

// rowRule asks each row for an id of its own, a test and a sabotage.
func rowRule(t *tree.Tree) []rule.Finding {
	var found []rule.Finding
	for _, m := range t.Modules {
		rows, bad := LoadRows(t, m.Dir)
		for _, err := range bad {
			found = append(found, findingOf(err))
		}
		seen := map[string]bool{}
		for _, row := range rows {
			what := ""
			switch {
			case seen[row.ID]:
				what = "stands twice"
			case len(row.Tests) == 0:
				what = "names no test"
			case len(row.Sabotages) == 0:
				what = "names no sabotage"
			}
			seen[row.ID] = true
			if what != "" {
				found = append(found, rowFinding(m.Dir, row, "row "+row.ID+" "+what,
					"write it, or drop the claim"))
			}
		}
	}
	return found
}

// testRule asks that each test named by a row exists where the row says. The
// name of a subtest must stand in a test file of that folder, with spaces or
// underscores.
func testRule(t *tree.Tree) []rule.Finding {
	var found []rule.Finding
	for _, m := range t.Modules {
		rows, _ := LoadRows(t, m.Dir)
		for _, row := range rows {
			for _, test := range row.Tests {
				if what := missing(m.Package(test.Dir), test); what != "" {
					found = append(found, rowFinding(m.Dir, row, "row "+row.ID+": "+what, ""))
				}
			}
		}
	}
	return found
}

func missing(p *tree.Package, test Test) string {
	if p == nil {
		return fmt.Sprintf("there is no package in %s", test.Dir)
	}
	name, sub, _ := strings.Cut(test.Name, "/")
	if !regexp.MustCompile(`^(Test|Fuzz|Example)`).MatchString(name) {
		return fmt.Sprintf("%s is not a Test, Fuzz or Example function", name)
	}
	hasFunc, hasSub := false, sub == ""
	for _, f := range p.Files {
		if !f.Test || f.AST == nil {
			continue
		}
		for _, d := range f.AST.Decls {
			fn, ok := d.(*ast.FuncDecl)
			hasFunc = hasFunc || ok && fn.Recv == nil && fn.Name.Name == name
		}
		last := path.Base(sub)
		hasSub = hasSub || bytes.Contains(f.Src, []byte(last)) ||
			bytes.Contains(f.Src, []byte(strings.ReplaceAll(last, "_", " ")))
	}
	switch {
	case !hasFunc:
		return fmt.Sprintf("%s has no function %s", test.Dir, name)
	case !hasSub:
		return fmt.Sprintf("%s has no test named %q", test.Dir, sub)
	}
	return ""
}

// sabotageRule ties rows and sabotages both ways: a row names files that exist, a
// file names a row that names it, its old text occurs exactly once, and its gate
// runs a test of that row.
func sabotageRule(t *tree.Tree) []rule.Finding {
	var found []rule.Finding
	for _, m := range t.Modules {
		rows, _ := LoadRows(t, m.Dir)
		sabotages, err := LoadSabotages(t.Top, m.Dir)
		if err != nil {
			found = append(found, findingOf(err))
		}
		byID := map[string]*Sabotage{}
		for _, s := range sabotages {
			byID[s.ID] = s
		}
		named := map[string]Row{}
		for _, row := range rows {
			for _, id := range row.Sabotages {
				if byID[id] == nil {
					found = append(found, rowFinding(m.Dir, row, fmt.Sprintf(
						"row %s: there is no %s/%s.txt", row.ID, sabotageDir, id), ""))
				} else if byID[id].Row == row.ID {
					named[id] = row
				}
			}
		}
		for _, s := range sabotages {
			if what := checkSabotage(t, s, named); what != "" {
				found = append(found, rule.Finding{File: s.Path, Name: s.ID, What: what})
			}
		}
	}
	return found
}

func checkSabotage(t *tree.Tree, s *Sabotage, named map[string]Row) string {
	if s.Bad != nil {
		return s.Bad.Error()
	}
	row, ok := named[s.ID]
	if !ok {
		return fmt.Sprintf("row %s in %s/SPEC.md does not name this sabotage", s.Row, s.Module)
	}
	text, err := os.ReadFile(t.Abs(path.Join(s.Module, s.File)))
	if err != nil {
		return fmt.Sprintf("%s/%s cannot be read: %v", s.Module, s.File, err)
	}
	if _, err := s.Apply(string(text)); err != nil {
		return err.Error()
	}
	_, args, err := s.Command()
	if err != nil {
		return err.Error()
	}
	if !runsTestOf(s.Module, args, row) {
		return fmt.Sprintf("gate %q runs no test of row %s", s.Gate, row.ID)
	}
	return ""
}

// runsTestOf reports whether "go test" with args, run in the module's folder,
// runs a test that row names. What cannot be decided counts as yes.
func runsTestOf(module string, args []string, row Row) bool {
	if args[1] != "test" {
		return true
	}
	pattern, dirs := "", map[string]bool{}
	for i, a := range args[2:] {
		switch {
		case a == "-run" && i+3 < len(args):
			pattern = args[i+3]
		case strings.HasPrefix(a, "-run="):
			pattern = a[len("-run="):]
		case strings.HasPrefix(a, "."):
			dirs[path.Join(module, a)] = true
		}
	}
	top, _, _ := strings.Cut(pattern, "/")
	re, err := regexp.Compile(top)
	if err != nil {
		return false
	}
	for _, test := range row.Tests {
		name, _, _ := strings.Cut(test.Name, "/")
		if (dirs[test.Dir] || dirs[path.Join(module, "...")]) && re.MatchString(name) {
			return true
		}
	}
	return false
}

func rowFinding(module string, row Row, what, cure string) rule.Finding {
	return rule.Finding{
		File: path.Join(module, "SPEC.md"), Line: row.Line, Name: row.ID, What: what, Cure: cure,
	}
}

// findingOf turns an error that opens with "file:" into a finding.
func findingOf(err error) rule.Finding {
	file, what, _ := strings.Cut(err.Error(), ": ")
	return rule.Finding{File: file, What: what}
}
