// SPDX-License-Identifier: MIT

package ws

import (
	"bytes"
	"sync"
	"unicode/utf8"
)

// A Message is one that many connections are sent: it is encoded once, compressed
// at most once, and they share its bytes.
type Message struct {
	payload []byte
	frame   []byte // plain

	once     sync.Once
	deflated []byte // as a frame; nil: not worth it. Set by once
}

// NewMessage makes a message; op is OpText or OpBinary. It copies data. The error
// is ErrText for a text that is not UTF-8.
func NewMessage(op Op, data []byte) (*Message, error) {
	switch {
	case !op.opensMessage():
		panic("ws: NewMessage takes OpText or OpBinary")
	case op == OpText && !utf8.Valid(data):
		return nil, ErrText
	}
	frame := AppendFrame(make([]byte, 0, headLen(len(data))+len(data)), op, true, data)
	return messageOf(frame), nil
}

// messageOf is the message of a frame that is whole and plain; nil: it is none.
func messageOf(frame []byte) *Message {
	var room [headMax]byte
	for _, head := range [...]int{2, 4, 10} {
		n := len(frame) - head
		if n < 0 || headLen(n) != head {
			continue
		}
		first := frame[0]
		if op := Op(first &^ finalBit); op.opensMessage() && first != byte(op) &&
			bytes.HasPrefix(frame, appendHead(room[:0], first, 0, n)) {
			return &Message{payload: frame[head:], frame: frame}
		}
	}
	return nil
}

// SendMessage is Send for a message that others are sent too.
func (c *Conn) SendMessage(m *Message) error {
	frame := m.frameFor(c)
	c.mu.Lock()
	err := c.admitLocked(len(frame))
	if err == nil {
		c.outLocked().share(frame)
		c.sentLocked(frame[0])
	}
	c.unlockAndWake()
	return err
}

// frameFor is m as c is sent it.
func (m *Message) frameFor(c *Conn) []byte {
	if !c.compresses(len(m.payload)) {
		return m.frame
	}
	if bits := c.agreed.serverBits; len(m.payload) > 1<<bits && bits < windowBitsMax {
		return m.deflate(c.o, bits)
	}
	m.once.Do(func() { m.deflated = m.deflate(c.o, windowBitsMax) })
	return m.deflated
}

// deflate is m compressed, as it is when that is not longer.
func (m *Message) deflate(o *Options, bits uint8) []byte {
	b := o.lend()
	defer o.takeBack(b)
	b.data = o.deflate(b.data, m.payload, bits)
	if len(b.data) >= len(m.payload) {
		return m.frame
	}
	first := m.frame[0] | deflateBit
	frame := make([]byte, 0, headLen(len(b.data))+len(b.data))
	return append(appendHead(frame, first, 0, len(b.data)), b.data...)
}
