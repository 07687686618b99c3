// SPDX-License-Identifier: MIT

package field

import (
	"bytes"
	"math"
	"strconv"
	"unicode/utf8"
)

// A Kind is what a value is. The zero Kind is that of a value not found.
type Kind uint8

// The kinds of values.
const (
	Absent Kind = iota // there is no such field
	Null
	Bool
	Number
	String
	Array
	Object
)

func (k Kind) String() string {
	switch k {
	case Absent:
		return "absent"
	case Null:
		return "null"
	case Bool:
		return "bool"
	case Number:
		return "number"
	case String:
		return "string"
	case Array:
		return "array"
	case Object:
		return "object"
	}
	return "kind " + strconv.Itoa(int(k))
}

func kindOf(first byte) Kind {
	switch first {
	case 'n':
		return Null
	case 't', 'f':
		return Bool
	case '"':
		return String
	case '[':
		return Array
	case '{':
		return Object
	}
	return Number
}

// A Value is a value found in a document. It holds a piece of the document
// itself and is good as long as that stays unchanged. The zero Value is Absent.
type Value struct {
	raw  []byte
	kind Kind
}

// Kind tells what the value is.
func (v Value) Kind() Kind { return v.kind }

// Exists tells whether the value was found; null is a value.
func (v Value) Exists() bool { return v.kind != Absent }

// Raw returns the value as it stands in the document, nil when Absent. It is
// itself a document for Get.
func (v Value) Raw() []byte { return v.raw }

// want returns why the value is not of the kind an accessor wants.
func (v Value) want(k Kind) error {
	switch v.kind {
	case k:
		return nil
	case Absent:
		return ErrAbsent
	}
	return ErrKind
}

// Str returns the text of a string. The error is ErrAbsent when there is no
// such field and ErrKind when it is not a string, so that the empty string
// means just that.
func (v Value) Str() (string, error) {
	if err := v.want(String); err != nil {
		return "", err
	}
	text := v.raw[1 : len(v.raw)-1]
	if isPlain(text) {
		return string(text), nil
	}
	var short [128]byte // spares short strings a second allocation
	return string(appendText(short[:0], text)), nil
}

// AppendStr appends the text of a string to dst. Errors are those of Str, and
// dst comes back as it was then.
func (v Value) AppendStr(dst []byte) ([]byte, error) {
	if err := v.want(String); err != nil {
		return dst, err
	}
	return appendText(dst, v.raw[1:len(v.raw)-1]), nil
}

// Int64 returns a number that is written without fraction and exponent. The
// error is ErrRange for any other number, or one beyond int64.
func (v Value) Int64() (int64, error) {
	if err := v.want(Number); err != nil {
		return 0, err
	}
	digits, negative := v.raw, v.raw[0] == '-'
	if negative {
		digits = digits[1:]
	}
	limit := uint64(math.MaxInt64)
	if negative {
		limit++
	}
	var n uint64
	for _, c := range digits {
		if !isDigit(c) || n > limit/10 {
			return 0, ErrRange
		}
		if n = n*10 + uint64(c-'0'); n > limit {
			return 0, ErrRange
		}
	}
	if negative {
		n = -n
	}
	return int64(n), nil
}

// Float64 returns the float64 nearest to a number; the error is ErrRange when
// that would be infinite.
func (v Value) Float64() (float64, error) {
	if err := v.want(Number); err != nil {
		return 0, err
	}
	f, err := strconv.ParseFloat(string(v.raw), 64)
	if err != nil {
		return 0, ErrRange
	}
	return f, nil
}

// Bool returns true or false. Nothing else is taken for either.
func (v Value) Bool() (bool, error) {
	if err := v.want(Bool); err != nil {
		return false, err
	}
	return v.raw[0] == 't', nil
}

// isPlain tells whether a string's text in the document is the string itself.
func isPlain(text []byte) bool {
	return bytes.IndexByte(text, '\\') < 0 && utf8.Valid(text)
}
