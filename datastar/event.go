// SPDX-License-Identifier: MIT

package datastar

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// Errors of what every event may carry.
var (
	// ErrLine refuses a selector or attribute that would end its line.
	ErrLine = errors.New("datastar: a line break or NUL in a selector or attribute")
	// ErrID refuses an event id that is not printable ASCII: the client sends it
	// back in a header, and could never reconnect with any other.
	ErrID = errors.New("datastar: an event id that is not printable ASCII")
	// ErrRetry refuses a reconnection time that is negative or above a day.
	ErrRetry = errors.New("datastar: retry has to be between 0 and 24 hours")
)

// DefaultRetry is the client's own time before it reconnects; an event does not
// repeat it.
const DefaultRetry = time.Second

const retryMax = 24 * time.Hour

// Common holds what every event may carry. The zero value adds nothing.
type Common struct {
	ID    string        // event id; "": none
	Retry time.Duration // reconnection time, whole milliseconds; 0 or DefaultRetry: none
}

func (c *Common) check() error {
	if c.Retry < 0 || c.Retry > retryMax {
		return ErrRetry
	}
	for i := range len(c.ID) {
		if c.ID[i] < ' ' || c.ID[i] > '~' {
			return ErrID
		}
	}
	return nil
}

// append begins the event. The fields have been checked.
func (c *Common) append(dst []byte, event string) []byte {
	dst = appendLine(dst, "event: ", event)
	if c.ID != "" {
		dst = appendLine(dst, "id: ", c.ID)
	}
	if c.Retry > 0 && c.Retry != DefaultRetry {
		dst = append(dst, "retry: "...)
		dst = strconv.AppendInt(dst, c.Retry.Milliseconds(), 10)
		dst = append(dst, '\n')
	}
	return dst
}

// appendLine appends a field whose value has been checked to be one line.
func appendLine(dst []byte, name, value string) []byte {
	dst = append(dst, name...)
	dst = append(dst, value...)
	return append(dst, '\n')
}

func isLine(s string) bool { return !strings.ContainsAny(s, "\r\n\x00") }
