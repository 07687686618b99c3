// SPDX-License-Identifier: MIT

package socket

import (
	"bytes"
	"sync"
	"time"

	"m0serve.dev/http/grip"
	"m0serve.dev/http/loop"
	"m0serve.dev/http/sse"
	"m0serve.dev/http/ws"
	"m0serve.dev/wsgi/internal/realtime"
)

// A message is what a frame of the hub says to a socket.
type message struct {
	of   *sse.Frame
	op   ws.Op // OpText, OpBinary, OpPing, OpPong; OpClose with code and reason
	data []byte
	code ws.Code
	none bool // there is nothing to send
}

// decode is the event of f as a text. Frames come to one socket after the other, so
// the last one is kept.
func (s *Sockets) decode(f *sse.Frame) *message {
	if m, ok := f.Note().(*message); ok {
		return m
	}
	if m := s.last.Load(); m != nil && m.of == f {
		return m
	}
	data, ok := realtime.DataOf(f.Body())
	m := &message{of: f, op: ws.OpText, data: bytes.ToValidUTF8(data, []byte("\uFFFD")), none: !ok}
	s.last.Store(m)
	return m
}

// An interest is what a socket wants of the items of its channels. mu is never held
// while something else is called.
type interest struct {
	mu sync.Mutex
	to grip.Subscriber // guarded by mu
}

// pass says what of a frame this socket gets; see sse.HoldOptions.
func (k *socket) pass(f *sse.Frame) *sse.Frame {
	it := realtime.ItemOf(f)
	switch {
	case it == nil:
		return f
	case it.Message == nil:
		return nil
	case it.Message.Action == grip.Refresh:
		go k.poke() // locks are held
		return nil
	case it.Message.Action == grip.Hint:
		return nil
	}
	content, ok := k.interest.filter(it)
	if !ok {
		return nil
	}
	// The body counts for the bounds of the queue, and an empty one would be dropped.
	return sse.NewFrame(0, it.Channel, "", append([]byte{'m'}, content...)).
		With(messageOf(it.Message, content))
}

// filter is the content of an item for this socket, if it is for it.
func (i *interest) filter(it *grip.Item) (content []byte, ok bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	var filters grip.Filters
	for n := range i.to.Channels {
		if c := &i.to.Channels[n]; c.Name == it.Channel {
			filters = c.Filters
			if it.ID != "" {
				c.PrevID = it.ID
			}
		}
	}
	m := it.Message
	if !filters.Pass(it.Meta, &i.to) || !filters.Fits(m.Filters) {
		return nil, false
	}
	if m.Action != grip.Send || !filters.Changes() {
		return m.Content, true
	}
	content, err := filters.Append(nil, m.Content, &i.to)
	return content, err == nil
}

// messageOf is an item's message with its content as filters have left it.
func messageOf(m *grip.Message, content []byte) *message {
	if m.Action == grip.Close {
		code := ws.Code(m.Code)
		if code == 0 {
			code = ws.CodeNormal
		}
		return &message{op: ws.OpClose, code: code, data: []byte(m.Reason)}
	}
	op := map[grip.MessageType]ws.Op{grip.Text: ws.OpText, grip.Binary: ws.OpBinary,
		grip.Ping: ws.OpPing, grip.Pong: ws.OpPong}[m.Type]
	return &message{op: op, data: content}
}

// deliver sends m to the client. What cannot be sent is lost with the connection, which
// is closing then.
func (k *socket) deliver(m *message) {
	k.sentAt.Set(time.Now())
	switch m.op {
	case ws.OpPing:
		_ = k.conn.Ping(m.data)
	case ws.OpPong:
		_ = k.conn.Pong(m.data)
	case ws.OpClose:
		k.end(m.code, string(m.data))
	default:
		_ = k.conn.Send(m.op, m.data)
	}
}

// A feed moves frames from the slot to the connection. It is the slot's loop.Held.
type feed struct {
	k  *socket
	mu sync.Mutex // one at a time, in order
}

// Wake implements loop.Held.
func (f *feed) Wake() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for !f.k.conn.IsFull() {
		frame := f.k.slot.NextFrame()
		if frame == nil {
			return
		}
		if m := f.k.s.decode(frame); !m.none {
			f.k.deliver(m)
		}
	}
}

// Close implements loop.Held: the slot has given up what waits, because the server
// drains, the queue was full, or the bus has lost frames. NextFrame may call it.
func (f *feed) Close(loop.Ending) {
	if f.k.s.draining.Load() {
		_ = f.k.conn.Close(ws.CodeRestart, "") // it may be closing already
		return
	}
	f.k.s.slow.Add(1)
	_ = f.k.conn.Close(ws.CodeOverload, "messages were missed")
}
