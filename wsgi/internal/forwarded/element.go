// SPDX-License-Identifier: MIT

package forwarded

import (
	"bytes"

	"m0serve.dev/http/wire"
)

// An element is one hop of Forwarded (RFC 7239 section 4). nil is a parameter
// that is not there.
type element struct{ addr, proto, host []byte }

// parseElement reads "for=192.0.2.60;proto=http;by=203.0.113.43". A parameter may
// occur once; unknown ones are left alone.
func parseElement(item []byte) (e element, ok bool) {
	for rest, more := item, true; more; {
		var pair []byte
		rest, pair, more = cutLast(rest, ';')
		if pair = bytes.Trim(pair, " \t"); len(pair) == 0 {
			continue
		}
		name, value, found := bytes.Cut(pair, []byte{'='})
		if !found || !wire.ValidName(name) {
			return element{}, false
		}
		if value, ok = unquote(value); !ok {
			return element{}, false
		}
		var to *[]byte
		switch {
		case wire.EqualFold(name, "for"):
			to = &e.addr
		case wire.EqualFold(name, "proto"):
			to = &e.proto
		case wire.EqualFold(name, "host"):
			to = &e.host
		default:
			continue
		}
		if *to != nil {
			return element{}, false
		}
		*to = value
	}
	return e, true
}

// unquote reads a token or a quoted string. Some proxies leave the quotes around
// an address out, so a token may have colons and brackets.
func unquote(value []byte) ([]byte, bool) {
	if len(value) == 0 {
		return nil, false
	}
	if value[0] != '"' {
		return value, bytes.IndexByte(value, '"') < 0
	}
	if len(value) < 2 || value[len(value)-1] != '"' || isEscaped(value, len(value)-1) {
		return nil, false
	}
	value = value[1 : len(value)-1]
	if bytes.IndexByte(value, '\\') < 0 {
		return value, bytes.IndexByte(value, '"') < 0
	}
	out := make([]byte, 0, len(value))
	for i := 0; i < len(value); i++ {
		switch {
		case value[i] == '"':
			return nil, false
		case value[i] == '\\' && i+1 < len(value):
			i++
		}
		out = append(out, value[i])
	}
	return out, true
}
