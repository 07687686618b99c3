// SPDX-License-Identifier: MIT

package accesslog

import (
	"fmt"
	"strings"

	"m0serve.dev/http/wire"
)

// The named formats, but for json.
const (
	common   = `%(h)s %(l)s %(u)s %(t)s "%(r)s" %(s)s %(b)s`
	combined = common + ` "%(f)s" "%(a)s"`
)

// An op is what an atom appends.
type op uint8

const (
	opText        op = iota // atom.text as it is
	opJSON                  // the whole line
	opClient                // %(h)s
	opUser                  // %(u)s
	opTime                  // %(t)s
	opRequestLine           // %(r)s
	opStatus                // %(s)s
	opBytes                 // %(B)s
	opBytesOrDash           // %(b)s
	opSeconds               // %(T)s, whole ones
	opMillis                // %(M)s
	opMicros                // %(D)s
	opDecimal               // %(L)s, seconds with six digits
	opPath                  // %(U)s, as sent
	opQuery                 // %(q)s
	opProtocol              // %(H)s
	opMethod                // %(m)s
	opTarget                // %({RAW_URI}e)s
	opPort                  // %({REMOTE_PORT}e)s
	opIn                    // %({name}i)s: atom.text in lower case
	opOut                   // %({name}o)s
)

// An atom is one part of a line.
type atom struct {
	op   op
	text string
}

// letters are the atoms of one letter. Read only.
var letters = map[string]atom{
	"h": {op: opClient}, "l": {opText, "-"}, "u": {op: opUser}, "t": {op: opTime},
	"r": {op: opRequestLine}, "s": {op: opStatus}, "B": {op: opBytes},
	"b": {op: opBytesOrDash}, "f": {opIn, "referer"}, "a": {opIn, "user-agent"},
	"T": {op: opSeconds}, "M": {op: opMillis}, "D": {op: opMicros}, "L": {op: opDecimal},
	"U": {op: opPath}, "q": {op: opQuery}, "H": {op: opProtocol}, "m": {op: opMethod},
}

// variables are the names of environ that the server knows without asking
// Python, beside HTTP_*. Read only.
var variables = map[string]atom{
	"REQUEST_METHOD": {op: opMethod}, "QUERY_STRING": {op: opQuery},
	"RAW_URI": {op: opTarget}, "REQUEST_URI": {op: opTarget},
	"SERVER_PROTOCOL": {op: opProtocol}, "REMOTE_ADDR": {op: opClient},
	"REMOTE_PORT": {op: opPort}, "CONTENT_TYPE": {opIn, "content-type"},
	"CONTENT_LENGTH": {opIn, "content-length"},
}

// Check says what is wrong with a format: a name, or %-atoms.
func Check(format string) error {
	_, err := compile(format, 0)
	return err
}

// compile reads a format.
func compile(format string, pid int) ([]atom, error) {
	switch format {
	case "", "json":
		return []atom{{op: opJSON}}, nil
	case "common":
		format = common
	case "combined":
		format = combined
	}
	var atoms []atom
	for format != "" {
		text, rest, found := strings.Cut(format, "%")
		if text != "" {
			atoms = appendText(atoms, text)
		}
		if format = rest; !found {
			break
		}
		if strings.HasPrefix(rest, "%") {
			atoms, format = appendText(atoms, "%"), rest[1:]
			continue
		}
		name, after, err := cutAtom(rest)
		if err != nil {
			return nil, err
		}
		a, err := atomOf(name, pid)
		if err != nil {
			return nil, err
		}
		if a.op == opText {
			atoms = appendText(atoms, a.text)
		} else {
			atoms = append(atoms, a)
		}
		format = after
	}
	if len(atoms) == 0 {
		return nil, fmt.Errorf("accesslog: the format is empty")
	}
	return atoms, nil
}

// appendText adds text, to a text before it if there is one.
func appendText(atoms []atom, text string) []atom {
	if n := len(atoms); n > 0 && atoms[n-1].op == opText {
		atoms[n-1].text += text
		return atoms
	}
	return append(atoms, atom{opText, text})
}

// cutAtom cuts "(name)s" off. Of Python's conversions s is known, and d, which
// comes to the same here.
func cutAtom(rest string) (name, after string, err error) {
	name, after, found := strings.Cut(rest, ")")
	if !strings.HasPrefix(rest, "(") || !found || after == "" || after[0] != 's' && after[0] != 'd' {
		return "", "", fmt.Errorf("accesslog: format at %%%.20s: want %%(name)s, or %%%% for a percent",
			rest)
	}
	return name[1:], after[1:], nil
}

func atomOf(name string, pid int) (atom, error) {
	if a, known := letters[name]; known {
		return a, nil
	}
	if name == "p" {
		return atom{opText, fmt.Sprintf("<%d>", pid)}, nil
	}
	inner, kind, found := strings.Cut(strings.TrimPrefix(name, "{"), "}")
	if !strings.HasPrefix(name, "{") || !found {
		return atom{}, fmt.Errorf("accesslog: unknown atom %%(%s)s", name)
	}
	switch {
	case kind == "i" && wire.ValidName(inner):
		return atom{opIn, strings.ToLower(inner)}, nil
	case kind == "o" && wire.ValidName(inner):
		return atom{opOut, strings.ToLower(inner)}, nil
	case kind == "e":
		if a, known := variables[inner]; known {
			return a, nil
		}
		if header, is := strings.CutPrefix(inner, "HTTP_"); is && wire.ValidName(header) {
			return atom{opIn, strings.ToLower(strings.ReplaceAll(header, "_", "-"))}, nil
		}
		return atom{}, fmt.Errorf("accesslog: %%(%s)s: the server does not know this variable of environ",
			name)
	}
	return atom{}, fmt.Errorf("accesslog: unknown atom %%(%s)s", name)
}
