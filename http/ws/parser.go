// SPDX-License-Identifier: MIT

package ws

import "encoding/binary"

// A Parser takes the frames of one direction of a connection apart as their bytes
// arrive, cut anywhere. It keeps no payload: pieces are given out as they come, in
// place. The zero value is a server's, without bounds.
//
// An error is a Violation, found at the first byte that shows it, and final.
type Parser struct {
	MaxFrame   int64 // payload bytes of a data frame; 0: no bound
	MaxMessage int64 // payload bytes of a message; 0: no bound
	FromServer bool  // frames are a server's, unmasked
	Deflate    bool  // messages may be compressed; their text is not checked then

	left    int64 // payload bytes of the current frame to come
	size    int64 // payload bytes of the message announced so far
	key     uint32
	failed  Violation
	op      Op // of the current frame
	message Op // of the message that is not whole; 0: none
	final   bool
	packed  bool // the message is compressed
	inside  bool // a payload is expected
	fresh   bool // nothing of the message or control frame was given out
	have    uint8
	head    [headMax]byte // the part of a head that has arrived
	text    textCheck
}

// A Piece is a part of one message or control frame.
type Piece struct {
	Op      Op     // of the message; never OpContinuation
	First   bool   // nothing came before
	Last    bool   // nothing comes behind
	Deflate bool   // it is compressed (RFC 7692)
	Data    []byte // part of the input, unmasked; may be empty
}

// Next takes bytes off the start of b: n of them, at least one unless b is empty.
// ok says that they have made a piece; otherwise call again with what is left, or
// with more.
func (p *Parser) Next(b []byte) (n int, piece Piece, ok bool, err error) {
	if p.failed != 0 {
		return 0, Piece{}, false, p.failed
	}
	if !p.inside {
		if n = p.takeHead(b); p.failed != 0 {
			return n, Piece{}, false, p.failed
		}
		if !p.inside || p.left > 0 && n == len(b) {
			return n, Piece{}, false, nil
		}
	}
	data := b[n:]
	if int64(len(data)) > p.left {
		data = data[:p.left]
	}
	if len(data) == 0 && p.left > 0 {
		return n, Piece{}, false, nil
	}
	n += len(data)
	p.left -= int64(len(data))
	if !p.FromServer {
		p.key = mask(data, p.key)
	}
	piece, v := p.cut(data)
	if v != 0 {
		p.failed = v
		return n, Piece{}, false, v
	}
	return n, piece, true, nil
}

// cut makes data, payload of the current frame, a piece.
func (p *Parser) cut(data []byte) (piece Piece, v Violation) {
	piece = Piece{Op: p.op, First: p.fresh, Last: p.left == 0 && p.final, Data: data}
	p.fresh = false
	p.inside = p.left > 0
	if p.op.IsControl() {
		return piece, 0
	}
	piece.Op, piece.Deflate = p.message, p.packed
	if p.message == OpText && !p.packed && (!p.text.write(data) || piece.Last && !p.text.isWhole()) {
		return piece, ErrText
	}
	if piece.Last {
		p.message, p.size = 0, 0
	}
	return piece, 0
}

// takeHead takes bytes of a head; when it is whole, the payload is next. Each part
// of it is judged when it is there.
func (p *Parser) takeHead(b []byte) (n int) {
	for p.have < 2 || p.have < p.headLen() {
		if n == len(b) {
			return n
		}
		p.head[p.have] = b[n]
		p.have++
		n++
		switch p.have {
		case 1:
			p.failed = p.judgeFirst(p.head[0])
		case 2:
			p.failed = p.judgeSecond(p.head[1])
		}
		if p.failed != 0 {
			return n
		}
	}
	p.failed = p.beginFrame()
	return n
}

// headLen is the length of the head whose first two bytes are there.
func (p *Parser) headLen() uint8 {
	n := uint8(2)
	switch p.head[1] & sizeBits {
	case size16:
		n += 2
	case size64:
		n += 8
	}
	if !p.FromServer {
		n += 4
	}
	return n
}

func (p *Parser) judgeFirst(first byte) Violation {
	op, reserved := Op(first&opBits), first&reservedBits
	if p.Deflate && op.opensMessage() {
		reserved &^= deflateBit
	}
	switch {
	case reserved != 0 || !op.isKnown():
		return ErrReserved
	case op.IsControl():
		if first&finalBit == 0 {
			return ErrControl
		}
	case (op == OpContinuation) != (p.message != 0):
		return ErrSequence
	}
	return 0
}

func (p *Parser) judgeSecond(second byte) Violation {
	switch {
	case (second&maskBit == 0) != p.FromServer:
		return ErrMask
	case Op(p.head[0]&opBits).IsControl() && second&sizeBits > controlMax:
		return ErrControl
	}
	return 0
}

// beginFrame reads the head, which is whole.
func (p *Parser) beginFrame() Violation {
	at, size := 2, uint64(p.head[1]&sizeBits)
	switch size {
	case size16:
		if size = uint64(binary.BigEndian.Uint16(p.head[2:])); size < size16 {
			return ErrLength
		}
		at = 4
	case size64:
		if size = binary.BigEndian.Uint64(p.head[2:]); size < 1<<16 || size >= 1<<63 {
			return ErrLength
		}
		at = 10
	}
	p.left = int64(size)
	p.op, p.final = Op(p.head[0]&opBits), p.head[0]&finalBit != 0
	p.key = binary.LittleEndian.Uint32(p.head[at:])
	p.have, p.inside = 0, true
	switch {
	case p.op.IsControl():
		p.fresh = true
		return 0
	case p.op != OpContinuation:
		p.message, p.fresh, p.text = p.op, true, textCheck{}
		p.packed = p.head[0]&deflateBit != 0
	}
	return p.judgeSize()
}

// packedSlack is what a compressed message may be longer than it is plain, besides an
// eighth: fixed codes have nine bits for a byte.
const packedSlack = 64

func (p *Parser) judgeSize() Violation {
	most := p.MaxMessage
	if p.packed && p.MaxMessage > 0 {
		most = min(most, 1<<61)
		most += most/8 + packedSlack // whoever inflates it has the bound that counts
	}
	switch {
	case p.MaxFrame > 0 && p.left > p.MaxFrame:
		return ErrFrameSize
	case most > 0 && p.left > most-p.size:
		return ErrMessageSize
	case p.left > 1<<62-p.size:
		return ErrMessageSize // the sum would not fit
	}
	p.size += p.left
	return 0
}
