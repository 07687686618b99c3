// SPDX-License-Identifier: MIT

package main

import (
	"encoding/binary"
	"net/http"
	"sync"

	"m0serve.dev/http/loop"
	"m0serve.dev/http/server"
	"m0serve.dev/http/wire"
	"m0serve.dev/http/ws"
)

// frameMax bounds one frame that is echoed; a longer one closes with 1009.
const frameMax = 64 << 10

// Close codes and opcodes of RFC 6455, sections 7.4.1 and 5.2.
const (
	codeProtocol = 1002
	codeTooBig   = 1009

	opClose = 8
	opPing  = 9
	opPong  = 10
)

// A wsEcho sends every frame back as it came, answers a ping with a pong and a
// close with a close. It is the source of a held connection: Received and Next
// are called by the loop, one at a time; held is set once the loop has it.
type wsEcho struct {
	in, out []byte
	ended   bool

	mu   sync.Mutex
	held loop.Held
}

// openWebSocket checks the handshake; refused is nil when it is good.
func openWebSocket(o ws.Opening) (accept string, refused *ws.Error) {
	accept, err := o.Accept()
	if err != nil {
		refused = err.(*ws.Error) // Accept gives no other
	}
	return accept, refused
}

// serveWebSocket is /ws of the native application.
func (e *echo) serveWebSocket(x *server.Exchange) {
	accept, refused := openWebSocket(openingOf(x.Request()))
	_ = x.Field("X-App", "1")
	if refused != nil {
		x.SetStatus(refused.Status)
		_ = x.Field("Sec-WebSocket-Version", ws.Version)
		_, _ = x.WriteString(refused.Reason)
		return
	}
	x.SetStatus(http.StatusSwitchingProtocols)
	_ = x.Field("Upgrade", "websocket")
	_ = x.Field("Connection", "Upgrade")
	_ = x.Field("Sec-WebSocket-Accept", accept)
	source := &wsEcho{}
	source.park(x.HoldConn(source))
}

func openingOf(r *wire.Request) ws.Opening {
	o := ws.Opening{Method: string(r.Method), HTTP11: r.Minor >= 1, Upgrade: string(r.Upgrade)}
	for _, f := range r.Fields {
		switch {
		case wire.EqualFold(f.Name, "connection"):
			o.Connection += "," + string(f.Value)
		case wire.EqualFold(f.Name, "sec-websocket-version"):
			o.Version = string(f.Value)
		case wire.EqualFold(f.Name, "sec-websocket-key"):
			o.Keys = append(o.Keys, string(f.Value))
		}
	}
	return o
}

// upgrade is /ws of the application for net/http.
func (e *echo) upgrade(w http.ResponseWriter, r *http.Request) {
	accept, refused := openWebSocket(ws.OpeningOf(r))
	h := w.Header()
	h.Set("X-App", "1")
	if refused != nil {
		h.Set("Sec-WebSocket-Version", ws.Version)
		http.Error(w, refused.Reason, refused.Status)
		return
	}
	holder, ok := loop.HolderOf(w)
	if !ok {
		http.Error(w, "this server holds no connections", http.StatusNotImplemented)
		return
	}
	h.Set("Upgrade", "websocket")
	h.Set("Connection", "Upgrade")
	h.Set("Sec-WebSocket-Accept", accept)
	w.WriteHeader(http.StatusSwitchingProtocols)
	source := &wsEcho{}
	source.park(holder.HoldConn(source))
}

func (e *wsEcho) park(held loop.Held, _ bool, err error) {
	if err != nil {
		return // the peer is gone
	}
	e.mu.Lock()
	e.held = held
	e.mu.Unlock()
	held.Wake()
}

// Next implements loop.Source.
func (e *wsEcho) Next() []byte {
	out := e.out
	e.out = nil
	if len(out) == 0 {
		return nil
	}
	return out
}

// Received implements loop.Source.
func (e *wsEcho) Received(b []byte) bool {
	e.in = append(e.in, b...)
	for !e.ended && e.frame() {
	}
	e.mu.Lock()
	held := e.held
	e.mu.Unlock()
	if held != nil {
		held.Wake()
		if e.ended {
			held.Close(loop.EndClean)
		}
	}
	return true
}

// Closed implements loop.Source.
func (e *wsEcho) Closed(loop.Reason) {}

// frame takes one whole frame from the input; false when there is none yet.
func (e *wsEcho) frame() bool {
	if len(e.in) < 2 {
		return false
	}
	first, size, head := e.in[0], int(e.in[1]&0x7f), 2
	op := first & 0x0f
	switch {
	case e.in[1]&0x80 == 0, first&0x70 != 0, op > 2 && op < opClose, op > opPong,
		op >= opClose && (size > 125 || first&0x80 == 0):
		e.end(codeProtocol)
		return false
	case size == 126 && len(e.in) >= 4:
		size, head = int(binary.BigEndian.Uint16(e.in[2:])), 4
	case size == 127:
		e.end(codeTooBig)
		return false
	case size == 126:
		return false
	}
	if size > frameMax {
		e.end(codeTooBig)
		return false
	}
	if len(e.in) < head+4+size {
		return false
	}
	mask, payload := e.in[head:head+4], e.in[head+4:head+4+size]
	for i := range payload {
		payload[i] ^= mask[i%4]
	}
	e.answer(first, payload)
	e.in = append(e.in[:0], e.in[head+4+size:]...)
	return true
}

func (e *wsEcho) answer(first byte, payload []byte) {
	switch first & 0x0f {
	case opPong:
		return
	case opPing:
		first = 0x80 | opPong
	case opClose:
		e.ended = true
	}
	e.out = appendFrame(e.out, first, payload)
}

// end closes with a code.
func (e *wsEcho) end(code uint16) {
	e.ended = true
	e.out = appendFrame(e.out, 0x80|opClose, binary.BigEndian.AppendUint16(nil, code))
}

func appendFrame(dst []byte, first byte, payload []byte) []byte {
	dst = append(dst, first)
	if n := len(payload); n < 126 {
		dst = append(dst, byte(n))
	} else {
		dst = binary.BigEndian.AppendUint16(append(dst, 126), uint16(n))
	}
	return append(dst, payload...)
}
