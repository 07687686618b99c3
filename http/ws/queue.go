// SPDX-License-Identifier: MIT

package ws

import "slices"

const (
	// bufferMax is how large a buffer may be that is kept for another connection.
	bufferMax = 64 << 10
	// gatherMax bounds what is copied to be written at once, gatherPieceMax one piece
	// of it: below it copying costs less than a system call.
	gatherMax      = 16 << 10
	gatherPieceMax = 2 << 10
)

// A buffer is lent to a connection that is busy: for what it gathers, and for the
// frames that wait. Those are bytes of its own and, between them, frames that other
// connections have as well.
type buffer struct {
	data   []byte
	shared []share
	bytes  int // of both, without what was written

	// Of one that is being written:
	at       int    // in data
	nth      int    // of shared
	lent     int    // bytes in the loop's hands
	gathered []byte // small pieces
}

// A share is a frame that stands in front of data[at:].
type share struct {
	at    int
	frame []byte
}

// lend returns an empty buffer.
func (o *Options) lend() *buffer {
	if b, ok := o.buffers.Get().(*buffer); ok {
		return b
	}
	return &buffer{data: make([]byte, 0, 512)}
}

// takeBack ends a loan; nil is none.
func (o *Options) takeBack(b *buffer) {
	if b == nil || cap(b.data) > bufferMax || cap(b.shared) > bufferMax/64 {
		return
	}
	clear(b.shared)
	*b = buffer{data: b.data[:0], shared: b.shared[:0], gathered: b.gathered}
	o.buffers.Put(b)
}

// add appends a frame of its own; first is its first byte.
func (b *buffer) add(first byte, payload []byte) {
	before := len(b.data)
	b.data = append(appendHead(b.data, first, 0, len(payload)), payload...)
	b.bytes += len(b.data) - before
}

// share appends a frame that others have too.
func (b *buffer) share(frame []byte) {
	b.shared = append(b.shared, share{len(b.data), frame})
	b.bytes += len(frame)
}

// waiting is how many shared frames are not in the loop's hands; nil has none.
func (b *buffer) waiting() int {
	if b == nil {
		return 0
	}
	return len(b.shared) - b.nth
}

// dropOldest gives up the oldest of those.
func (b *buffer) dropOldest() {
	b.bytes -= len(b.shared[b.nth].frame)
	b.shared = slices.Delete(b.shared, b.nth, b.nth+1)
}

// forget gives up everything that is not in the loop's hands.
func (b *buffer) forget() {
	b.at, b.nth, b.bytes = len(b.data), len(b.shared), b.lent
}

// next is what to write next, nil at the end. What it gave before is written.
func (b *buffer) next() []byte {
	b.bytes -= b.lent
	piece := b.piece()
	if next := b.peek(); next != nil && len(piece)+len(next) <= gatherPieceMax {
		b.gathered = append(b.gathered[:0], piece...)
		for next != nil && len(next) <= gatherPieceMax && len(b.gathered)+len(next) <= gatherMax {
			b.gathered = append(b.gathered, b.piece()...)
			next = b.peek()
		}
		piece = b.gathered
	}
	b.lent = len(piece)
	return piece
}

// piece takes one piece.
func (b *buffer) piece() []byte {
	piece := b.peek()
	if b.isShared() {
		b.nth++
	} else {
		b.at += len(piece)
	}
	return piece
}

func (b *buffer) isShared() bool { return b.nth < len(b.shared) && b.shared[b.nth].at == b.at }

// peek is the next piece, nil at the end.
func (b *buffer) peek() []byte {
	switch {
	case b.isShared():
		return b.shared[b.nth].frame
	case b.at == len(b.data):
		return nil
	case b.nth < len(b.shared):
		return b.data[b.at:b.shared[b.nth].at]
	}
	return b.data[b.at:]
}
