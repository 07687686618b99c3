// SPDX-License-Identifier: MIT

// Package rule is the frame of the repository's own rules: what a rule is, what
// it finds, and the list of exceptions, which may only shrink.
//
// A rule is a function from the parsed repository to findings. A finding names
// the file, the line, what is wrong and how to mend it.
package rule

import (
	"fmt"
	"sort"

	"m0serve.dev/tools/internal/tree"
)

// Rule is one thing that must hold everywhere in the repository.
type Rule struct {
	Name  string // short, with dashes; exceptions are listed under it
	Why   string // what the rule is good for, for the person who meets it
	Check func(*tree.Tree) []Finding
}

// Finding is one place where a rule does not hold.
type Finding struct {
	Rule string // set by Run
	File string // below the top of the repository, with slashes
	Line int    // 0: the file as a whole
	Name string // what in the file: a function, an import, a row; may be empty
	Size int    // measured size for the rules that have a limit, else 0
	What string // what is wrong, with the figure
	Cure string // what to do about it; may be empty
}

// Key names the place independent of line numbers: file, or file#name.
func (f Finding) Key() string {
	if f.Name == "" {
		return f.File
	}
	return f.File + "#" + f.Name
}

// String returns the finding as file:line: rule: what (cure).
func (f Finding) String() string {
	s := f.File
	if f.Line > 0 {
		s += fmt.Sprintf(":%d", f.Line)
	}
	s += ": " + f.Rule + ": " + f.What
	if f.Cure != "" {
		s += " (" + f.Cure + ")"
	}
	return s
}

// Run applies the rules and returns what they find, sorted by file and line.
func Run(t *tree.Tree, rules []Rule) []Finding {
	var all []Finding
	for _, r := range rules {
		for _, f := range r.Check(t) {
			f.Rule = r.Name
			all = append(all, f)
		}
	}
	sort.SliceStable(all, func(i, j int) bool {
		a, b := all[i], all[j]
		if a.File != b.File {
			return a.File < b.File
		}
		return a.Line < b.Line
	})
	return all
}
