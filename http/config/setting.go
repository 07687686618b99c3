// SPDX-License-Identifier: MIT

package config

import "strconv"

// A Setting is one thing that can be set: all that the command line, the
// environment, the help and a doctor know about it.
type Setting struct {
	Flag    string             // the long spelling without dashes; "": no flag sets it
	Aliases []string           // further spellings, with their dashes
	Env     string             // variable; "": none sets it
	Value   string             // what the help calls the value, its unit; "": a switch
	Default string             // as a value; "": Set is not called
	Secret  bool               // its value is never printed
	Group   string             // heading in the help
	Help    string             // a clause; of a switch that is on, what --no-FLAG does
	Set     func(string) error // checks and stores; the error is the cure, a clause
}

// A Given is a setting that did not stay at its default.
type Given struct {
	Setting *Setting
	Value   string // "" of a secret
	Source  string // where it came from: "--port", "$M0_PORT"
}

// An Error is one setting that cannot be honoured. Its text names the
// variable or the flag, the value and the cure.
type Error struct {
	Var   string // name of the variable, or the flag as it was spelled; "" of an argument
	Value string // as found; empty for a secret
	Cure  string // what to set instead, a clause
}

// Error implements error.
func (e *Error) Error() string { return "config: " + e.Subject() + ": " + e.Cure }

// Subject is what was given, as it is typed: `M0_PORT="x"`, `--port "x"`, `--prot`.
func (e *Error) Subject() string {
	switch {
	case e.Var == "":
		return strconv.Quote(e.Value)
	case e.Value == "": // a secret, or a flag without its value; no variable is empty
		return e.Var
	case e.Var[0] != '-':
		return e.Var + "=" + strconv.Quote(e.Value)
	}
	return e.Var + " " + strconv.Quote(e.Value)
}

// Problems lists the *Errors that an error is made of.
func Problems(err error) []*Error {
	switch e := err.(type) {
	case *Error:
		return []*Error{e}
	case interface{ Unwrap() []error }:
		var list []*Error
		for _, one := range e.Unwrap() {
			list = append(list, Problems(one)...)
		}
		return list
	case interface{ Unwrap() error }:
		return Problems(e.Unwrap())
	}
	return nil
}
