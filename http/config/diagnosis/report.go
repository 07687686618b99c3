// SPDX-License-Identifier: MIT

// Package diagnosis is what the doctor of a command prints: what would be served,
// and every problem with its cure. m0serve and every Go application on package
// host have one, and they look and read the same.
//
// A Report is filled line by line and printed once. The functions that look at
// the machine try and give back: what they listen on, they close.
package diagnosis

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// A Mark says how a line is meant.
type Mark int

// Marks, from harmless to what keeps the service from serving.
const (
	Note Mark = iota
	Good
	Warning
	Problem
)

// A Line is one thing that was looked at.
type Line struct {
	Section string
	Mark    Mark
	Label   string
	Text    string // may have several lines
	Cure    string // what to do, a clause; "": nothing
}

// A Report is all that was found, in the order it is printed.
type Report struct {
	Title string // the command and its version
	Lines []Line
	URLs  []string // where it would serve
}

// Add appends one line.
func (r *Report) Add(section string, mark Mark, label, text, cure string) {
	r.Lines = append(r.Lines, Line{section, mark, label, text, cure})
}

// OK tells whether the service would serve.
func (r *Report) OK() bool { return r.count(Problem) == 0 }

func (r *Report) count(mark Mark) int {
	n := 0
	for _, l := range r.Lines {
		if l.Mark == mark {
			n++
		}
	}
	return n
}

// A style is how marks and colours look.
type style struct {
	marks                  [4]string // by Mark
	bold, faint, cure, end string
}

var (
	plainStyle    = style{marks: [4]string{"-   ", "ok  ", "warn", "FAIL"}}
	terminalStyle = style{
		marks: [4]string{"\x1b[2m·\x1b[0m", "\x1b[32m✓\x1b[0m", "\x1b[33m!\x1b[0m",
			"\x1b[31m✗\x1b[0m"},
		bold: "\x1b[1m", faint: "\x1b[2m", cure: "\x1b[36m", end: "\x1b[0m",
	}
)

// Print writes the report as aligned text, with marks and colours for a terminal.
func (r *Report) Print(w io.Writer, terminal bool) error {
	s := plainStyle
	if terminal {
		s = terminalStyle
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s%s doctor\n", s.bold, r.Title, s.end)
	width := 0
	for _, l := range r.Lines {
		width = max(width, min(utf8.RuneCountInString(l.Label), labelMax))
	}
	section := ""
	for _, l := range r.Lines {
		if l.Section != section {
			section = l.Section
			fmt.Fprintf(&b, "\n%s%s%s\n", s.bold, section, s.end)
		}
		s.line(&b, l, width)
	}
	b.WriteString("\n" + r.verdict() + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// labelMax keeps a long label from pushing all texts to the right.
const labelMax = 24

// line writes "  mark label  text", further lines and the cure below the text.
func (s *style) line(b *strings.Builder, l Line, width int) {
	pad := strings.Repeat(" ", max(0, width-utf8.RuneCountInString(l.Label)))
	markWidth := 1
	if s.bold == "" {
		markWidth = 4
	}
	indent := "\n" + strings.Repeat(" ", 2+markWidth+1+width+2)
	text := strings.ReplaceAll(l.Text, "\n", indent)
	gap := "  "
	if l.Label == "" {
		pad, gap = "", ""
		indent = "\n" + strings.Repeat(" ", 2+markWidth+1)
		text = strings.ReplaceAll(l.Text, "\n", indent)
	}
	fmt.Fprintf(b, "  %s %s%s%s%s\n", s.marks[l.Mark], l.Label, pad, gap, text)
	if l.Cure != "" {
		fmt.Fprintf(b, "%s%s→ %s%s\n", indent[1:], s.cure, l.Cure, s.end)
	}
}

// verdict is the last line.
func (r *Report) verdict() string {
	problems, warnings := r.count(Problem), r.count(Warning)
	switch {
	case problems > 0:
		return plural(problems, "problem") + and(warnings) + ". Nothing would be served."
	case len(r.URLs) > 0:
		return "It would serve " + strings.Join(r.URLs, " and ") + but(warnings) + "."
	}
	return "It would serve" + but(warnings) + "."
}

func plural(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

func and(warnings int) string {
	if warnings == 0 {
		return ""
	}
	return " and " + plural(warnings, "warning")
}

func but(warnings int) string {
	if warnings == 0 {
		return ""
	}
	return ", with " + plural(warnings, "warning")
}
