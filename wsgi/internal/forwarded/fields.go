// SPDX-License-Identifier: MIT

package forwarded

import (
	"net/netip"

	"m0serve.dev/http/wire"
)

// A kind of field.
type kind uint8

const (
	ordinary kind = iota
	underscore
	reserved    // Grip-*, M0-*
	otherProxy  // a proxy's, never read here
	xFor        // from here on in the order of Set
	xProto      //
	xHost       //
	xPort       //
	xPrefix     //
	theStandard // Forwarded
	kinds
)

// bit is the member of Set that a kind stands for.
func (k kind) bit() Set { return 1 << (k - xFor) }

const forwardedPrefix = "x-forwarded-"

// kindOf looks at a name that mayMatter.
func kindOf(name []byte) kind {
	switch {
	case hasPrefix(name, "grip-"), hasPrefix(name, "m0-"):
		return reserved
	case wire.EqualFold(name, "forwarded"):
		return theStandard
	case wire.EqualFold(name, "x-real-ip"), wire.EqualFold(name, "x-forwarded"):
		return otherProxy
	case !hasPrefix(name, forwardedPrefix):
		return ordinary
	}
	switch rest := name[len(forwardedPrefix):]; {
	case wire.EqualFold(rest, "for"):
		return xFor
	case wire.EqualFold(rest, "proto"):
		return xProto
	case wire.EqualFold(rest, "host"):
		return xHost
	case wire.EqualFold(rest, "port"):
		return xPort
	case wire.EqualFold(rest, "prefix"):
		return xPrefix
	}
	return otherProxy
}

func hasPrefix(name []byte, lower string) bool {
	return len(name) >= len(lower) && wire.EqualFold(name[:len(lower)], lower)
}

// The answers to the question whether a peer is trusted.
const (
	unasked = iota
	trusted
	stranger
)

// proxied is what Apply gathers of one request.
type proxied struct {
	peer  uint8
	seen  Set // fields of this kind came
	twice Set // and again
	value [kinds][]byte
}

func (p *proxied) ask(t *trust, peer netip.Addr) {
	if p.peer = stranger; t.peer(peer) {
		p.peer = trusted
	}
}

// keep decides and counts, and notes what may be believed.
func (f *Filter) keep(p *proxied, k kind, value []byte) bool {
	switch {
	case k == underscore:
		f.underscores.Add(1)
		return false
	case k == reserved:
		f.reserved.Add(1)
		return false
	case p.peer != trusted:
		f.untrusted.Add(1)
		return false
	case k == otherProxy:
		return true
	}
	p.twice |= p.seen & k.bit()
	p.seen |= k.bit()
	p.value[k] = value
	return true
}

// lists are the fields that may be repeated.
const lists = For | RFC7239

// believed reads what a trusted peer sent.
func (f *Filter) believed(req *wire.Request, p *proxied, r *Result) {
	if twice := p.twice &^ lists; twice != 0 {
		f.strike(req, twice)
		p.seen &^= twice
	}
	use := p.seen & f.believe
	if f.believe&RFC7239 != 0 {
		if use&RFC7239 != 0 {
			f.standard(req, r)
		}
		return
	}
	if use&For != 0 {
		f.client(req, r)
	}
	bad := Set(0)
	if use&Proto != 0 && !r.setScheme(p.value[xProto]) {
		bad |= Proto
	}
	if use&Host != 0 && !r.setHost(p.value[xHost]) {
		bad |= Host
	}
	if use&Port != 0 && !r.setPort(p.value[xPort]) {
		bad |= Port
	}
	if use&Prefix != 0 && !r.setPrefix(p.value[xPrefix]) {
		bad |= Prefix
	}
	if bad != 0 {
		f.remove(req, bad, &f.malformed)
	}
}

// strike takes out fields that were repeated and must not be.
func (f *Filter) strike(req *wire.Request, which Set) { f.remove(req, which, &f.repeated) }

func (r *Result) setScheme(v []byte) bool {
	switch {
	case wire.EqualFold(v, "https"), wire.EqualFold(v, "wss"):
		r.Scheme = "https"
	case wire.EqualFold(v, "http"), wire.EqualFold(v, "ws"):
		r.Scheme = "http"
	default:
		return false
	}
	return true
}

func (r *Result) setHost(v []byte) bool {
	if len(v) == 0 || !wire.ValidHost(v) {
		return false
	}
	r.Host = v
	return true
}

func (r *Result) setPort(v []byte) bool {
	n := 0
	for _, c := range v {
		if n = n*10 + int(c-'0'); c < '0' || c > '9' || n > 65535 {
			return false
		}
	}
	r.Port = uint16(n)
	return n > 0
}

// setPrefix takes a path that can stand before another one.
func (r *Result) setPrefix(v []byte) bool {
	for len(v) > 0 && v[len(v)-1] == '/' {
		v = v[:len(v)-1]
	}
	if len(v) == 0 {
		return true // "/" is no prefix
	}
	if v[0] != '/' {
		return false
	}
	for i, c := range v {
		if c <= ' ' || c >= 0x7f || c == '\\' || c == '?' || c == '#' || c == '%' ||
			(c == '/' || c == '.') && i > 0 && v[i-1] == '/' {
			return false
		}
	}
	r.Prefix = v
	return true
}
