// SPDX-License-Identifier: MIT

package ws

import (
	"encoding/binary"
	"math/bits"
)

// An Op is the opcode of a frame (RFC 6455, section 5.2).
type Op uint8

// The opcodes there are.
const (
	OpContinuation Op = 0
	OpText         Op = 1
	OpBinary       Op = 2
	OpClose        Op = 8
	OpPing         Op = 9
	OpPong         Op = 10
)

// IsControl reports whether o is a close, ping or pong.
func (o Op) IsControl() bool { return o >= OpClose }

// opensMessage reports whether o begins a message.
func (o Op) opensMessage() bool { return o == OpText || o == OpBinary }

// isKnown reports whether o is not reserved.
func (o Op) isKnown() bool { return o <= OpBinary || o >= OpClose && o <= OpPong }

// The bits of a frame's first two bytes.
const (
	finalBit     = 0x80
	reservedBits = 0x70
	deflateBit   = 0x40 // RSV1: the message is compressed (RFC 7692, section 6)
	opBits       = 0x0f
	maskBit      = 0x80
	sizeBits     = 0x7f

	size16     = 126 // the length follows in two bytes
	size64     = 127 // … in eight
	controlMax = 125 // payload of a control frame
	headMax    = 14
)

// headLen is how long the head of an unmasked frame of n bytes is.
func headLen(n int) int {
	switch {
	case n < size16:
		return 2
	case n < 1<<16:
		return 4
	}
	return 10
}

// AppendFrame appends a frame as a server sends it, unmasked. Only a control
// frame's payload is bounded by the protocol: it panics when that is longer than
// 125 bytes or fin is false, which is the caller's mistake.
func AppendFrame(dst []byte, op Op, fin bool, payload []byte) []byte {
	return append(appendHead(dst, firstByte(op, fin, len(payload)), 0, len(payload)), payload...)
}

// AppendMasked appends a frame as a client sends it.
func AppendMasked(dst []byte, op Op, fin bool, key [4]byte, payload []byte) []byte {
	first := firstByte(op, fin, len(payload))
	dst = append(appendHead(dst, first, maskBit, len(payload)), key[:]...)
	at := len(dst)
	dst = append(dst, payload...)
	mask(dst[at:], binary.LittleEndian.Uint32(key[:]))
	return dst
}

// firstByte is the first byte of a frame with n bytes of payload.
func firstByte(op Op, fin bool, n int) byte {
	if op.IsControl() && (n > controlMax || !fin) {
		panic("ws: a control frame is longer than 125 bytes, or a fragment")
	}
	if fin {
		return finalBit | byte(op)
	}
	return byte(op)
}

func appendHead(dst []byte, first, masked byte, n int) []byte {
	switch headLen(n) {
	case 2:
		return append(dst, first, masked|byte(n))
	case 4:
		return binary.BigEndian.AppendUint16(append(dst, first, masked|size16), uint16(n))
	}
	return binary.BigEndian.AppendUint64(append(dst, first, masked|size64), uint64(n))
}

// mask combines b with the key, whose first byte is the lowest of key, and returns
// the key for the byte behind b (RFC 6455, section 5.3). It is its own inverse.
func mask(b []byte, key uint32) uint32 {
	wide := uint64(key)<<32 | uint64(key)
	for len(b) >= 32 {
		part := b[:32:32]
		for i := 0; i < 32; i += 8 {
			binary.LittleEndian.PutUint64(part[i:], binary.LittleEndian.Uint64(part[i:])^wide)
		}
		b = b[32:]
	}
	for len(b) >= 8 {
		binary.LittleEndian.PutUint64(b, binary.LittleEndian.Uint64(b)^wide)
		b = b[8:]
	}
	for i := range b {
		b[i] ^= byte(key)
		key = bits.RotateLeft32(key, -8)
	}
	return key
}
