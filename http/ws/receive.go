// SPDX-License-Identifier: MIT

package ws

import (
	"errors"

	"m0serve.dev/http/loop"
)

// Received implements loop.Source: it takes the peer's bytes and calls the
// handler with what they make whole.
func (c *Conn) Received(b []byte) bool {
	c.mu.Lock()
	c.running, c.heard = true, c.heard || len(b) > 0
	c.mu.Unlock()
	defer c.receivedAll()
	if len(c.kept) > 0 {
		b = append(c.kept, b...)
		c.kept = nil
	}
	for len(b) > 0 {
		switch {
		case c.is(isDeaf):
			return true // what comes behind a close is dropped
		case c.Paused():
			c.kept = append([]byte(nil), b...)
			return true
		}
		n, piece, ok, err := c.parser.Next(b)
		b = b[n:]
		switch {
		case err != nil:
			c.violated(err)
			return true
		case !ok:
		case piece.Op.IsControl():
			c.takeControl(piece)
		case piece.Deflate:
			c.takeDeflated(piece)
		default:
			c.takeMessage(piece)
		}
	}
	return true
}

// receivedAll ends Received, also one whose handler has panicked.
func (c *Conn) receivedAll() {
	c.mu.Lock()
	c.running = false
	ends := c.ended
	c.mu.Unlock()
	if ends {
		c.finish(true)
	}
}

// takeMessage gathers a message; one that came in one piece stays where it is.
func (c *Conn) takeMessage(p Piece) {
	if p.First && p.Last {
		c.deliver(p.Op, p.Data)
		return
	}
	if c.message == nil {
		c.message = c.o.lend()
	}
	c.message.data = append(c.message.data, p.Data...)
	if p.Last {
		whole := c.message
		c.message = nil
		c.deliver(p.Op, whole.data)
		c.o.takeBack(whole)
	}
}

// deliver gives a message to the handler, unless we have closed.
func (c *Conn) deliver(op Op, data []byte) {
	c.o.counts.in.Add(1)
	if c.handler.Message == nil || c.is(isClosing) {
		return
	}
	returned := false
	defer func() {
		if !returned { // it panicked, which is the server's to log
			c.fail(CodeInternal, "")
		}
	}()
	c.handler.Message(c, op, data)
	returned = true
}

// takeControl gathers a control frame, which is short.
func (c *Conn) takeControl(p Piece) {
	data := p.Data
	if !p.First || !p.Last {
		c.control = append(c.control, data...)
		data = c.control
	}
	if !p.Last {
		return
	}
	switch p.Op {
	case OpPing:
		c.answerPing(data)
	case OpClose:
		c.answerClose(data)
	}
	c.control = nil
}

// answerPing queues the pong. When too many wait, those in between are left out.
func (c *Conn) answerPing(data []byte) {
	c.mu.Lock()
	switch {
	case c.is(isClosing):
	case c.pongs < pongsMax:
		c.pongs++
		c.outLocked().add(finalBit|byte(OpPong), data)
	default:
		if c.pong != nil {
			c.o.counts.pongs.Add(1)
		}
		c.pong = append(make([]byte, 0, controlMax), data...)
	}
	c.unlockAndWake()
}

// answerClose ends the closing handshake, whoever began it.
func (c *Conn) answerClose(data []byte) {
	code, reason, err := ParseClose(data)
	if err != nil {
		c.violated(err)
		return
	}
	c.mu.Lock()
	c.state.Or(isDeaf)
	if c.code == 0 {
		c.code, c.reason = code, string(reason)
	}
	c.closeLocked(code, "")
	c.mu.Unlock()
	c.hangUp(loop.EndClean)
}

// violated closes for what the peer did wrong.
func (c *Conn) violated(err error) {
	v := Violation(0)
	errors.As(err, &v)
	c.o.counts.violations.Add(1)
	c.fail(v.Code(), v.reason())
}

// fail closes without waiting for the peer's answer. What waits is still written.
func (c *Conn) fail(code Code, reason string) {
	c.mu.Lock()
	c.state.Or(isDeaf)
	c.closeLocked(code, reason)
	c.mu.Unlock()
	c.hangUp(loop.EndClean)
}
