// SPDX-License-Identifier: MIT

package datastar

import (
	"bytes"
	"unsafe"
)

// lines appends text that arrives in pieces as data lines of one key, beginning
// a new one wherever the client's parser would end a line: at every CR, LF and
// CRLF. It is an io.Writer, so that a component renders into it.
//
// A line that is empty keeps the space behind the key: the client would take a
// key without one for something else.
type lines struct {
	dst     []byte
	key     string // "data: elements " and the like
	begun   bool   // a line is open
	afterCR bool   // an LF now belongs to the CR before
}

// write appends a piece of the text.
func (l *lines) write(text []byte) {
	if len(text) == 0 {
		return
	}
	if l.afterCR && text[0] == '\n' {
		text = text[1:]
	}
	l.afterCR = false
	dst := l.dst
	if !l.begun {
		l.begun = true
		dst = append(dst, l.key...)
	}
	cr := indexOrEnd(text, '\r') // found once for many lines: it is rare
	for {
		lf := indexOrEnd(text[:cr], '\n')
		dst = append(dst, text[:lf]...)
		if lf == len(text) {
			l.dst = dst
			return
		}
		dst = append(append(dst, '\n'), l.key...)
		next := lf + 1
		if lf == cr {
			l.afterCR = next == len(text)
			if !l.afterCR && text[next] == '\n' {
				next++
			}
		}
		text = text[next:]
		if cr -= next; cr < 0 {
			cr = indexOrEnd(text, '\r')
		}
	}
}

func (l *lines) writeString(s string) { l.write(bytesOf(s)) }

// Write implements io.Writer. It never fails.
func (l *lines) Write(text []byte) (int, error) {
	l.write(text)
	return len(text), nil
}

// WriteString implements io.StringWriter.
func (l *lines) WriteString(s string) (int, error) {
	l.writeString(s)
	return len(s), nil
}

// finish ends the open line and the event.
func (l *lines) finish() []byte {
	if l.begun {
		l.dst = append(l.dst, '\n')
	}
	return append(l.dst, '\n')
}

func indexOrEnd(text []byte, c byte) int {
	if i := bytes.IndexByte(text, c); i >= 0 {
		return i
	}
	return len(text)
}

// bytesOf returns the bytes of s without a copy. It assumes that they are only
// read, and only while s is alive: lines copies them.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
