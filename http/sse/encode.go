// SPDX-License-Identifier: MIT

package sse

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Errors of the encoder. Nothing is appended when one is returned.
var (
	// ErrField refuses an id, event name or comment that would end its line.
	ErrField = errors.New("sse: a line break or NUL in an id, event name or comment")
	// ErrRetry refuses a reconnection time that is negative or above a day.
	ErrRetry = errors.New("sse: retry has to be between 0 and 24 hours")
)

const retryMax = 24 * time.Hour

// An Event is one event of a stream. The zero value has no field at all and
// encodes to nothing.
type Event struct {
	ID    string        // "": none. Kept by the client as its Last-Event-ID
	Name  string        // "": the type "message"
	Data  string        // "": no data line, so the client dispatches nothing
	Retry time.Duration // 0: none. Reconnection time, in whole milliseconds
	Empty bool          // send one empty data line where Data is ""
}

// Append appends the event to dst. Data may hold anything: CR, LF and CRLF each
// end a line of it, which the client sees as LF, and bytes that are not UTF-8
// become U+FFFD. Everything else that could end a line is refused.
func Append(dst []byte, e Event) ([]byte, error) {
	if err := e.check(); err != nil {
		return dst, err
	}
	start := len(dst)
	if e.Name != "" {
		dst = appendField(dst, "event: ", e.Name)
	}
	if e.ID != "" {
		dst = appendField(dst, "id: ", e.ID)
	}
	if e.Retry != 0 {
		dst = append(dst, "retry: "...)
		dst = strconv.AppendInt(dst, e.Retry.Milliseconds(), 10)
		dst = append(dst, '\n')
	}
	if e.Data != "" || e.Empty {
		dst = appendData(dst, e.Data)
	}
	if len(dst) > start {
		dst = append(dst, '\n')
	}
	return dst, nil
}

// check says why the event cannot be encoded.
func (e *Event) check() error {
	switch {
	case !isLine(e.ID) || !isLine(e.Name):
		return ErrField
	case e.Retry < 0 || e.Retry > retryMax:
		return ErrRetry
	}
	return nil
}

// AppendComment appends a comment of one line, which a client reads over: it
// keeps the connection in use.
func AppendComment(dst []byte, text string) ([]byte, error) {
	if !isLine(text) {
		return dst, ErrField
	}
	return append(appendField(dst, ": ", text), '\n'), nil
}

// AppendID appends a block that holds an id and nothing else: a client takes
// the id and dispatches no event. Behind an event it commits the id only once
// the event has arrived whole.
func AppendID(dst []byte, id uint64) []byte {
	dst = append(dst, "id: "...)
	dst = strconv.AppendUint(dst, id, 10)
	return append(dst, "\n\n"...)
}

func appendField(dst []byte, name, value string) []byte {
	dst = append(dst, name...)
	dst = appendUTF8(dst, value)
	return append(dst, '\n')
}

// appendData appends a line of data for each line of s. Each kind of line break
// is searched for from behind the last one of its kind, so that no byte is
// looked at twice for it, whatever s is made of.
func appendData(dst []byte, s string) []byte {
	if !utf8.ValidString(s) {
		s = string(appendUTF8(nil, s))
	}
	dst = slices.Grow(dst, len(s)+len("data: \n\n"))
	lf, cr := indexFrom(s, 0, '\n'), indexFrom(s, 0, '\r')
	for start := 0; ; {
		end := min(lf, cr)
		dst = append(dst, "data: "...)
		dst = append(dst, s[start:end]...)
		dst = append(dst, '\n')
		if end == len(s) {
			return dst
		}
		start = end + 1
		if end == cr && lf == start && start < len(s) {
			start++
		}
		if lf < start {
			lf = indexFrom(s, start, '\n')
		}
		if cr < start {
			cr = indexFrom(s, start, '\r')
		}
	}
}

// indexFrom is the first place of c from start on, or the end of s.
func indexFrom(s string, start int, c byte) int {
	if at := strings.IndexByte(s[start:], c); at >= 0 {
		return start + at
	}
	return len(s)
}

func appendUTF8(dst []byte, s string) []byte {
	if utf8.ValidString(s) {
		return append(dst, s...)
	}
	for _, r := range s {
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}

func isLine(s string) bool { return !strings.ContainsAny(s, "\r\n\x00") }
