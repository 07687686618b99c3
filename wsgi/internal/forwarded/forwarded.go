// SPDX-License-Identifier: MIT

package forwarded

import (
	"net/netip"
	"sync/atomic"

	"m0serve.dev/http/wire"
)

// A Set is a set of fields.
type Set uint8

// The fields that can be believed.
const (
	For    Set = 1 << iota // X-Forwarded-For: the client
	Proto                  // X-Forwarded-Proto: the scheme
	Host                   // X-Forwarded-Host: what stands for Host
	Port                   // X-Forwarded-Port: with it, when Host names none
	Prefix                 // X-Forwarded-Prefix: a path before SCRIPT_NAME
	// RFC7239 reads Forwarded instead of X-Forwarded-*, and of it what For, Proto
	// and Host name.
	RFC7239
)

// Config says whom to believe what.
type Config struct {
	// Trust lists addresses, networks (10.0.0.0/8), "*" for every peer, and "unix".
	// nil is 127.0.0.1 and ::1; loopback brings unix sockets with it. "*" trusts
	// who connects, and no address in a list: with it alone the client is the
	// rightmost of X-Forwarded-For.
	Trust []string
	// Nobody trusts no peer, whatever Trust says.
	Nobody bool
	// Believe is For|Proto unless set; RFC7239 alone brings these two.
	Believe Set
}

// A Filter does what the package comment says. It is safe for use by any number
// of goroutines.
type Filter struct {
	trust   trust
	believe Set

	untrusted, underscores, reserved, repeated, malformed atomic.Uint64
}

// Stats counts fields; they only grow.
type Stats struct {
	Untrusted   uint64 // taken out: a proxy's field, from a peer that is not trusted
	Underscores uint64 // taken out: a name with an underscore
	Reserved    uint64 // taken out: Grip-* or M0-*
	Repeated    uint64 // of one value, but repeated: all of them taken out
	Malformed   uint64 // believed, but not readable
}

// New compiles cfg.
func New(cfg Config) (*Filter, error) {
	if cfg.Trust == nil {
		cfg.Trust = []string{"127.0.0.1", "::1"}
	}
	if cfg.Nobody {
		cfg.Trust = nil
	}
	if cfg.Believe&^RFC7239 == 0 {
		cfg.Believe |= For | Proto
	}
	t, err := parseTrust(cfg.Trust)
	if err != nil {
		return nil, err
	}
	return &Filter{trust: t, believe: cfg.Believe}, nil
}

// Stats returns the counters.
func (f *Filter) Stats() Stats {
	return Stats{
		Untrusted:   f.untrusted.Load(),
		Underscores: f.underscores.Load(),
		Reserved:    f.reserved.Load(),
		Repeated:    f.repeated.Load(),
		Malformed:   f.malformed.Load(),
	}
}

// A Result is what holds for a request. Its slices lie in the request.
type Result struct {
	Client  netip.AddrPort // Port is 0 where a proxy named none; invalid: a unix peer
	Scheme  string         // "http" or "https"; "" when nobody said
	Host    []byte         // instead of the Host field; nil when nobody said
	Port    uint16         // with Host, when Host has none; 0 when nobody said
	Prefix  []byte         // opens with a slash and ends with none; nil: none
	Trusted bool           // the peer is
}

// Apply takes what must not be seen out of req.Fields, in place, and reads the
// rest. It does not change req.Host.
func (f *Filter) Apply(req *wire.Request, peer netip.AddrPort) Result {
	r := Result{Client: peer}
	var p proxied
	kept := 0
	for i := range req.Fields {
		field := &req.Fields[i]
		kind := ordinary
		if field.Underscore {
			kind = underscore
		} else if mayMatter(field.Name) {
			kind = kindOf(field.Name)
		}
		if kind != ordinary {
			if p.peer == unasked {
				p.ask(&f.trust, peer.Addr())
			}
			if !f.keep(&p, kind, field.Value) {
				continue
			}
		}
		if kept != i {
			req.Fields[kept] = *field
		}
		kept++
	}
	if p.peer == unasked {
		p.ask(&f.trust, peer.Addr())
	}
	clear(req.Fields[kept:])
	req.Fields, req.Underscores = req.Fields[:kept], false
	if r.Trusted = p.peer == trusted; r.Trusted && p.seen != 0 {
		f.believed(req, &p, &r)
	}
	return r
}

// mayMatter is quick to say no.
func mayMatter(name []byte) bool {
	switch name[0] | 0x20 {
	case 'x', 'f', 'g', 'm':
		return true
	}
	return false
}
