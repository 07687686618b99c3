// SPDX-License-Identifier: MIT

package socket

import (
	"net/netip"
	"strings"

	"m0serve.dev/http/loop"
	"m0serve.dev/http/wire"
	"m0serve.dev/http/ws"
	"m0serve.dev/wsgi/internal/realtime"
)

// A Caller is who asks for a socket, as the application sees it.
type Caller struct {
	Scheme string // http or https
	Name   []byte // instead of the Host field; nil: as sent
}

// An Opening is a handshake that is valid, before the application has answered. Its
// requests are what the application is asked on the socket's behalf.
type Opening struct {
	x      *loop.Exchange
	peer   netip.AddrPort
	scheme string
	target string
	host   string
	id     string // of the connection, in the words of GRIP; "": it was not offered
	fields []byte // encoded lines, those of the handshake and of the body left out
}

// IsOpening reports whether a request asks for a WebSocket.
func IsOpening(r *wire.Request) bool {
	return len(r.Upgrade) > 0 && string(r.Method) == "GET" &&
		wire.HasToken(r.Upgrade, "websocket")
}

// Open checks a handshake: whether it is one, and where its page comes from. One that
// is refused is answered, and nil returned.
func (s *Sockets) Open(x *loop.Exchange, c Caller) *Opening {
	r := x.Request()
	o := ws.OpeningOfRequest(r)
	if c.Name != nil {
		o.Host = string(c.Name)
	}
	_, err := o.Accept()
	if err == nil {
		err = s.checkOrigin(o)
	}
	if err != nil {
		s.refused.Add(1)
		refuse(x, err.(*ws.Error)) // neither gives another
		return nil
	}
	return &Opening{x: x, peer: x.Peer(), scheme: c.Scheme, target: string(r.Target),
		host: o.Host, fields: appendFields(nil, r)}
}

// checkOrigin lets pages of the same host connect, and those of Config.Origins.
func (s *Sockets) checkOrigin(o ws.Opening) error {
	err := o.CheckOrigin(nil)
	if err != nil && len(s.cfg.Origins) > 0 {
		err = o.CheckOrigin(s.cfg.Origins)
	}
	return err
}

func refuse(x *loop.Exchange, e *ws.Error) {
	x.SetStatus(e.Status)
	_ = x.Field("Sec-WebSocket-Version", ws.Version) // plain values
	_ = x.Field("Content-Type", "text/plain; charset=utf-8")
	_, _ = x.WriteString(e.Reason + "\n") // the peer may be gone
}

// Require answers a request that the application would accept as a socket, and that is
// no opening.
func Require(x *loop.Exchange) {
	_ = x.Field("Upgrade", "websocket") // a plain value
	refuse(x, &ws.Error{Status: 426, Reason: "this is a WebSocket"})
}

// appendFields appends the fields of the request that later ones have as well.
func appendFields(dst []byte, r *wire.Request) []byte {
	for i := range r.Fields {
		f := &r.Fields[i]
		if name := strings.ToLower(string(f.Name)); !isOfHandshake(name) {
			if line, err := wire.AppendField(dst, string(f.Name), string(f.Value)); err == nil {
				dst = line
			}
		}
	}
	return dst
}

// isOfHandshake reports whether a field says something of the handshake, of its
// connection or body, or is one that is set for each request.
func isOfHandshake(lower string) bool {
	switch lower {
	case "host", "upgrade", "connection", "keep-alive", "te", "trailer", "transfer-encoding",
		"expect", "proxy-connection", "accept", "accept-encoding", "connection-id", "keep-alive-interval":
		return true
	}
	for _, prefix := range []string{"sec-websocket-", "content-", "m0-", "grip-", "meta-",
		"set-meta-", "if-"} {
		if strings.HasPrefix(lower, prefix) {
			return true
		}
	}
	return false
}

// asking makes a request on the socket's behalf, which done gets the answer to.
func (o *Opening) asking(raw []byte, done func(*loop.Exchange)) loop.Asking {
	return loop.Asking{Raw: raw, Peer: o.peer, Done: done,
		For: realtime.Inside{Scheme: o.scheme}}
}

// appendHead appends the request line and the fields that all requests have.
func (o *Opening) appendHead(dst []byte, target string) []byte {
	dst = append(dst, "POST "...)
	dst = append(dst, target...)
	dst = append(dst, " HTTP/1.1\r\nHost: "...)
	dst = append(dst, o.host...)
	dst = append(dst, wire.LineEnd...)
	return append(dst, o.fields...)
}
