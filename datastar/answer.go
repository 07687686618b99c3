// SPDX-License-Identifier: MIT

package datastar

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"m0serve.dev/core/escape"
)

// ErrAnswer refuses an option that only an event can carry: an id, a retry, and a selector for the
// view transition have no field in an answer.
var ErrAnswer = errors.New("datastar: an answer has no id, retry or viewTransitionSelector")

// IsRequest reports whether r comes from the client, so that the same address can answer a form
// with a page and the client with a part of it. (Send `Vary: Datastar-Request` then.)
func IsRequest(r *http.Request) bool { return r.Header.Get("Datastar-Request") == "true" }

// AnswerElements answers a request of the client with html instead of a stream: text/html, with the
// options in header fields. It takes the whole response, status 200, since the client ignores the
// body of any other. Nothing has been sent when it returns one of this package's errors.
func AnswerElements(w http.ResponseWriter, html []byte, o ElementsOptions) error {
	if err := o.checkAnswer(); err != nil {
		return err
	}
	h := w.Header()
	if o.Selector != "" {
		h.Set("Datastar-Selector", asciiSelector(o.Selector))
	}
	if o.Mode != Outer {
		h.Set("Datastar-Mode", modes[o.Mode])
	}
	if o.Namespace != HTML {
		h.Set("Datastar-Namespace", namespaces[o.Namespace])
	}
	if o.UseViewTransition {
		h.Set("Datastar-Use-View-Transition", "true")
	}
	return answer(w, "text/html; charset=utf-8", html)
}

// AnswerComponent is AnswerElements of what c renders. An error of c is returned before anything is
// sent.
func AnswerComponent(
	w http.ResponseWriter, r *http.Request, c Component, o ElementsOptions,
) error {
	var html bytes.Buffer
	if err := c.Render(r.Context(), &html); err != nil {
		return fmt.Errorf("datastar: render: %w", err)
	}
	return AnswerElements(w, html.Bytes(), o)
}

// AnswerSignals answers a request of the client with signals instead of a stream: v as JSON, and
// nothing but JSON, also when it is a json.RawMessage. See AnswerElements.
func AnswerSignals(w http.ResponseWriter, v any, o SignalsOptions) error {
	if o.Common != (Common{}) {
		return ErrAnswer
	}
	doc, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("datastar: signals: %w", err)
	}
	if o.OnlyIfMissing {
		w.Header().Set("Datastar-Only-If-Missing", "true")
	}
	return answer(w, "application/json", doc)
}

// AnswerScript answers a request of the client with a script that runs in the page and stays there,
// as an element with these attributes. See AnswerElements. The clients 1.0.1 to 1.0.4 do not fire
// the event `finished` for it, so an indicator stays on: AppendExecuteScript has no such fault.
func AnswerScript(w http.ResponseWriter, script string, attributes ...Attribute) error {
	o := ScriptOptions{Attributes: attributes}
	if err := o.check(); err != nil {
		return err
	}
	if len(attributes) > 0 {
		w.Header().Set("Datastar-Script-Attributes", asciiObject(attributes))
	}
	return answer(w, "text/javascript; charset=utf-8", []byte(script))
}

func (o *ElementsOptions) checkAnswer() error {
	if o.Common != (Common{}) || o.ViewTransitionSelector != "" {
		return ErrAnswer
	}
	for i := range len(o.Selector) {
		if c := o.Selector[i]; c < ' ' && c != '\t' || c == 0x7f {
			return ErrLine // not in a field (RFC 9110, section 5.5)
		}
	}
	return o.check()
}

func answer(w http.ResponseWriter, contentType string, body []byte) error {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusOK)
	if _, err := w.Write(body); err != nil {
		return fmt.Errorf("datastar: write: %w", err)
	}
	return nil
}

// asciiSelector writes what is not ASCII as CSS escapes: the client reads a field as Latin-1, and
// `#größe` would find nothing. Outside ASCII a selector has only names and strings, where escapes
// mean the same (CSS Syntax 3, section 4.3.7).
func asciiSelector(s string) string {
	var dst []byte
	escaped := false // behind a backslash
	for _, r := range s {
		switch {
		case r < utf8.RuneSelf:
			dst = append(dst, byte(r))
		default:
			if !escaped {
				dst = append(dst, '\\')
			}
			dst = strconv.AppendInt(dst, int64(r), 16)
			dst = append(dst, ' ') // ends the number
		}
		escaped = r == '\\' && !escaped
	}
	return string(dst)
}

// asciiObject is a JSON object of the attributes in their order, in ASCII.
func asciiObject(attributes []Attribute) string {
	dst := []byte{'{'}
	for i, a := range attributes {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(escape.AppendString(dst, a.Name), ':')
		dst = escape.AppendString(dst, a.Value)
	}
	var b strings.Builder
	for _, r := range string(append(dst, '}')) { // what is not ASCII stands in strings
		if r < utf8.RuneSelf {
			b.WriteByte(byte(r))
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, "\\u%04x", unit)
		}
	}
	return b.String()
}
