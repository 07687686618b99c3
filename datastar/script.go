// SPDX-License-Identifier: MIT

package datastar

import (
	"encoding/json"
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

// AppendScript appends the event that runs a script in the page. The text is the
// caller's program and never meant to hold what a person typed: put that
// through AppendJSString. A "</script" in it does not end the element.
func AppendScript(dst []byte, script string, o ScriptOptions) ([]byte, error) {
	for _, a := range o.Attributes {
		if !isAttribute(a.Name) {
			return dst, ErrAttribute
		}
		if !isLine(a.Value) {
			return dst, ErrLine
		}
	}
	e := ElementsOptions{Common: o.Common, Selector: "body", Mode: Append}
	out, err := e.append(dst)
	if err != nil {
		return dst, err
	}
	element := appendScriptElement(make([]byte, 0, len(script)+64), script, &o)
	return append(appendLines(out, "data: elements ", element), '\n'), nil
}

func appendScriptElement(b []byte, script string, o *ScriptOptions) []byte {
	b = append(b, "<script"...)
	for _, a := range o.Attributes {
		b = append(b, ' ')
		b = append(b, a.Name...)
		if a.Value != "" {
			b = append(b, `="`...)
			b = append(b, attributeEscaper.Replace(a.Value)...)
			b = append(b, '"')
		}
	}
	if !o.Keep {
		b = append(b, ` data-effect="el.remove()"`...)
	}
	b = append(b, '>')
	b = appendScriptText(b, script)
	return append(b, "</script>"...)
}

var attributeEscaper = strings.NewReplacer("&", "&amp;", `"`, "&quot;", "<", "&lt;", ">", "&gt;")

// appendScriptText keeps the HTML parser inside the element: it leaves at
// "</script" and changes its ways at "<!--", in strings and comments too.
func appendScriptText(b []byte, script string) []byte {
	for {
		i := strings.IndexByte(script, '<')
		if i < 0 {
			return append(b, script...)
		}
		b = append(b, script[:i+1]...)
		script = script[i+1:]
		if hasFoldPrefix(script, "/script") || hasFoldPrefix(script, "script") ||
			strings.HasPrefix(script, "!--") {
			b = append(b, '\\')
		}
	}
}

func hasFoldPrefix(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

func isAttribute(name string) bool {
	return name != "" && !strings.ContainsAny(name, " \t\r\n\f\x00\"'<>/=`")
}

// AppendJSString appends s as a JavaScript string literal that is safe inside a
// script element and an attribute alike.
func AppendJSString(dst []byte, s string) []byte { return append(dst, mustJSON(s)...) }

// AppendRedirect appends the event that sends the page to url.
func AppendRedirect(dst []byte, url string, o ScriptOptions) ([]byte, error) {
	// The time-out lets the client finish with the event before the page goes.
	return AppendScript(dst, "setTimeout(() => window.location = "+jsString(url)+")", o)
}

// AppendReplaceURL appends the event that changes the page's address in place.
func AppendReplaceURL(dst []byte, url string, o ScriptOptions) ([]byte, error) {
	return AppendScript(dst, "window.history.replaceState({}, '', "+jsString(url)+")", o)
}

// AppendConsoleLog appends the event that writes text to the browser's console.
func AppendConsoleLog(dst []byte, text string, o ScriptOptions) ([]byte, error) {
	return AppendScript(dst, "console.log("+jsString(text)+")", o)
}

// AppendConsoleError appends the event that writes text to the browser's
// console as an error.
func AppendConsoleError(dst []byte, text string, o ScriptOptions) ([]byte, error) {
	return AppendScript(dst, "console.error("+jsString(text)+")", o)
}

// AppendDispatch appends the event that dispatches a CustomEvent called name on
// every element that selector finds ("": the document), with detail as JSON.
func AppendDispatch(
	dst []byte, name, selector string, detail json.RawMessage, o ScriptOptions,
) ([]byte, error) {
	if len(detail) == 0 {
		detail = json.RawMessage("null")
	}
	// Marshalled again it is known to be JSON, on one line, safe in a script.
	safe, err := json.Marshal(detail)
	if err != nil {
		return dst, errors.New("datastar: the detail of a dispatched event is not JSON")
	}
	targets := "[document]"
	if selector != "" {
		targets = "document.querySelectorAll(" + jsString(selector) + ")"
	}
	return AppendScript(dst, "for (const el of "+targets+") el.dispatchEvent(new CustomEvent("+
		jsString(name)+", {bubbles: true, cancelable: true, composed: true, detail: "+
		string(safe)+"}))", o)
}

func jsString(s string) string { return string(mustJSON(s)) }

// mustJSON encodes strings and maps of them, which always works; < > & and the
// two line separators come out escaped.
func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// addPath puts a null at the dotted path.
func addPath(tree map[string]any, path string) {
	name, rest, deeper := strings.Cut(path, ".")
	if !deeper {
		tree[name] = nil
		return
	}
	sub, ok := tree[name].(map[string]any)
	if !ok {
		sub = make(map[string]any)
		tree[name] = sub
	}
	addPath(sub, rest)
}
