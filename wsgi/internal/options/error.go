// SPDX-License-Identifier: MIT

package options

import (
	"errors"
	"strconv"
	"strings"
)

// An Error is one setting that cannot be honoured. Its text is what the
// operator reads behind "m0serve: ", so it has no prefix of its own.
type Error struct {
	Option string // "--workers"; "" for an argument
	Value  string // as given; empty for a switch and for a secret
	Source Source
	Reason string // why it cannot be; may be empty
	Cure   string // what to do, a clause in the imperative
}

// Error implements error.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Subject())
	b.WriteString(": ")
	if e.Reason != "" {
		b.WriteString(e.Reason)
		b.WriteString("; ")
	}
	b.WriteString(e.Cure)
	return b.String()
}

// Subject names what was given where: `-w "x"`, `WEB_CONCURRENCY="x"
// (--workers)`, `-w "x" in GUNICORN_CMD_ARGS`.
func (e *Error) Subject() string {
	name := e.Source.Name
	if name == "" {
		name = e.Option
	}
	s := name
	switch {
	case e.Source.Kind == FromEnv && e.Value != "":
		s += "=" + strconv.Quote(e.Value)
	case e.Value != "" && name != "":
		s += " " + strconv.Quote(e.Value)
	case e.Value != "":
		s = strconv.Quote(e.Value)
	}
	if e.Source.In != "" {
		s += " in " + e.Source.In
	}
	if e.Source.Kind == FromEnv && e.Option != "" {
		s += " (" + e.Option + ")"
	}
	return s
}

// Problems lists the refusals that an error of Parse is made of.
func Problems(err error) []*Error {
	var list []*Error
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		for _, e := range joined.Unwrap() {
			list = append(list, Problems(e)...)
		}
		return list
	}
	var e *Error
	if errors.As(err, &e) {
		list = append(list, e)
	}
	return list
}
