// SPDX-License-Identifier: MIT

//go:build cgo && linux

package serve

import (
	"errors"
	"strings"

	"m0serve.dev/http/loop"
	"m0serve.dev/http/wire"
	"m0serve.dev/http/ws"
	engine "m0serve.dev/wsgi/internal/python"
	"m0serve.dev/wsgi/internal/rootpath"
)

// The WebSockets and the scopes of an asgi.

// appendScope appends what take_scope reads, but for the method.
func (a *asgi) appendScope(out *engine.Events, x *loop.Exchange, isSocket bool) {
	var text [64]byte
	c := a.front.look(x)
	r := x.Request()
	a.path = a.path[:0]
	if len(a.root) > 0 && len(rootpath.Below(r.Path, a.root)) == len(r.Path) {
		a.path = append(a.path, a.root...) // a proxy took it away; the path has it
	}
	a.path = wire.AppendUnescaped(a.path, r.Path)
	out.Text(a.path)
	out.Text(r.Path)
	out.Text(r.RawQuery)
	version := "1.1"
	if r.Minor == 0 {
		version = "1.0"
	}
	out.TextOf(version)
	if isSocket {
		out.TextOf("ws" + strings.TrimPrefix(c.scheme, "http"))
	} else {
		out.TextOf(c.scheme)
	}
	out.Text(c.addr.AppendTo(text[:0]))
	out.Int(uint32(c.port))
	out.Int(uint32(len(r.Fields)))
	for i := range r.Fields {
		f := &r.Fields[i]
		out.Lower(f.Name)
		if c.name != nil && wire.EqualFold(f.Name, "host") {
			out.Text(c.name)
			continue
		}
		out.Text(f.Value)
	}
	if isSocket {
		appendProtocols(out, r)
	}
}

func appendProtocols(out *engine.Events, r *wire.Request) {
	var list []string
	for name := range strings.SplitSeq(ws.OpeningOfRequest(r).Protocol, ",") {
		if name = strings.TrimSpace(name); name != "" {
			list = append(list, name)
		}
	}
	out.Int(uint32(len(list)))
	for _, name := range list {
		out.Text([]byte(name))
	}
}

// beginSocket starts a call for an opening handshake. One that is not valid is
// refused here.
func (a *asgi) beginSocket(out *engine.Events, c *asgiCall) {
	var wrong *ws.Error
	if _, err := ws.OpeningOfRequest(c.x.Request()).Accept(); errors.As(err, &wrong) {
		c.x.SetStatus(wrong.Status)
		_ = c.x.Field("Sec-WebSocket-Version", ws.Version) // plain values
		_ = c.x.Field("Content-Type", "text/plain; charset=utf-8")
		_ = c.x.Append([]byte(wrong.Reason + "\n"))
		a.end(c)
		a.release(c)
		return
	}
	c.tell(out, engine.EventConnect)
	a.appendScope(out, c.x, true)
}

// Accept makes the request of a token a WebSocket.
func (a *asgi) Accept(token uint32, subprotocol string, fields engine.Fields) engine.Reply {
	c := a.answering(token)
	if c == nil {
		return engine.Gone
	}
	c.x.SetStatus(101)
	if subprotocol != "" {
		if c.x.Field("Sec-WebSocket-Protocol", subprotocol) != nil {
			return engine.Invalid
		}
	}
	if !c.setFields(fields) {
		return engine.Invalid
	}
	c.credit.Store(wsCredit)
	err := ws.AcceptExchange(c.x, &a.wsO, ws.Handler{
		Open:    func(conn *ws.Conn) { c.conn = conn },
		Message: func(conn *ws.Conn, op ws.Op, data []byte) { a.message(c, conn, op, data) },
		Drained: func(*ws.Conn) { a.post(news{kind: engine.EventDrained, call: c}) },
		Closed: func(_ *ws.Conn, code ws.Code, reason string) {
			a.post(news{kind: engine.EventClosed, call: c, code: code, reason: reason})
		},
	})
	a.end(c)
	if err != nil {
		return engine.Gone
	}
	return engine.OK
}

// message hands a message over; the loop may be anybody's.
func (a *asgi) message(c *asgiCall, conn *ws.Conn, op ws.Op, data []byte) {
	if c.credit.Add(-1) == 0 {
		conn.Pause()
		if c.credit.Load() > 0 { // Room came in between, and its Resume ahead of the Pause
			conn.Resume()
		}
	}
	a.post(news{kind: engine.EventMessage, call: c, isText: op == ws.OpText,
		data: append([]byte(nil), data...)})
}

// Room is for so many messages more.
func (a *asgi) Room(token uint32, messages int) {
	c := a.call(token)
	if c != nil && c.conn != nil && c.credit.Add(int64(messages)) <= int64(messages) {
		c.conn.Resume()
	}
}

func (a *asgi) deliverSocket(out *engine.Events, n *news) {
	c := n.call
	if n.kind == engine.EventClosed {
		c.closed = true
		if c.ended {
			a.release(c)
			return
		}
	}
	if c.ended || n.kind == engine.EventDrained && !c.slow {
		return
	}
	c.tell(out, n.kind)
	switch n.kind {
	case engine.EventMessage:
		out.Flag(n.isText)
		out.Text(n.data)
	case engine.EventClosed:
		out.Int(uint32(n.code))
		out.Text([]byte(n.reason))
	case engine.EventDrained:
		c.slow = false
	}
}

// SendMessage sends a message.
func (a *asgi) SendMessage(token uint32, data []byte, isText bool) engine.Reply {
	c := a.call(token)
	if c == nil || c.conn == nil {
		return engine.Gone
	}
	op := ws.OpBinary
	if isText {
		op = ws.OpText
	}
	switch {
	case c.conn.Send(op, data) != nil:
		return engine.Gone
	case c.conn.IsFull():
		c.slow = true
		return engine.Slow
	}
	return engine.OK
}

// Close closes a WebSocket.
func (a *asgi) Close(token uint32, code int, reason string) engine.Reply {
	c := a.call(token)
	if c == nil || c.conn == nil {
		return engine.Gone
	}
	if c.conn.Close(ws.Code(code), reason) != nil {
		return engine.Gone
	}
	return engine.OK
}
