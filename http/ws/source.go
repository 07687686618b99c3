// SPDX-License-Identifier: MIT

package ws

import (
	"time"

	"m0serve.dev/http/loop"
)

// park joins c to what moves its bytes.
func (c *Conn) park(held loop.Held) {
	c.mu.Lock()
	c.held = held
	c.mu.Unlock()
	c.o.counts.opened.Add(1)
	if every := c.o.pingEvery(); every > 0 {
		held.(loop.Alarm).Alarm(every) // that of a loop.Conversation has one
	}
}

// Next implements loop.Source: as much of what waits as can be written at once.
func (c *Conn) Next() []byte {
	data, drained := c.take()
	if drained && c.handler.Drained != nil {
		c.handler.Drained(c)
	}
	return data
}

// take is the next piece of the queue; drained says that it was long until now.
func (c *Conn) take() (data []byte, drained bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	full := c.is(isFull)
	data = c.nextLocked()
	if c.ended || c.queuedLocked() > c.o.queueBytes()/2 {
		return data, false
	}
	c.state.And(^uint32(isFull))
	return data, full
}

func (c *Conn) nextLocked() []byte {
	if c.flying != nil {
		if data := c.flying.next(); data != nil {
			return data
		}
	}
	c.o.takeBack(c.flying)
	c.flying = nil
	if c.ended {
		return nil
	}
	if c.pong != nil && !c.is(isClosing) {
		c.outLocked().add(finalBit|byte(OpPong), c.pong)
	}
	c.pong, c.pongs = nil, 0
	if c.out == nil {
		return nil
	}
	c.flying, c.out = c.out, nil
	return c.flying.next()
}

// Paused implements loop.Conversation.
func (c *Conn) Paused() bool {
	state := c.state.Load()
	return state&(isDeaf|isClosing) == 0 && state&(isPaused|isFull) != 0
}

// Kept implements loop.Conversation.
func (c *Conn) Kept() bool { return len(c.kept) > 0 }

// Late implements loop.Conversation: a silent peer is pinged, and given up when it
// stays silent or does not answer a close.
func (c *Conn) Late() {
	c.mu.Lock()
	if c.ended {
		c.mu.Unlock()
		return
	}
	next := c.o.pingTimeout()
	switch {
	case c.is(isClosing):
		c.o.counts.closeTimeouts.Add(1)
		next = 0
	case c.heard || c.is(isPaused):
		next = c.o.pingEvery()
		c.pinged = false
	case c.pinged:
		c.o.counts.pingTimeouts.Add(1)
		next = 0
	default:
		c.pinged = true
		c.outLocked().add(finalBit|byte(OpPing), nil)
	}
	c.heard = false
	if next == 0 {
		c.state.Or(isDeaf)
		c.dropLocked()
	} else {
		c.held.(loop.Alarm).Alarm(next) // with mu: a Close that comes now has the last word
	}
	c.unlockAndWake()
	if next == 0 {
		c.hangUp(loop.EndCut)
	}
}

// Drain implements loop.Conversation.
func (c *Conn) Drain() {
	if c.state.Or(isDrained)&isDrained != 0 {
		return // a drain asks again and again
	}
	_ = c.Close(CodeRestart, "") // ErrClosed: it ends already
	c.mu.Lock()
	defer c.mu.Unlock()
	if alarm, ok := c.held.(loop.Alarm); ok && !c.ended {
		alarm.Alarm(min(c.o.closeTimeout(), drainWait))
	}
}

// drainWait is how long a drain waits for the peer's answer to a close.
const drainWait = time.Second

// Closed implements loop.Source.
func (c *Conn) Closed(loop.Reason) {
	c.mu.Lock()
	c.ended = true
	c.state.Or(isDeaf)
	c.dropLocked()
	c.o.takeBack(c.flying)
	c.flying = nil
	running, m := c.running, c.member
	c.mu.Unlock()
	if m != nil {
		m.hub.part(m)
	}
	if !running { // else Received does it
		c.finish(c.blocks)
	}
}

// finish calls the handler's Closed, once. here says that it may block the caller.
func (c *Conn) finish(here bool) {
	c.mu.Lock()
	first := !c.finished
	c.finished = true
	code, reason := c.code, c.reason
	c.mu.Unlock()
	if !first {
		return
	}
	if code == 0 {
		code = CodeAbnormal
	}
	c.o.counts.closed.Add(1)
	switch {
	case c.handler.Closed == nil:
	case here:
		c.handler.Closed(c, code, reason)
	default:
		go c.handler.Closed(c, code, reason)
	}
}
