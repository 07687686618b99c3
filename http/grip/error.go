// SPDX-License-Identifier: MIT

package grip

import (
	"fmt"
	"unicode/utf8"
)

// A FieldError says which part of an answer or of a publish request is wrong,
// what it says, and what would be right. It unwraps to the error of the
// caller's own check of a channel name, so that errors.Is finds that.
type FieldError struct {
	Field string // a header field, or the path of a JSON value: items[3].id
	Value string // what it says, at most valueMax bytes of it
	Err   error  // what would be right
}

// valueMax is how much of a wrong value an error repeats.
const valueMax = 64

func (e *FieldError) Error() string {
	if e.Value == "" {
		return fmt.Sprintf("grip: %s: %v", e.Field, e.Err)
	}
	return fmt.Sprintf("grip: %s: %q: %v", e.Field, e.Value, e.Err)
}

// Unwrap returns what would be right.
func (e *FieldError) Unwrap() error { return e.Err }

// wrong makes a FieldError.
func wrong(field, value, format string, args ...any) error {
	return &FieldError{Field: field, Value: clip(value), Err: fmt.Errorf(format, args...)}
}

// clip cuts s between two characters.
func clip(s string) string {
	if len(s) <= valueMax {
		return s
	}
	n := valueMax
	for n > valueMax-utf8.UTFMax && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
