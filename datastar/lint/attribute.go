// SPDX-License-Identifier: MIT

package lint

import (
	"fmt"
	"strings"
)

// parts are an attribute's name as the client takes it apart.
type parts struct {
	plugin string
	key    string
	mods   []string
}

func split(small string) parts {
	words := strings.Split(strings.TrimPrefix(small, "data-"), "__")
	p := parts{plugin: words[0], mods: words[1:]}
	if i := strings.IndexByte(words[0], ':'); i >= 0 && i+1 < len(words[0]) {
		p.plugin, p.key = words[0][:i], words[0][i+1:]
	}
	return p
}

// attribute looks at one data- attribute.
func (c *checker) attribute(e *element, a *attribute) {
	n := split(strings.ToLower(a.name))
	p, known := plugins[n.plugin]
	if !known {
		c.unknown(a, n)
		return
	}
	if !c.needs(a, n, p) {
		return
	}
	c.caseOf(a, n)
	c.modifiers(a, n, p)
	if n.plugin == "on" {
		c.event(e, a, n)
	}
	c.define(a, n, p)
	c.expression(a, n, p)
	if n.plugin == "init" {
		c.opens(a)
	}
}

const silence = "the client does not know it and passes over it in silence"

// unknown is an attribute that the client does not know: somebody else's, or a mistake.
func (c *checker) unknown(a *attribute, n parts) {
	dot := strings.IndexByte(n.plugin, '.')
	switch prefix := dashed(n.plugin); {
	case former[n.plugin] != "":
		c.report(a.at, "former", a.name, "a name of a version before 1: "+silence,
			"write "+former[n.plugin])
	case pro[n.plugin]:
		if !c.o.Pro {
			c.report(a.at, "pro", a.name, "only in Datastar Pro: "+silence, "use something else")
		}
	case prefix != "":
		rest := n.plugin[len(prefix)+1:]
		if n.key != "" {
			rest += ":" + n.key
		}
		c.report(a.at, "dash", a.name, silence, "write data-"+prefix+":"+rest+", with a colon")
	case dot > 0 && hasPlugin(n.plugin[:dot]):
		c.report(a.at, "dot", a.name, silence,
			"modifiers begin with two underscores: data-"+n.plugin[:dot]+"__"+n.plugin[dot+1:])
	case n.key != "":
		cure := "no attribute of the client is called data-" + n.plugin
		if meant := near(n.plugin); meant != "" {
			cure = "write data-" + meant + ":" + n.key
		}
		c.report(a.at, "unknown", a.name, silence, cure)
	default:
		c.misspelt(a, n)
	}
}

func hasPlugin(name string) bool { _, ok := plugins[name]; return ok }

// dashed finds the plugin that stands before a dash where a colon was meant.
func dashed(name string) string {
	found := ""
	for known, p := range plugins {
		if p.takesKey() && strings.HasPrefix(name, known+"-") && len(known) > len(found) &&
			len(name) > len(known)+1 {
			found = known
		}
	}
	return found
}

// misspelt is a name without a key. Many are of others, so it takes more than being close.
func (c *checker) misspelt(a *attribute, n parts) {
	meant := near(n.plugin)
	if meant == "" {
		return
	}
	speaks := len(n.mods) > 0 || strings.Contains(a.value, "$") || strings.Contains(a.value, "@")
	if speaks || len(meant) > 4 && distance(n.plugin, meant) == 1 {
		c.report(a.at, "unknown", a.name, silence, "write data-"+meant)
	}
}

// needs checks that there is a key and a value as the attribute wants it. It reports false when the
// client stops there.
func (c *checker) needs(a *attribute, n parts, p plugin) bool {
	hasKey, hasValue := n.key != "", a.value != ""
	const stops = "the client throws, and what comes behind it on the page stays dead"
	fault, cure := "", ""
	switch {
	case hasKey && p.key == never && (n.plugin != "on-signal-patch" || n.key != "filter"):
		fault, cure = "takes no key", "take away :"+n.key
	case !hasKey && p.key == must:
		fault, cure = "needs a key", "write data-"+n.plugin+":name"
	case !hasValue && p.value == must:
		fault, cure = "needs a value", "give it one, or take it away"
	case p.key == either && hasKey && hasValue:
		fault, cure = "takes a key or a value, not both", "take one away"
	case p.key == either && !hasKey && !hasValue:
		fault, cure = "needs the name of a signal", `write data-`+n.plugin+`="name"`
	default:
		return true
	}
	c.report(a.at, "need", a.name, fault+": "+stops, cure)
	return false
}

// caseOf finds capital letters, which HTML makes small.
func (c *checker) caseOf(a *attribute, n parts) {
	i := strings.IndexByte(a.name, ':')
	if i < 0 {
		return
	}
	written, _, _ := strings.Cut(a.name[i+1:], "__")
	if written == n.key {
		return
	}
	c.report(a.at, "case", a.name, fmt.Sprintf("HTML makes it small: it is %q", n.key),
		"write each capital as a dash and a small letter: "+dashes(written))
}

func dashes(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if 'A' <= s[i] && s[i] <= 'Z' {
			b.WriteByte('-')
		}
		b.WriteByte(s[i])
	}
	return strings.ToLower(b.String())
}

// event looks at what stands behind data-on.
func (c *checker) event(e *element, a *attribute, n parts) {
	for _, sign := range [...]string{".", "_"} {
		event, mod, ok := strings.Cut(n.key, sign)
		if ok && strings.Contains(plugins["on"].mods, " "+strings.Split(mod, sign)[0]+" ") {
			c.report(a.at, "dot", a.name, fmt.Sprintf("it waits for an event called %q", n.key),
				"modifiers begin with two underscores: data-on:"+event+"__"+mod)
			return
		}
	}
	if n.key == "load" && len(n.mods) == 0 && !loads[e.tag] {
		c.report(a.at, "load", a.name, "an element <"+e.tag+"> has no such event: it never runs",
			"write data-init")
	}
}

// loads are elements that fire the event load.
var loads = words("body img iframe script link style object embed video audio svg image input")

// define notes the signals that the attribute makes.
func (c *checker) define(a *attribute, n parts, p plugin) {
	name := ""
	switch {
	case n.plugin == "signals" || n.plugin == "computed":
		name = signalName(n)
	case p.key == either && n.key != "":
		name = signalName(n)
	case p.key == either:
		name = a.value
	}
	if name == "" {
		return
	}
	if strings.HasPrefix(name, "$") {
		c.report(a.at, "dollar", a.name+"="+a.value, fmt.Sprintf("it makes a signal called %q", name),
			"write the name without the $")
		return
	}
	c.defined(name)
}

// defined notes a signal by the first name of its path.
func (c *checker) defined(path string) {
	name, _, _ := strings.Cut(path, ".")
	c.signals[strings.ToLower(name)] = name
	if path != name {
		c.signals[strings.ToLower(path)] = path
	}
}

// signalName is the key as the client calls the signal.
func signalName(n parts) string {
	for _, mod := range n.mods {
		if strings.HasPrefix(mod, "case.") {
			switch mod[len("case."):] {
			case "kebab":
				return n.key
			case "snake":
				return strings.ReplaceAll(n.key, "-", "_")
			case "pascal":
				return strings.ToUpper(n.key[:1]) + camel(n.key[1:])
			}
		}
	}
	return camel(n.key)
}

func camel(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '-' && i+1 < len(s) && 'a' <= s[i+1] && s[i+1] <= 'z' {
			i++
			b.WriteByte(s[i] - 'a' + 'A')
		} else {
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// opens finds a stream that two elements open.
func (c *checker) opens(a *attribute) {
	if !strings.HasPrefix(a.value, "@get('") {
		return
	}
	url, _, _ := strings.Cut(a.value[len("@get('"):], "'")
	if c.urls[url] {
		c.report(a.at, "stream", a.value,
			"from 1.0.2 on a second request of one method and address ends the first",
			"give each stream an address of its own")
	}
	c.urls[url] = true
}

// twiceEscaped reports whether a value still holds what escaping makes of quotes.
func twiceEscaped(value string) bool {
	for _, ref := range [...]string{"&quot;", "&#34;", "&#39;", "&apos;", "&lt;", "&gt;", "&amp;"} {
		if strings.Contains(value, ref) {
			return true
		}
	}
	return false
}
