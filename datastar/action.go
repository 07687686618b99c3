// SPDX-License-Identifier: MIT

package datastar

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"m0serve.dev/core/escape"
)

// Errors of the ready-made scripts.
var (
	// ErrURL refuses an address that is not http, https or relative, such as
	// "javascript:…", which would run.
	ErrURL = errors.New("datastar: not an http, https or relative address")
	// ErrDetail refuses the detail of a dispatched event.
	ErrDetail = errors.New("datastar: the detail of an event is not JSON")
)

// AppendJSString appends s as a JavaScript string literal that is safe inside a
// script element. (In an HTML attribute the quotes need escaping on top.)
func AppendJSString(dst []byte, s string) []byte { return escape.AppendHTMLString(dst, s) }

// AppendRedirect appends the event that sends the page to url. The time-out in
// it lets the client finish with the event before the page goes.
func AppendRedirect(dst []byte, url string, o ScriptOptions) ([]byte, error) {
	if !isWebAddress(url) {
		return dst, ErrURL
	}
	return appendCall(dst, "setTimeout(() => window.location = ", url, ")", &o)
}

// AppendReplaceURL appends the event that changes the page's address in place.
func AppendReplaceURL(dst []byte, url string, o ScriptOptions) ([]byte, error) {
	return appendCall(dst, "window.history.replaceState({}, '', ", url, ")", &o)
}

// AppendConsoleLog appends the event that writes text to the browser's console.
func AppendConsoleLog(dst []byte, text string, o ScriptOptions) ([]byte, error) {
	return appendCall(dst, "console.log(", text, ")", &o)
}

// AppendConsoleError appends the event that writes text to the browser's
// console as an error.
func AppendConsoleError(dst []byte, text string, o ScriptOptions) ([]byte, error) {
	return appendCall(dst, "console.error(", text, ")", &o)
}

// AppendDispatch appends the event that dispatches a CustomEvent called name on
// every element that selector finds ("": the document). detail is JSON; nil:
// null.
func AppendDispatch(
	dst []byte, name, selector string, detail json.RawMessage, o ScriptOptions,
) ([]byte, error) {
	var safe bytes.Buffer
	if len(detail) == 0 {
		detail = json.RawMessage("null")
	}
	if !json.Valid(detail) {
		return dst, ErrDetail
	}
	json.HTMLEscape(&safe, detail)
	l, err := beginScript(dst, &o)
	if err != nil {
		return dst, err
	}
	l.writeString("for (const el of ")
	if selector == "" {
		l.writeString("[document]")
	} else {
		l.writeString("document.querySelectorAll(")
		l.dst = AppendJSString(l.dst, selector)
		l.writeString(")")
	}
	l.writeString(") el.dispatchEvent(new CustomEvent(")
	l.dst = AppendJSString(l.dst, name)
	l.writeString(", {bubbles: true, cancelable: true, composed: true, detail: ")
	l.write(safe.Bytes())
	l.writeString("}))")
	return l.finishScript(), nil
}

// appendCall appends the event that runs a script with one string in it.
func appendCall(dst []byte, before, text, after string, o *ScriptOptions) ([]byte, error) {
	l, err := beginScript(dst, o)
	if err != nil {
		return dst, err
	}
	l.writeString(before)
	l.dst = AppendJSString(l.dst, text) // a literal is one line
	l.writeString(after)
	return l.finishScript(), nil
}

// isWebAddress tells whether a browser takes url for an address of the web. It
// removes tabs and line breaks anywhere, and white space in front, before it
// looks for the scheme (WHATWG URL, section 4.4); what has a scheme of another
// spelling than these two is refused, so none gets past by that.
func isWebAddress(url string) bool {
	end := strings.IndexAny(url, ":/?#\\")
	if end < 0 || url[end] != ':' {
		return true // relative
	}
	return strings.EqualFold(url[:end], "http") || strings.EqualFold(url[:end], "https")
}
