// SPDX-License-Identifier: MIT

package datastar

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"time"
)

// ErrLine refuses an id, selector or attribute that would end its line.
var ErrLine = errors.New("datastar: a line break or NUL in an id, selector or attribute")

// DefaultRetry is the client's own time before it reconnects; an event does not
// repeat it.
const DefaultRetry = time.Second

// Common holds what every event may carry. The zero value adds nothing.
type Common struct {
	ID    string        // event id; "": none
	Retry time.Duration // reconnection time, whole milliseconds; 0 or DefaultRetry: none
}

func (c *Common) append(dst []byte, event string) ([]byte, error) {
	if !isLine(c.ID) {
		return dst, ErrLine
	}
	dst = append(dst, "event: "...)
	dst = append(dst, event...)
	dst = append(dst, '\n')
	if c.ID != "" {
		dst = appendLine(dst, "id: ", c.ID)
	}
	if c.Retry > 0 && c.Retry != DefaultRetry {
		dst = append(dst, "retry: "...)
		dst = strconv.AppendInt(dst, c.Retry.Milliseconds(), 10)
		dst = append(dst, '\n')
	}
	return dst, nil
}

func appendLine(dst []byte, name, value string) []byte {
	dst = append(dst, name...)
	dst = append(dst, value...)
	return append(dst, '\n')
}

// appendLines writes text under name, one data line for each of its lines. A
// line that is empty keeps the space behind the name: the client would take a
// name without one for something else.
func appendLines(dst []byte, name string, text []byte) []byte {
	for {
		end := indexBreak(text)
		dst = append(dst, name...)
		if end < 0 {
			dst = append(dst, text...)
			return append(dst, '\n')
		}
		dst = append(dst, text[:end]...)
		dst = append(dst, '\n')
		if text[end] == '\r' && end+1 < len(text) && text[end+1] == '\n' {
			end++
		}
		text = text[end+1:]
	}
}

// indexBreak finds the first CR or LF. Both searches are vectorized, and text
// with a CR in it is rare.
func indexBreak(text []byte) int {
	lf := bytes.IndexByte(text, '\n')
	head := text
	if lf >= 0 {
		head = text[:lf]
	}
	if cr := bytes.IndexByte(head, '\r'); cr >= 0 {
		return cr
	}
	return lf
}

func isLine(s string) bool { return !strings.ContainsAny(s, "\r\n\x00") }
