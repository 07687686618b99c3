// SPDX-License-Identifier: MIT

package bus

import (
	"encoding/binary"
	"errors"
)

// The datagram, little-endian. Both ends are the same executable or one built
// from the same version; the version byte makes a mixture loud.
//
//	0     magic
//	1     version
//	2     flags: 1 = the body is in the descriptor that came along
//	3     bytes of kind
//	4–5   bytes of channel
//	6–7   zero
//	8–15  id
//	16–19 origin
//	20–23 bytes of body
//	24    channel, kind, body (unless in the descriptor), and nothing after
const (
	codecMagic    = 0xB5
	codecVersion  = 1
	codecHead     = 24
	flagLarge     = 1
	flagsKnown    = flagLarge
	datagramBytes = codecHead + MaxChannel + MaxKind + inlineBody // longest one
)

// Why a datagram is not a frame. Peers are processes of ours, so this is a
// mixture of versions or a foreign writer, never user input.
var (
	errShort    = errors.New("bus: datagram: shorter than a head")
	errMagic    = errors.New("bus: datagram: wrong magic or version")
	errFlags    = errors.New("bus: datagram: unknown flag or reserved bits")
	errLimits   = errors.New("bus: datagram: name or body over its limit")
	errNameless = errors.New("bus: datagram: no channel name")
	errLength   = errors.New("bus: datagram: length differs from its head")
)

// appendFrame appends the datagram of f. A large frame leaves its body out.
func appendFrame(dst []byte, f *Frame, large bool) []byte {
	var head [codecHead]byte
	head[0], head[1] = codecMagic, codecVersion
	if large {
		head[2] = flagLarge
	}
	head[3] = byte(len(f.Kind))
	binary.LittleEndian.PutUint16(head[4:], uint16(len(f.Channel)))
	binary.LittleEndian.PutUint64(head[8:], f.ID)
	binary.LittleEndian.PutUint32(head[16:], f.Origin)
	binary.LittleEndian.PutUint32(head[20:], uint32(len(f.Body)))
	dst = append(dst, head[:]...)
	dst = append(dst, f.Channel...)
	dst = append(dst, f.Kind...)
	if large {
		return dst
	}
	return append(dst, f.Body...)
}

// view is a decoded datagram; its slices lie in the receive buffer.
type view struct {
	id      uint64
	origin  uint32
	channel []byte
	kind    []byte
	body    []byte // nil when large
	bytes   int    // of the body
	large   bool
}

// decode reads one datagram. It accepts exactly what appendFrame writes.
func decode(data []byte) (view, error) {
	if len(data) < codecHead {
		return view{}, errShort
	}
	if data[0] != codecMagic || data[1] != codecVersion {
		return view{}, errMagic
	}
	if data[2]&^flagsKnown != 0 || data[6] != 0 || data[7] != 0 {
		return view{}, errFlags
	}
	v := view{
		id:     binary.LittleEndian.Uint64(data[8:]),
		origin: binary.LittleEndian.Uint32(data[16:]),
		large:  data[2]&flagLarge != 0,
	}
	channel := int(binary.LittleEndian.Uint16(data[4:]))
	kind := int(data[3])
	body := binary.LittleEndian.Uint32(data[20:])
	switch {
	case channel == 0:
		return view{}, errNameless
	case channel > MaxChannel, body > MaxBody:
		return view{}, errLimits
	}
	v.bytes = int(body)
	rest := data[codecHead:]
	want := channel + kind
	if !v.large {
		want += v.bytes
	}
	if len(rest) != want {
		return view{}, errLength
	}
	v.channel, v.kind = rest[:channel], rest[channel:channel+kind]
	if !v.large {
		v.body = rest[channel+kind:]
	}
	return v, nil
}
