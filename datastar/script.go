// SPDX-License-Identifier: MIT

package datastar

import (
	"errors"
	"strings"
)

// ErrAttribute refuses the name of an attribute that would be more than one.
var ErrAttribute = errors.New("datastar: not the name of an attribute")

// An Attribute of a script element. An empty value is written as the name alone.
type Attribute struct{ Name, Value string }

// ScriptOptions are those of an executed script.
type ScriptOptions struct {
	Common
	Attributes []Attribute // in this order
	Keep       bool        // leave the script element in the page after it ran
}

func (o *ScriptOptions) check() error {
	for _, a := range o.Attributes {
		if !isAttribute(a.Name) {
			return ErrAttribute
		}
		if !isLine(a.Value) {
			return ErrLine
		}
	}
	return o.Common.check()
}

// isAttribute reports whether the HTML parser takes name for one attribute.
func isAttribute(name string) bool {
	return name != "" && !strings.ContainsAny(name, " \t\r\n\f\x00\"'<>/=`")
}

// AppendExecuteScript appends the event that runs a script in the page. The text
// is the caller's program and never meant to hold what a person typed: put that
// through AppendJSString.
//
// A "</script" or "<!--" in it gets a backslash behind the "<", so that the
// HTML parser does not see it; in a string or regular expression, the only
// places where a program means it, the backslash changes nothing.
func AppendExecuteScript(dst []byte, script string, o ScriptOptions) ([]byte, error) {
	l, err := beginScript(dst, &o)
	if err != nil {
		return dst, err
	}
	l.writeScript(script)
	return l.finishScript(), nil
}

// beginScript opens the event and its script element.
func beginScript(dst []byte, o *ScriptOptions) (lines, error) {
	if err := o.check(); err != nil {
		return lines{}, err
	}
	e := ElementsOptions{Common: o.Common, Selector: "body", Mode: Append}
	l := lines{dst: e.append(dst), key: elementsKey}
	l.writeString("<script")
	for _, a := range o.Attributes {
		l.dst = append(append(l.dst, ' '), a.Name...)
		if a.Value != "" {
			l.dst = append(l.dst, `="`...)
			l.dst = appendAttributeValue(l.dst, a.Value)
			l.dst = append(l.dst, '"')
		}
	}
	if !o.Keep {
		l.writeString(` data-effect="el.remove()"`)
	}
	l.writeString(">")
	return l, nil
}

func (l *lines) finishScript() []byte {
	l.writeString("</script>")
	return l.finish()
}

// writeScript writes the text of a program and keeps the HTML parser inside the
// element. That leaves at "</script" alone, unless it has seen "<!--", which
// makes it count script elements.
func (l *lines) writeScript(text string) {
	for {
		i := strings.IndexByte(text, '<')
		if i < 0 {
			l.writeString(text)
			return
		}
		l.writeString(text[:i+1])
		text = text[i+1:]
		if hasFoldPrefix(text, "/script") || strings.HasPrefix(text, "!--") {
			l.writeString(`\`)
		}
	}
}

func hasFoldPrefix(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

func appendAttributeValue(dst []byte, value string) []byte {
	for i := range len(value) {
		switch c := value[i]; c {
		case '&':
			dst = append(dst, "&amp;"...)
		case '"':
			dst = append(dst, "&quot;"...)
		case '<':
			dst = append(dst, "&lt;"...)
		case '>':
			dst = append(dst, "&gt;"...)
		default:
			dst = append(dst, c)
		}
	}
	return dst
}
