// SPDX-License-Identifier: MIT

package lint

import (
	"fmt"
	"strings"
)

// An expr is an expression read once, from left to right: strings, brackets, signals, actions.
type expr struct {
	text  string
	pos   int
	open  []opened // brackets and template literals, the innermost last
	last  string   // word or sign before pos, "" at the beginning
	keyOK bool     // the name of a member may come: behind "{" or "," of the outermost object

	signal func(name string, at int)       // $name, as the client reads it
	action func(name string, at int)       // @name
	call   func(name string, at int)       // name( without an @
	member func(name string, at int)       // a member of the outermost object
	broken func(at int, text, what string) // it cannot run; called once at the most
}

// opened is a bracket and its place; '`' is a template literal, '$' the "${" in one.
type opened struct {
	what byte
	at   int
}

// read goes through the expression. It reports false when that cannot run.
func (x *expr) read() bool {
	for x.pos < len(x.text) {
		var ok bool
		if n := len(x.open); n > 0 && x.open[n-1].what == '`' {
			ok = x.template()
		} else {
			ok = x.step()
		}
		if !ok {
			return false
		}
	}
	if n := len(x.open); n > 0 {
		o := x.open[n-1]
		what := fmt.Sprintf("%q is not closed", o.what)
		if o.what == '$' {
			what = `"${" is not closed`
		}
		x.broken(o.at, x.text, what)
		return false
	}
	return true
}

// template goes on in a template literal.
func (x *expr) template() bool {
	rest := x.text[x.pos:]
	switch {
	case rest[0] == '\\':
		x.pos += 2
	case rest[0] == '`':
		x.open = x.open[:len(x.open)-1]
		x.sign("`")
	case strings.HasPrefix(rest, "${"):
		x.open = append(x.open, opened{'$', x.pos})
		x.last = "{"
		x.pos += 2
	default:
		x.pos++
	}
	return true
}

// step reads one word, string, comment or sign.
func (x *expr) step() bool {
	c := x.text[x.pos]
	switch {
	case c <= ' ':
		x.pos++
	case c == '\'' || c == '"':
		return x.str(c)
	case strings.HasPrefix(x.text[x.pos:], "//"):
		x.skip("\n")
	case strings.HasPrefix(x.text[x.pos:], "/*"):
		x.skip("*/")
	case c == '/' && x.beginsRegexp():
		return x.regexp()
	case c == '`':
		x.open = append(x.open, opened{c, x.pos})
		x.pos++
	case strings.IndexByte("([{", c) >= 0:
		x.open = append(x.open, opened{c, x.pos})
		x.sign(string(c))
		x.keyOK = c == '{' && len(x.open) == 1
	case strings.IndexByte(")]}", c) >= 0:
		return x.closing(c)
	case c == '@':
		x.pos++
		at := x.pos
		x.action(x.word(), at)
	case c == '$':
		x.dollar()
	case isWord(c):
		x.plain()
	default:
		x.sign(string(c))
		x.keyOK = c == ',' && len(x.open) == 1 && x.open[0].what == '{'
	}
	return true
}

func (x *expr) sign(s string) {
	x.last = s
	x.pos += len(s)
}

// skip goes behind the end of a comment.
func (x *expr) skip(end string) {
	if i := strings.Index(x.text[x.pos+2:], end); i >= 0 {
		x.pos += 2 + i + len(end)
		return
	}
	x.pos = len(x.text)
}

// str reads a string.
func (x *expr) str(quote byte) bool {
	at := x.pos
	for x.pos++; x.pos < len(x.text) && x.text[x.pos] != quote; x.pos++ {
		if x.text[x.pos] == '\\' {
			x.pos++
		}
	}
	if x.pos >= len(x.text) {
		x.broken(at, x.text, fmt.Sprintf("the string that begins with %c does not end", quote))
		return false
	}
	x.pos++
	x.last = "'"
	if x.keyOK {
		x.key(x.text[at+1:x.pos-1], at+1)
	}
	return true
}

// key is told a member when a colon follows.
func (x *expr) key(name string, at int) {
	x.keyOK = false
	if strings.HasPrefix(strings.TrimLeft(x.text[x.pos:], " \t\r\n"), ":") {
		x.member(name, at)
	}
}

// closing takes a closing bracket.
func (x *expr) closing(c byte) bool {
	n := len(x.open)
	if n == 0 || !closes(x.open[n-1].what, c) {
		x.broken(x.pos, x.text, fmt.Sprintf("%q closes nothing", c))
		return false
	}
	x.open = x.open[:n-1]
	x.sign(string(c))
	return true
}

func closes(open, c byte) bool {
	switch c {
	case ')':
		return open == '('
	case ']':
		return open == '['
	}
	return open == '{' || open == '$'
}

// beginsRegexp reports whether a slash here begins a regular expression and does not divide.
func (x *expr) beginsRegexp() bool {
	switch x.last {
	case ")", "]", "}", "'", "`", "/":
		return false
	case "return", "typeof", "in", "of", "case":
		return true
	}
	return x.last == "" || !isWord(x.last[len(x.last)-1])
}

func (x *expr) regexp() bool {
	at, class := x.pos, false
	for x.pos++; x.pos < len(x.text); x.pos++ {
		switch c := x.text[x.pos]; {
		case c == '\\':
			x.pos++
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '/' && !class:
			x.last = "/"
			x.pos++
			x.word() // flags
			return true
		}
	}
	x.broken(at, x.text, "the regular expression does not end")
	return false
}

// word takes letters, digits and underscores.
func (x *expr) word() string {
	from := x.pos
	for x.pos < len(x.text) && isWord(x.text[x.pos]) {
		x.pos++
	}
	return x.text[from:x.pos]
}

func isWord(c byte) bool { return isLetter(c) || '0' <= c && c <= '9' || c == '_' || c >= 0x80 }

// plain reads a name without a sign, or a number.
func (x *expr) plain() {
	at, before, key := x.pos, x.last, x.keyOK
	name := x.word()
	x.last = name
	if key {
		x.key(name, at)
	}
	x.keyOK = false
	if before != "." && before != "function" && strings.HasPrefix(x.text[x.pos:], "(") {
		x.call(name, at)
	}
}

// dollar reads a signal as the client does: with the dots and dashes in it.
func (x *expr) dollar() {
	at := x.pos
	x.pos++
	if x.pos < len(x.text) && x.text[x.pos] == '$' {
		x.last = "$"
		return
	}
	name := x.word()
	for x.pos+1 < len(x.text) && (x.text[x.pos] == '.' || x.text[x.pos] == '-') &&
		isWord(x.text[x.pos+1]) {
		from := x.pos
		x.pos++
		name += x.text[from:from+1] + x.word()
	}
	x.last = "$" + name
	x.keyOK = false
	if name != "" {
		x.signal(name, at)
	}
}
