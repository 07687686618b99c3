// SPDX-License-Identifier: MIT

package forwarded

import (
	"bytes"
	"net/netip"
	"sync/atomic"

	"m0serve.dev/http/wire"
)

// remove takes the fields of the kinds in which out of req and counts them.
func (f *Filter) remove(req *wire.Request, which Set, count *atomic.Uint64) {
	kept := 0
	for i := range req.Fields {
		if k := kindOfAny(req.Fields[i].Name); k >= xFor && which&k.bit() != 0 {
			count.Add(1)
			continue
		}
		req.Fields[kept] = req.Fields[i]
		kept++
	}
	clear(req.Fields[kept:])
	req.Fields = req.Fields[:kept]
}

func kindOfAny(name []byte) kind {
	if !mayMatter(name) {
		return ordinary
	}
	return kindOf(name)
}

// elements goes through the elements of all lines of one kind, from the last to
// the first. Quoted strings of Forwarded may have commas in them.
func elements(req *wire.Request, k kind) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for i := len(req.Fields) - 1; i >= 0; i-- {
			if kindOfAny(req.Fields[i].Name) != k {
				continue
			}
			for rest, more := req.Fields[i].Value, true; more; {
				var item []byte
				rest, item, more = cutLast(rest, ',')
				if item = bytes.Trim(item, " \t"); len(item) > 0 && !yield(item) {
					return
				}
			}
		}
	}
}

// cutLast cuts at the last sep that is not inside of quotes.
func cutLast(list []byte, sep byte) (rest, item []byte, found bool) {
	quoted := false
	for i := len(list) - 1; i >= 0; i-- {
		switch {
		case list[i] == '"' && !isEscaped(list, i):
			quoted = !quoted
		case list[i] == sep && !quoted:
			return list[:i], list[i+1:], true
		}
	}
	return nil, list, false
}

// isEscaped reports whether an odd number of backslashes stands before i.
func isEscaped(list []byte, i int) bool {
	n := 0
	for i--; i >= 0 && list[i] == '\\'; i-- {
		n++
	}
	return n%2 == 1
}

// client walks X-Forwarded-For.
func (f *Filter) client(req *wire.Request, r *Result) {
	for item := range elements(req, xFor) {
		at, ok := parseAddr(item)
		if !ok {
			f.malformed.Add(1)
			return
		}
		r.Client = at
		if !f.trust.listed(at.Addr()) {
			return
		}
	}
}

// standard walks Forwarded. The element of the client says the rest, too; a
// parameter that is malformed says nothing.
func (f *Filter) standard(req *wire.Request, r *Result) {
	for item := range elements(req, theStandard) {
		e, ok := parseElement(item)
		at, known := netip.AddrPort{}, false
		if ok && f.believe&For != 0 {
			at, known = parseAddr(e.addr)
		}
		if !ok || e.addr != nil && f.believe&For != 0 && !known {
			f.malformed.Add(1)
			return
		}
		if known {
			r.Client = at
		}
		if f.believe&Proto != 0 && e.proto != nil && !r.setScheme(e.proto) ||
			f.believe&Host != 0 && e.host != nil && !r.setHost(e.host) {
			f.malformed.Add(1)
		}
		if !known || !f.trust.listed(at.Addr()) {
			return
		}
	}
}

// parseAddr reads an address with or without a port: "192.0.2.1",
// "192.0.2.1:80", "2001:db8::1", "[2001:db8::1]", "[2001:db8::1]:80". A port
// that is obfuscated (RFC 7239 section 6.3) is none.
func parseAddr(b []byte) (netip.AddrPort, bool) {
	const longest = "[ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255]:65535"
	if len(b) == 0 || len(b) > len(longest) {
		return netip.AddrPort{}, false
	}
	host, port := b, []byte(nil)
	switch colon := bytes.LastIndexByte(b, ':'); {
	case b[0] == '[':
		end := bytes.IndexByte(b, ']')
		if end < 0 || end+1 < len(b) && b[end+1] != ':' {
			return netip.AddrPort{}, false
		}
		host, port = b[1:end], b[min(end+2, len(b)):]
	case colon >= 0 && bytes.IndexByte(b, ':') == colon:
		host, port = b[:colon], b[colon+1:]
	}
	a, err := netip.ParseAddr(string(host))
	if err != nil || a.Zone() != "" || b[0] == '[' && !a.Is6() {
		return netip.AddrPort{}, false
	}
	var r Result
	if len(port) > 0 && port[0] != '_' && !r.setPort(port) {
		return netip.AddrPort{}, false
	}
	return netip.AddrPortFrom(a.Unmap(), r.Port), true
}
