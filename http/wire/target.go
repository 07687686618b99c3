// SPDX-License-Identifier: MIT

package wire

import "bytes"

// requestTarget reads the target at i and the space behind it. The index is
// behind that space, or the byte at which the error shows. The forms are those
// of RFC 9112 section 3.2; for an absolute one Host is set.
func requestTarget(b []byte, i int, req *Request) (int, Error) {
	start := i
	if i == len(b) {
		return i, errMore
	}
	if b[i] == '/' {
		return originTarget(b, i, i, req)
	}
	for i < len(b) && class[b[i]]&isQuery != 0 && b[i] != '/' {
		i++
	}
	if i == len(b) {
		return i, errMore
	}
	switch {
	case b[i] == '/':
		return absoluteTarget(b, start, i, req)
	case b[i] != ' ':
		return i, targetError(b[i])
	case string(req.Method) == "CONNECT":
		return i, ErrConnect
	case i == start+1 && b[start] == '*' && string(req.Method) == "OPTIONS":
		req.Target = b[start:i:i]
		req.Path = req.Target
		return i + 1, ok
	case i == start:
		return i, ErrRequestLine
	}
	return i, ErrTarget
}

// originTarget reads path [? query] SP, the path at i; the target began at start.
func originTarget(b []byte, start, i int, req *Request) (int, Error) {
	path := i
	for {
		i = span(b, i, isPath)
		if i == len(b) {
			return i, errMore
		}
		if b[i] != '%' {
			break
		}
		for k := i + 1; k <= i+2; k++ {
			if k == len(b) {
				return k, errMore
			}
			if class[b[k]]&isHex == 0 {
				return k, ErrTarget
			}
		}
		i += 3
	}
	req.Path = b[path:i:i]
	if b[i] == '?' {
		query := i + 1
		i = span(b, query, isQuery)
		if i == len(b) {
			return i, errMore
		}
		req.RawQuery = b[query:i:i]
	}
	if b[i] != ' ' {
		return i, targetError(b[i])
	}
	req.Target = b[start:i:i]
	if string(req.Method) == "CONNECT" {
		return i, ErrConnect
	}
	return i + 1, ok
}

// absoluteTarget reads scheme://authority path [? query] SP. The scheme began at
// start and slash is the first slash.
func absoluteTarget(b []byte, start, slash int, req *Request) (int, Error) {
	scheme := b[start:slash]
	if !EqualFold(scheme, "http:") && !EqualFold(scheme, "https:") {
		return slash, ErrTarget
	}
	if slash+1 == len(b) {
		return slash + 1, errMore
	}
	if b[slash+1] != '/' {
		return slash + 1, ErrTarget
	}
	i := slash + 2
	host := i
	for i < len(b) && class[b[i]]&isQuery != 0 && b[i] != '/' && b[i] != '?' {
		i++
	}
	if i == len(b) {
		return i, errMore
	}
	if i == host || !ValidHost(b[host:i]) {
		return i, ErrTarget
	}
	req.Host = b[host:i:i]
	if b[i] == '/' {
		return originTarget(b, start, i, req)
	}
	next, code := originTarget(b, start, i, req)
	req.Path = b[slash : slash+1 : slash+1] // an empty path is "/"
	return next, code
}

// targetError says what is wrong with byte c inside a target.
func targetError(c byte) Error {
	switch c {
	case '\n':
		return ErrLineEnd
	case '\r':
		return ErrRequestLine
	}
	return ErrTarget
}

// finishTarget brings the Host field and the target together: both have to be
// valid, and the authority of an absolute target wins.
func (r *Request) finishTarget(host []byte) Error {
	if !ValidHost(host) {
		return ErrHost
	}
	if r.Host == nil {
		r.Host = host
	}
	return ok
}

// ValidHost reports whether b may stand in Host: a registered name, an IPv4
// address or an IPv6 address in brackets, and an optional port; empty is valid
// (RFC 9110 section 7.2). Commas and user information are not.
func ValidHost(b []byte) bool {
	if len(b) == 0 {
		return true
	}
	i := 0
	if b[0] == '[' {
		i = bytes.IndexByte(b, ']')
		if i < 0 || !validIPv6(b[1:i]) {
			return false
		}
		i++
	} else {
		i = span(b, 0, isHost)
		for i < len(b) && b[i] == '%' {
			if i+2 >= len(b) || class[b[i+1]]&isHex == 0 || class[b[i+2]]&isHex == 0 {
				return false
			}
			i = span(b, i+3, isHost)
		}
		if i == 0 {
			return false
		}
	}
	return i == len(b) || b[i] == ':' && validPort(b[i+1:])
}

// validIPv6 checks the shape of an address: enough to be sure that it is
// nothing else, not that it can be reached.
func validIPv6(b []byte) bool {
	colons := 0
	for _, c := range b {
		switch {
		case c == ':':
			colons++
		case class[c]&isHex == 0 && c != '.':
			return false
		}
	}
	const longest = "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255"
	return colons >= 2 && colons <= 8 && len(b) <= len(longest)
}

// validPort takes nothing or a number up to 65535.
func validPort(b []byte) bool {
	n := 0
	for _, c := range b {
		if class[c]&isDigit == 0 {
			return false
		}
		if n = n*10 + int(c-'0'); n > 65535 {
			return false
		}
	}
	return true
}
