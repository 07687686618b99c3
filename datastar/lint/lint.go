// SPDX-License-Identifier: MIT

package lint

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Finding is one place of a page.
type Finding struct {
	Line, Column int    // from 1; the column counts characters
	Rule         string // a word for the kind of fault
	Text         string // what is written there
	Happens      string // what the client does with it
	Cure         string
}

// String is the finding in one line.
func (f Finding) String() string {
	return fmt.Sprintf("%d:%d: %s: %s: %s; %s", f.Line, f.Column, f.Rule, f.Text, f.Happens, f.Cure)
}

// Options of Check and Patch. The zero value is for the free client and a page of one's own.
type Options struct {
	Pro   bool     // the page loads Datastar Pro
	Allow []string // attributes, as they are written, that are no findings
}

// T is what HTML needs of a *testing.T.
type T interface {
	Helper()
	Errorf(format string, args ...any)
}

// HTML reports what Check finds on the page as errors of the test.
func HTML(t T, page []byte) {
	t.Helper()
	for _, f := range Check(page, Options{}) {
		t.Errorf("%s", f)
	}
}

// findingsMax bounds the findings of one page; the last one says so.
const findingsMax = 1000

// Check looks at a page, or a part of one, in the order of its text.
func Check(page []byte, o Options) []Finding {
	c := newChecker(page, o)
	scan := scanner{page: page}
	for e, _ := scan.next(); e != nil; e, _ = scan.next() {
		if !e.close {
			c.element(e)
		}
	}
	c.signalsUsed()
	return c.sorted()
}

func newChecker(page []byte, o Options) *checker {
	return &checker{
		page: page, o: o,
		signals: map[string]string{}, urls: map[string]bool{}, ids: map[string]bool{},
	}
}

// checker is one run of Check.
type checker struct {
	page    []byte
	o       Options
	found   []finding
	signals map[string]string // defined on the page: by their small letters, as they are called
	used    []use
	urls    map[string]bool // that a data-init opened
	ids     map[string]bool // of elements
}

// finding has its place as an offset.
type finding struct {
	at int
	Finding
}

// use is a signal in an expression.
type use struct {
	name string
	at   int
}

// report adds a finding.
func (c *checker) report(at int, rule, text, happens, cure string) {
	if len(c.found) == findingsMax {
		rule, text, happens, cure = "many", "more", "not listed", "mend these first"
	}
	if len(c.found) <= findingsMax {
		c.found = append(c.found, finding{at, Finding{
			Rule: rule, Text: short(text), Happens: happens, Cure: cure,
		}})
	}
}

// short cuts a text for a message, and keeps it in one line.
func short(s string) string {
	const most = 60
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\ufffd")), " ")
	if utf8.RuneCountInString(s) > most {
		s = string([]rune(s)[:most]) + "…"
	}
	return s
}

// sorted gives the findings with their lines and columns.
func (c *checker) sorted() []Finding {
	slices.SortStableFunc(c.found, func(a, b finding) int { return cmp.Compare(a.at, b.at) })
	out := make([]Finding, 0, len(c.found))
	line, start, seen := 1, 0, 0
	for _, f := range c.found {
		for i := bytes.IndexByte(c.page[seen:f.at], '\n'); i >= 0; {
			line, seen = line+1, seen+i+1
			start = seen
			i = bytes.IndexByte(c.page[seen:f.at], '\n')
		}
		f.Line, f.Column = line, utf8.RuneCount(c.page[start:f.at])+1
		out = append(out, f.Finding)
	}
	return out
}

// element looks at the attributes of a start tag.
func (c *checker) element(e *element) {
	c.script(e)
	c.id(e)
	names := map[string]bool{}
	for i := range e.attrs {
		a := &e.attrs[i]
		small := strings.ToLower(a.name)
		if !strings.HasPrefix(small, "data-") || slices.Contains(c.o.Allow, a.name) {
			continue
		}
		if names[small] {
			c.report(a.at, "twice", a.name, "the browser drops the second attribute of a name",
				"join the two")
		}
		names[small] = true
		c.attribute(e, a)
	}
}

// id sees that no id occurs twice: a patch goes to the first.
func (c *checker) id(e *element) {
	id, ok := e.get("id")
	if ok && id != "" && c.ids[id] {
		c.report(e.at, "id", "id="+id, "a patch goes to the first element of that id only",
			"give each its own")
	}
	c.ids[id] = true
}

// script sees that the client is loaded as a module.
func (c *checker) script(e *element) {
	src, ok := e.get("src")
	if e.tag != "script" || !ok || !strings.Contains(strings.ToLower(src), "datastar") {
		return
	}
	if kind, _ := e.get("type"); !strings.EqualFold(kind, "module") {
		c.report(e.at, "module", "<script src="+src+">",
			"the client is a module: as a classic script it does not run", `add type="module"`)
	}
}
