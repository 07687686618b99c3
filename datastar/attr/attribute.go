// SPDX-License-Identifier: MIT

package attr

import (
	"html/template"
	"strconv"
	"strings"
	"time"
)

// Attribute is one attribute of an element. The value is not escaped yet.
type Attribute struct{ Name, Value string }

// String is the attribute as HTML: name="value", or the name alone.
func (a Attribute) String() string {
	if a.Value == "" {
		return a.Name
	}
	return a.Name + `="` + escaper.Replace(a.Value) + `"`
}

// HTMLAttr is String for html/template, which writes it as it is.
func (a Attribute) HTMLAttr() template.HTMLAttr { return template.HTMLAttr(a.String()) }

// Map is the attribute for templ.Attributes; templ escapes it. One without a value is true.
func (a Attribute) Map() map[string]any { return List{a}.Map() }

// escaper leaves nothing that ends a value in double quotes or begins anything in it.
var escaper = strings.NewReplacer(
	"&", "&amp;", `"`, "&#34;", "'", "&#39;", "<", "&lt;", ">", "&gt;",
)

// List is the attributes of one element.
type List []Attribute

// String is the attributes as HTML, with blanks between them.
func (l List) String() string {
	words := make([]string, len(l))
	for i, a := range l {
		words[i] = a.String()
	}
	return strings.Join(words, " ")
}

// HTMLAttr is String for html/template, which writes it as it is.
func (l List) HTMLAttr() template.HTMLAttr { return template.HTMLAttr(l.String()) }

// Map is the list for templ.Attributes; templ escapes it.
func (l List) Map() map[string]any {
	m := make(map[string]any, len(l))
	for _, a := range l {
		if a.Value == "" {
			m[a.Name] = true
		} else {
			m[a.Name] = a.Value
		}
	}
	return m
}

// name collects the name of an attribute.
type name struct{ b strings.Builder }

func newName(plugin string) *name {
	n := &name{}
	n.b.WriteString("data-" + plugin)
	return n
}

// key adds the part behind the colon, and the case when the plugin would read it in another.
func (n *name) key(k key) *name {
	n.b.WriteString(":" + k.text)
	return n.mod(k.mod != "", "case", k.mod)
}

// mod adds a modifier when it is on.
func (n *name) mod(on bool, word string, args ...string) *name {
	if on {
		n.b.WriteString("__" + word)
		for _, arg := range args {
			n.b.WriteString("." + arg)
		}
	}
	return n
}

func (n *name) is(value string) Attribute { return Attribute{n.b.String(), value} }

// wait is a time as the client reads it: whole milliseconds, one at least.
func wait(d time.Duration) string {
	if d%time.Second == 0 {
		return strconv.FormatInt(int64(d/time.Second), 10) + "s"
	}
	ms := max(d.Round(time.Millisecond).Milliseconds(), 1)
	return strconv.FormatInt(ms, 10) + "ms"
}

// key is a name as it stands in an attribute's name.
type key struct{ text, mod string }

// keyOf finds the spelling of a name in an attribute whose plugin reads keys as camel case, or as
// they are. It reports false when there is none.
func keyOf(called string, camel bool) (k key, ok bool) {
	if called == "" || strings.Contains(called, "__") || strings.HasSuffix(called, "_") ||
		strings.ContainsAny(called, " \t\r\n\f\"'<>/=`&\x00") {
		return key{}, false
	}
	upper := strings.ContainsFunc(called, isUpper)
	dash := false // a dash and a letter, which camel case would join
	for i := range len(called) - 1 {
		dash = dash || called[i] == '-' && 'a' <= called[i+1] && called[i+1] <= 'z'
	}
	switch {
	case upper && dash:
		return key{}, false
	case upper:
		k.text = kebab(called)
		if !camel {
			k.mod = "camel"
		}
	default:
		k.text = called
		if camel && dash {
			k.mod = "kebab"
		}
	}
	return k, true
}

func isUpper(r rune) bool { return 'A' <= r && r <= 'Z' }

// kebab writes each capital letter as a dash and a small one. The client's camel case undoes that.
func kebab(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if isUpper(rune(s[i])) {
			b.WriteByte('-')
			b.WriteByte(s[i] + 'a' - 'A')
		} else {
			b.WriteByte(s[i])
		}
	}
	return b.String()
}
