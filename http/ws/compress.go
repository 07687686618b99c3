// SPDX-License-Identifier: MIT

package ws

import (
	"compress/flate"
	"math"

	"m0serve.dev/http/ws/internal/inflate"
)

// Compression is permessage-deflate (RFC 7692). The zero value is a good one:
// nothing is remembered between two messages, so an idle socket costs what it costs
// without compression. What we send never refers to earlier messages: what many are
// sent is compressed once.
type Compression struct {
	// Level is that of package compress/flate, 1 (fast) to 9 (small); 0: 1.
	Level int
	// LeastBytes is how long a message has to be to be compressed; 128. Shorter
	// ones, and those that do not become smaller, are sent as they are.
	LeastBytes int
	// ClientContext lets the messages of a client refer to its earlier ones, for
	// which each of its sockets keeps up to 32 KiB.
	ClientContext bool
}

func (z *Compression) level() int {
	if z.Level < flate.BestSpeed || z.Level > flate.BestCompression {
		return flate.BestSpeed
	}
	return z.Level
}

func (z *Compression) leastBytes() int {
	if z.LeastBytes <= 0 {
		return 128
	}
	return z.LeastBytes
}

// flushed ends what a flush gives. It does not travel (RFC 7692, section 7.2.1).
const flushed = "\x00\x00\xff\xff"

// A deflater compresses messages. It is large, and lent for the time of one.
type deflater struct {
	w   *flate.Writer
	out []byte
}

// Write implements io.Writer for w.
func (d *deflater) Write(b []byte) (int, error) {
	d.out = append(d.out, b...)
	return len(b), nil
}

// deflate appends data, compressed for a client whose window has so many bits.
func (o *Options) deflate(dst, data []byte, bits uint8) []byte {
	d, _ := o.deflaters.Get().(*deflater)
	if d == nil {
		d = &deflater{}
		d.w, _ = flate.NewWriter(d, o.Compression.level()) // there is that level
	}
	d.out = dst
	// The writer's window is 32 KiB: it begins anew before it can reach further back
	// than the client remembers.
	for window := 1 << bits; len(data) > 0; {
		n := len(data)
		if bits < windowBitsMax {
			n = min(n, window)
		}
		d.w.Reset(d)
		_, _ = d.w.Write(data[:n]) // d takes everything
		_ = d.w.Flush()
		data = data[n:]
	}
	dst, d.out = d.out[:len(d.out)-len(flushed)], nil
	o.deflaters.Put(d)
	return dst
}

// An inflating is a compressed message that is not whole.
type inflating struct {
	inflate.Inflater
	text textCheck
	from int // where the message begins in its buffer; before it is what it refers to
}

// An earlier is the end of the messages of a client, in clear.
type earlier struct{ messages []byte }

// takeDeflated gathers a compressed message. Its text is checked as far as it goes,
// and its bound is that of what comes out.
func (c *Conn) takeDeflated(p Piece) {
	if p.First {
		c.beginDeflated()
	}
	z, b := c.inflating, c.message
	checked, err := len(b.data), error(nil)
	b.data, err = z.Append(b.data, p.Data, z.bound(c.o))
	if err == nil && p.Last && !z.IsBetween() {
		b.data, err = z.Append(b.data, []byte(flushed), z.bound(c.o))
		if err == nil && !z.IsBetween() {
			err = inflate.ErrDamaged
		}
	}
	text := p.Op != OpText || z.text.write(b.data[checked:]) && (!p.Last || z.text.isWhole())
	switch {
	case !text:
		c.violated(ErrText)
	case err == inflate.ErrTooLong:
		c.violated(ErrMessageSize)
	case err != nil:
		c.violated(ErrDeflate)
	case p.Last:
		c.endDeflated(p.Op)
		return
	default:
		return
	}
	c.inflating, c.message = nil, nil // its memory goes before the connection does
}

// bound is how long the buffer may become.
func (z *inflating) bound(o *Options) int {
	if most := o.messageBytes(); most > 0 && most <= math.MaxInt-int64(z.from) {
		return z.from + int(most)
	}
	return math.MaxInt
}

func (c *Conn) beginDeflated() {
	z, _ := c.o.inflaters.Get().(*inflating)
	if z == nil {
		z = &inflating{}
	}
	z.Reset()
	c.inflating, c.message = z, c.o.lend()
	if c.earlier != nil {
		c.message.data = append(c.message.data, c.earlier.messages...)
	}
	z.text, z.from = textCheck{}, len(c.message.data)
}

// endDeflated delivers the message that is whole.
func (c *Conn) endDeflated(op Op) {
	z, b := c.inflating, c.message
	c.inflating, c.message = nil, nil
	message := b.data[z.from:]
	c.o.inflaters.Put(z)
	if c.earlier != nil {
		window := b.data[max(0, len(b.data)-1<<c.agreed.clientBits):]
		c.earlier.messages = append(c.earlier.messages[:0], window...)
	}
	c.o.counts.inflated.Add(1)
	c.deliver(op, message)
	c.o.takeBack(b)
}
