// SPDX-License-Identifier: MIT

package grip

import (
	"errors"
	"strings"
)

// The grammar that the Grip fields share: a list of elements, each a first
// text and parameters behind it.
//
//	list    = element *( "," element )
//	element = first *( ";" param )
//	param   = name [ "=" ( text | quoted ) ]

var errQuote = errors.New(`a quote is not closed`)

// A param is one parameter of an element.
type param struct {
	name, value string
	hasValue    bool
}

// An element is one part of a list.
type element struct {
	first  string
	params []param
}

// cutElement takes the first element off s. In a list an element ends with a
// comma, otherwise with s. more tells that a comma was there.
func cutElement(s string, list bool) (e element, rest string, more bool, err error) {
	ends := ";"
	if list {
		ends = ";,"
	}
	at := 0
	if s = trim(s); s != "" && s[0] == '<' {
		at = strings.IndexByte(s, '>') + 1 // a link may have commas and semicolons
	}
	end := len(s)
	if i := strings.IndexAny(s[at:], ends); i >= 0 {
		end = at + i
	}
	e.first, s = trim(s[:end]), s[end:]
	for s != "" && s[0] == ';' {
		var p param
		if p, s, err = cutParam(s[1:], ends); err != nil {
			return e, "", false, err
		}
		if p.name != "" || p.hasValue {
			e.params = append(e.params, p)
		}
	}
	if s == "" {
		return e, "", false, nil
	}
	return e, s[1:], true, nil
}

// cutParam takes the first parameter off s, up to one of ends, which stays.
func cutParam(s, ends string) (p param, rest string, err error) {
	end := strings.IndexAny(s, ends+"=")
	if end < 0 {
		return param{name: trim(s)}, "", nil
	}
	p.name = trim(s[:end])
	if s[end] != '=' {
		return p, s[end:], nil
	}
	p.hasValue = true
	if s = trim(s[end+1:]); s != "" && s[0] == '"' {
		return cutQuoted(p, s[1:], ends)
	}
	if end = strings.IndexAny(s, ends); end < 0 {
		end = len(s)
	}
	p.value = trim(s[:end])
	return p, s[end:], nil
}

// cutQuoted reads the rest of a quoted value (RFC 9110 section 5.6.4).
func cutQuoted(p param, s, ends string) (param, string, error) {
	var text strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			p.value = text.String()
			rest := trim(s[i+1:])
			if rest != "" && strings.IndexByte(ends, rest[0]) < 0 {
				return p, "", errors.New("something stands behind a closing quote")
			}
			return p, rest, nil
		case c == '\\' && i+1 < len(s):
			i++
			text.WriteByte(s[i])
		default:
			text.WriteByte(c)
		}
	}
	return p, "", errQuote
}

// trim takes blanks off both ends.
func trim(s string) string { return strings.Trim(s, " \t") }

// Features is the value of Grip-Feature: what of the protocol there is here.
const Features = "status, link:next, link:gone, filter:skip-self, filter:skip-users, " +
	"filter:require-sub, filter:build-id, filter:var-subst"

// AppendLast appends a value of Grip-Last: the id up to which a connection has
// the items of c. An id that would be taken for something else is quoted.
func AppendLast(dst []byte, c Channel) []byte {
	dst = append(append(dst, c.Name...), "; last-id="...)
	if !strings.ContainsAny(c.PrevID, "\",;\\ \t") {
		return append(dst, c.PrevID...)
	}
	dst = append(dst, '"')
	for i := range len(c.PrevID) {
		if b := c.PrevID[i]; b == '"' || b == '\\' {
			dst = append(dst, '\\')
		}
		dst = append(dst, c.PrevID[i])
	}
	return append(dst, '"')
}
