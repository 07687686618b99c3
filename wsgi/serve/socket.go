// SPDX-License-Identifier: MIT

//go:build cgo && linux

package serve

import (
	"m0serve.dev/http/loop"
	"m0serve.dev/http/wire"
	engine "m0serve.dev/wsgi/internal/python"
	"m0serve.dev/wsgi/internal/realtime"
	"m0serve.dev/wsgi/internal/realtime/socket"
)

// newSockets makes what accepts WebSockets for a WSGI application.
func (h *host) newSockets() *socket.Sockets {
	return socket.New(socket.Config{Hub: h.hub, Origins: h.o.WSOrigins, Root: h.o.RootPath,
		Grip: speaksGrip(), Log: h.log,
		Ask: func(a loop.Asking) error { return h.srv.Ask(a) }})
}

// socketStats are the figures of WebSockets; nil where there can be none.
func (f *front) socketStats() *socket.Stats {
	if f.app == nil || f.app.sockets == nil {
		return nil
	}
	stats := f.app.sockets.Stats()
	return &stats
}

// refuses answers what from the wire would pose as a message of a WebSocket.
func (h *wsgiHandler) refuses(x *loop.Exchange) bool {
	switch r := x.Request(); {
	case h.sockets == nil:
		return false
	case socket.IsMessagePath(r.Path, h.root):
		x.Fail(404, "this path is the server's")
	case h.sockets.IsForged(r):
		x.Fail(415, "events of WebSockets are the server's to send")
	default:
		return false
	}
	return true
}

// isMessage reports whether a request may be a message of a WebSocket.
func (h *wsgiHandler) isMessage(r *wire.Request) bool {
	return h.sockets != nil && string(r.Path) == h.root+socket.MessagePath
}

// open shows the application an opening handshake, as the GET that it is, or first in
// the words of GRIP where it may speak them.
func (h *wsgiHandler) open(x *loop.Exchange, c *caller, seat *engine.Seat) {
	o := h.sockets.Open(x, socket.Caller{Scheme: c.scheme, Name: c.name})
	if o == nil {
		return
	}
	r := seatRequest(seat)
	defer r.end()
	var refusal *realtime.Answer
	if h.sockets.OpensGrip() {
		answer, ok := h.openGrip(r, x, c, seat, o.Grip())
		switch {
		case ok && (socket.SpeaksGrip(answer) || socket.Accepts(answer)):
			h.sockets.Accept(o, answer)
			return
		case ok && answer.Problem() == nil:
			refusal = answer
		}
	}
	r.gathers = refusal != nil
	h.call(r, x, c, seat)
	switch {
	case r.held != nil && r.outcome == engine.Written && socket.Accepts(r.held):
		h.sockets.Accept(o, r.held)
	case refusal != nil && saysNothing(r.held):
		h.live.Hold(x, refusal)
	default:
		h.conclude(r, x)
	}
}

// openGrip asks the application with a request of our own.
func (h *wsgiHandler) openGrip(r *request, x *loop.Exchange, c *caller, seat *engine.Seat,
	raw []byte) (answer *realtime.Answer, ok bool) {
	var parser wire.RequestParser
	var req wire.Request
	n, err := parser.Parse(raw, &req)
	if err != nil || n == 0 {
		return nil, false // longer than what a parser takes: the GET is not
	}
	r.x, r.live, r.held, r.gathers = x, h.live, nil, true
	h.ask(r, &req, raw[n:], true, c, seat)
	answer, r.held = r.held, nil
	return answer, answer != nil && r.outcome == engine.Written
}

// saysNothing reports whether an answer to the GET of an opening only says that it
// should have been another request, as an application of GRIP says.
func saysNothing(a *realtime.Answer) bool {
	return a == nil || a.Problem() != nil || a.Status == 400 || a.Status == 404 || a.Status == 405
}
