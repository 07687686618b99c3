// SPDX-License-Identifier: MIT

package field

import (
	"errors"
	"strconv"
)

// Errors of a Value's accessors.
var (
	ErrAbsent = errors.New("field: no such field")
	ErrKind   = errors.New("field: the value is of another kind")
	ErrRange  = errors.New("field: the number does not fit")
)

// A SyntaxError says why a document is not JSON and where.
type SyntaxError struct {
	Code   Code
	Offset int // of the first byte that cannot be right
}

// A Code names a fault of a document.
type Code uint8

// Faults of a document.
const (
	BadValue   Code = iota + 1 // no value where one has to be
	BadEnd                     // the document ends too early
	BadLiteral                 // neither true, false nor null
	BadNumber                  // not a number as RFC 8259 writes it
	BadString                  // a bare control character or a bad escape
	BadObject                  // a name, colon, comma or brace is missing
	BadArray                   // a comma or bracket is missing
	TooDeep                    // more than MaxDepth levels
	Trailing                   // something follows the document
)

var codeTexts = [...]string{
	BadValue:   "a value is missing",
	BadEnd:     "the document ends too early",
	BadLiteral: "a literal is neither true, false nor null",
	BadNumber:  "a number is malformed",
	BadString:  "a string holds a control character or a bad escape",
	BadObject:  "an object lacks a name, colon, comma or brace",
	BadArray:   "an array lacks a comma or bracket",
	TooDeep:    "values are nested too deep",
	Trailing:   "something follows the document",
}

func (c Code) String() string {
	if int(c) < len(codeTexts) && codeTexts[c] != "" {
		return codeTexts[c]
	}
	return "code " + strconv.Itoa(int(c))
}

func (e *SyntaxError) Error() string {
	return "field: byte " + strconv.Itoa(e.Offset) + ": " + e.Code.String()
}
