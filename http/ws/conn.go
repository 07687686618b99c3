// SPDX-License-Identifier: MIT

package ws

import (
	"errors"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"m0serve.dev/http/loop"
)

// The errors of Send and Close.
var (
	ErrClosed = errors.New("ws: the connection is closing or closed")
	ErrFull   = errors.New("ws: the queue of the connection is full")
)

// A Handler is what an application does with its connections. Each part may be nil.
type Handler struct {
	// Open is called by Accept, before the client hears that it is accepted and
	// before anything else. It may Send, and is the place to keep the Conn.
	Open func(c *Conn)
	// Message is called with every message, in order and one at a time. It may
	// block. data is valid, and may be changed, until it returns. A panic closes
	// with CodeInternal.
	Message func(c *Conn, op Op, data []byte)
	// Drained is called when the queue, which a Send has made longer than half its
	// bound (Conn.IsFull), is short again. It must not block, nor call the Conn.
	Drained func(c *Conn)
	// Closed is called once, when the connection is gone and Message has returned
	// for the last time. code and reason are those of whoever closed first;
	// CodeAbnormal when nobody did. It may block.
	Closed func(c *Conn, code Code, reason string)
}

// A Conn is one WebSocket of a server. Its exported methods may be called from any
// goroutine and never block; those of loop.Conversation are for the loop.
//
// The fields in front of mu belong to whoever runs Received, mu guards the others.
type Conn struct {
	o       *Options
	handler Handler
	agreed  agreement // on compression; it does not change
	parser  Parser
	message *buffer // pieces of a message that is not whole
	control []byte  // the same of a control frame
	kept    []byte  // input behind a pause, own memory

	inflating *inflating // the message is compressed
	earlier   *earlier   // nil without Compression.ClientContext

	mu       sync.Mutex
	held     loop.Held // nil until the connection is parked
	out      *buffer   // frames that wait
	flying   *buffer   // frames that the loop is writing
	pong     []byte    // payload of the last ping, when pongs waits enough already
	pongs    int       // in out
	code     Code      // 0: nobody has closed
	reason   string
	state    atomic.Uint32 // may be read without mu
	heard    bool          // the peer sent something since Late last looked
	pinged   bool          // … and was pinged then
	running  bool          // Received runs
	ended    bool          // Closed was called
	finished bool          // … and the handler's will be, or was
	blocks   bool          // over net/http: the goroutine of the connection waits
	member   *member       // of a Hub; nil: of none
}

// The bits of state.
const (
	isPaused  = 1 << iota // Pause was called
	isClosing             // our close frame is in out, or was
	isDeaf                // nothing of the peer is listened to any more
	isFull                // the queue is above its half
	isDrained             // Drain was called
)

// is reports whether a bit is set.
func (c *Conn) is(bits uint32) bool { return c.state.Load()&bits != 0 }

// pongsMax pongs may wait; from there on only the last ping is answered, which
// section 5.5.3 of RFC 6455 allows.
const pongsMax = 64

func newConn(o *Options, agreed agreement, h Handler) *Conn {
	c := &Conn{o: o, handler: h, agreed: agreed}
	c.parser.MaxFrame, c.parser.MaxMessage = o.frameBytes(), o.messageBytes()
	c.parser.Deflate = agreed.serverBits != 0
	if agreed.clientKeeps {
		c.earlier = &earlier{}
	}
	return c
}

// Send queues a message; op is OpText or OpBinary. It copies data. ErrClosed,
// ErrFull (see Options.KeepWhenFull), and ErrText when a text is not UTF-8, say
// that it will not be sent.
func (c *Conn) Send(op Op, data []byte) error {
	switch {
	case op != OpText && op != OpBinary:
		panic("ws: Send takes OpText or OpBinary")
	case op == OpText && !utf8.Valid(data):
		return ErrText
	}
	first := finalBit | byte(op)
	if c.compresses(len(data)) {
		b := c.o.lend()
		defer c.o.takeBack(b)
		if b.data = c.o.deflate(b.data, data, c.agreed.serverBits); len(b.data) < len(data) {
			first, data = first|deflateBit, b.data
		}
	}
	c.mu.Lock()
	err := c.admitLocked(headLen(len(data)) + len(data))
	if err == nil {
		c.outLocked().add(first, data)
		c.sentLocked(first)
	}
	c.unlockAndWake()
	return err
}

// compresses reports whether a message of n bytes is worth it here.
func (c *Conn) compresses(n int) bool {
	return c.agreed.serverBits != 0 && n >= c.o.Compression.leastBytes() && !c.is(isClosing|isDeaf)
}

// admitLocked says whether a message of so many bytes, as a frame, has a place.
func (c *Conn) admitLocked(n int) error {
	if c.is(isClosing | isDeaf) {
		return ErrClosed
	}
	if c.hasRoomLocked(n) {
		return nil
	}
	c.o.counts.overflows.Add(1)
	if !c.o.KeepWhenFull {
		c.overloadLocked("too slow")
	}
	return ErrFull
}

// hasRoomLocked reports whether n bytes more fit. What comes first always does.
func (c *Conn) hasRoomLocked(n int) bool {
	queued := c.queuedLocked()
	return queued == 0 || queued+n <= c.o.queueBytes()
}

// overloadLocked closes for what the peer has missed, or would.
func (c *Conn) overloadLocked(reason string) {
	c.dropLocked()
	c.closeLocked(CodeOverload, reason)
}

// sentLocked counts a message that was queued; first is its first byte.
func (c *Conn) sentLocked(first byte) {
	if c.queuedLocked() > c.o.queueBytes()/2 {
		c.state.Or(isFull)
	}
	c.o.counts.out.Add(1)
	if first&deflateBit != 0 {
		c.o.counts.deflated.Add(1)
	}
}

// SendText is Send for a string.
func (c *Conn) SendText(text string) error { return c.Send(OpText, []byte(text)) }

// Ping queues a ping, which the peer answers with a pong. data has at most 125 bytes;
// more is ErrControl.
func (c *Conn) Ping(data []byte) error { return c.sendControl(OpPing, data) }

// Pong queues a pong that answers no ping; see Ping.
func (c *Conn) Pong(data []byte) error { return c.sendControl(OpPong, data) }

func (c *Conn) sendControl(op Op, data []byte) error {
	if len(data) > controlMax {
		return ErrControl
	}
	c.mu.Lock()
	switch {
	case c.is(isClosing | isDeaf):
		c.mu.Unlock()
		return ErrClosed
	case !c.hasRoomLocked(headLen(len(data)) + len(data)):
		c.mu.Unlock()
		return ErrFull
	}
	c.outLocked().add(finalBit|byte(op), data)
	c.unlockAndWake()
	return nil
}

// Close begins the closing handshake, behind what waits to be written. Messages of
// the peer are dropped from here on. The first close counts; a later one is
// ErrClosed. A code that may not travel and a reason longer than 123 bytes are
// refused like those of AppendClose.
func (c *Conn) Close(code Code, reason string) error {
	if _, err := AppendClose(nil, code, reason); err != nil {
		return err
	}
	c.mu.Lock()
	if c.is(isClosing | isDeaf) {
		c.mu.Unlock()
		return ErrClosed
	}
	c.closeLocked(code, reason)
	c.unlockAndWake()
	return nil
}

// Pause stops the delivery of messages, and with it, as soon as what the kernel
// holds is full, the peer. Close and ping frames wait as well.
func (c *Conn) Pause() { c.setPaused(true) }

// Resume ends a Pause.
func (c *Conn) Resume() { c.setPaused(false) }

func (c *Conn) setPaused(on bool) {
	c.mu.Lock()
	if on {
		c.state.Or(isPaused)
	} else {
		c.state.And(^uint32(isPaused))
	}
	c.unlockAndWake()
}

// IsFull reports whether more than half of the queue's bound waits to be written:
// a sender that can wait does so, until Handler.Drained.
func (c *Conn) IsFull() bool { return c.is(isFull) }

// Queued is how many bytes wait to be written, those in the loop's hands included.
func (c *Conn) Queued() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.queuedLocked()
}

func (c *Conn) queuedLocked() (n int) {
	if c.out != nil {
		n += c.out.bytes
	}
	if c.flying != nil {
		n += c.flying.bytes
	}
	return n
}

// outLocked is the buffer for the next frame.
func (c *Conn) outLocked() *buffer {
	if c.out == nil {
		c.out = c.o.lend()
	}
	return c.out
}

// dropLocked gives up what waits.
func (c *Conn) dropLocked() {
	if c.flying != nil {
		c.flying.forget()
	}
	c.o.takeBack(c.out)
	c.out, c.pong, c.pongs = nil, nil, 0
}

// closeLocked queues our close frame, once, and awaits the peer's.
func (c *Conn) closeLocked(code Code, reason string) {
	if c.state.Or(isClosing)&isClosing != 0 {
		return
	}
	if c.code == 0 {
		c.code, c.reason = code, reason
	}
	b := c.outLocked()
	before := len(b.data)
	b.data, _ = AppendClose(b.data, code, reason) // code and reason were checked
	b.bytes += len(b.data) - before
	if alarm, ok := c.held.(loop.Alarm); ok && !c.is(isDeaf) {
		alarm.Alarm(c.o.closeTimeout())
	}
}

// unlockAndWake tells the loop that there is news.
func (c *Conn) unlockAndWake() {
	held := c.held
	c.mu.Unlock()
	if held != nil {
		held.Wake()
	}
}

// hangUp ends the connection once everything is written. mu is not held.
func (c *Conn) hangUp(how loop.Ending) {
	c.mu.Lock()
	held := c.held
	c.mu.Unlock()
	if held != nil {
		held.Close(how)
	}
}
