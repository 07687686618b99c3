// SPDX-License-Identifier: MIT

package lint

import (
	"regexp"
	"strings"
)

const cannotRun = "the client throws when it reads it"

// expression looks at the value of an attribute.
func (c *checker) expression(a *attribute, n parts, p plugin) {
	if !p.expression || a.value == "" {
		return
	}
	place := func(at int) int {
		if a.raw == a.value {
			return a.valAt + at
		}
		return a.valAt // where in the escaped text is not known
	}
	if twiceEscaped(a.value) {
		c.report(a.valAt, "escaped", a.value, "it was escaped twice: "+cannotRun, "escape it once")
		return
	}
	if p.object && n.key == "" && membersWithoutBraces.MatchString(a.value) {
		c.report(a.valAt, "braces", a.value, cannotRun, "write an object: {"+a.value+"}")
		return
	}
	if arrowAlone.MatchString(a.value) && n.plugin != "computed" {
		c.report(a.valAt, "function", a.value, "it makes a function that nobody calls",
			"write what is behind the =>")
		return
	}
	defines := n.key == "" && (n.plugin == "signals" || n.plugin == "computed")
	x := &expr{
		text: a.value,
		signal: func(name string, at int) {
			c.signal(name, place(at), strings.HasPrefix(a.value[at+1+len(name):], "("))
		},
		action: func(name string, at int) {
			c.action(name, place(at-1), strings.HasPrefix(a.value[at+len(name):], "("))
		},
		call: func(name string, at int) { c.call(name, place(at), a.value[at:]) },
		member: func(name string, _ int) {
			if defines {
				c.defined(name)
			}
		},
		broken: func(at int, text, what string) {
			c.report(place(at), "broken", text, what+": "+cannotRun, "mend it")
		},
	}
	x.read()
}

// membersWithoutBraces is an object of which only the inside is there.
var membersWithoutBraces = regexp.MustCompile(`^\s*(['"][^'"]*['"]|[A-Za-z_][\w-]*)\s*:[^:]`)

// arrowAlone is an arrow function and no call of one.
var arrowAlone = regexp.MustCompile(`^\s*(async\s+)?(\([\w\s,{}]*\)|\w+)\s*=>`)

// signal is one that an expression reads or sets.
func (c *checker) signal(name string, at int, called bool) {
	if called && actions[name] {
		c.report(at, "former", "$"+name+"(", "it calls a signal: "+cannotRunThen, "write @"+name+"(")
		return
	}
	c.used = append(c.used, use{name, at})
}

const cannotRunThen = "the client throws when it runs"

// action is a word behind an @.
func (c *checker) action(name string, at int, called bool) {
	switch {
	case !called:
		c.report(at, "action", "@"+name, `without "(" directly behind it: `+cannotRun,
			"write @"+name+"(…)")
	case actions[name] || proActions[name] && c.o.Pro:
	case proActions[name]:
		c.report(at, "pro", "@"+name, "only in Datastar Pro: "+cannotRunThen, "use something else")
	default:
		c.report(at, "action", "@"+name, "there is no such action: "+cannotRunThen,
			"actions are get, post, put, patch, delete, query, peek, setAll, toggleAll")
	}
}

// call is a function that an expression calls.
func (c *checker) call(name string, at int, rest string) {
	if !actions[name] {
		return
	}
	if name == "delete" {
		arg := strings.TrimPrefix(rest, "delete(")
		if arg == "" || strings.IndexByte("'\"`", arg[0]) < 0 {
			return // JavaScript's own
		}
		c.report(at, "action", "delete(", "it is JavaScript's own delete, which does nothing here",
			"write @delete(")
		return
	}
	c.report(at, "action", name+"(", "there is no such function: "+cannotRunThen,
		"write @"+name+"(")
}

// signalsUsed compares the signals of expressions with those that the page makes.
func (c *checker) signalsUsed() {
	for _, u := range c.used {
		first, _, _ := strings.Cut(u.name, ".")
		if dash := strings.IndexByte(u.name, '-'); dash >= 0 {
			if c.signals[strings.ToLower(u.name)] != u.name {
				c.report(u.at, "minus", "$"+u.name,
					"it is read as one signal with a dash in its name, which there is not",
					"put blanks around the minus, or write $"+camel(u.name))
			}
			continue
		}
		if made, ok := c.signals[strings.ToLower(first)]; ok && made != first {
			c.report(u.at, "signal", "$"+first, "it is another signal than "+made+
				", which an attribute of the page makes", "write both in one way")
		}
	}
}
