// SPDX-License-Identifier: MIT

//go:build linux

package asgisite

import (
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// Opcodes of RFC 6455 section 5.2.
const (
	opMore   = 0x0
	opText   = 0x1
	opBinary = 0x2
	opClose  = 0x8
	opPing   = 0x9
	opPong   = 0xA

	final = 0x80 // the FIN bit
)

const (
	sampleKey  = "dGhlIHNhbXBsZSBub25jZQ=="
	acceptGUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
)

// acceptOf is what a server answers to a key.
func acceptOf(key string) string {
	sum := sha1.Sum([]byte(key + acceptGUID))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// opening is the text of an opening handshake.
func opening(target string, headers ...string) string {
	headers = append([]string{
		"Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13",
		"Sec-WebSocket-Key: " + sampleKey,
	}, headers...)
	return request("GET", target, headers...)
}

// A socket is the client's end of a WebSocket connection.
type socket struct {
	*conn
	head *answer
}

// handshake sends an opening handshake and gives whatever comes.
func (p *probe) handshake(target string, headers ...string) (*conn, *answer) {
	c := p.dial()
	c.write(opening(target, headers...))
	return c, c.read("GET")
}

// socket opens a WebSocket.
func (p *probe) socket(target string, headers ...string) *socket {
	c := p.dial()
	c.write(opening(target, headers...))
	a := c.head("GET")
	if a.status != 101 {
		p.Fatalf("handshake for %s = %d, want 101", target, a.status)
	}
	return &socket{c, a}
}

// frame is a frame as a client sends it: masked.
func frame(first byte, payload []byte) []byte {
	out := header(first, 0x80, len(payload))
	mask := [4]byte{0x37, 0xfa, 0x21, 0x3d}
	out = append(out, mask[:]...)
	for i, b := range payload {
		out = append(out, b^mask[i%4])
	}
	return out
}

// header is the first bytes of a frame, up to the mask.
func header(first, masked byte, n int) []byte {
	switch {
	case n < 126:
		return []byte{first, masked | byte(n)}
	case n < 1<<16:
		return binary.BigEndian.AppendUint16([]byte{first, masked | 126}, uint16(n))
	}
	return binary.BigEndian.AppendUint64([]byte{first, masked | 127}, uint64(n))
}

// closing is the payload of a close frame.
func closing(code int, reason string) []byte {
	return append(binary.BigEndian.AppendUint16(nil, uint16(code)), reason...)
}

// send sends a whole message.
func (s *socket) send(op byte, payload string) { s.write(string(frame(final|op, []byte(payload)))) }

// A wsFrame is a frame of the server.
type wsFrame struct {
	final   bool
	op      byte
	payload []byte
}

// nextErr reads one frame.
func (s *socket) nextErr() (wsFrame, error) {
	var head [2]byte
	if _, err := io.ReadFull(s.r, head[:]); err != nil {
		return wsFrame{}, err
	}
	if head[0]&0x70 != 0 || head[1]&0x80 != 0 {
		return wsFrame{}, fmt.Errorf("frame head %x: reserved bits, or masked", head)
	}
	n := uint64(head[1])
	switch n {
	case 126:
		var b [2]byte
		if _, err := io.ReadFull(s.r, b[:]); err != nil {
			return wsFrame{}, err
		}
		n = uint64(binary.BigEndian.Uint16(b[:]))
	case 127:
		var b [8]byte
		if _, err := io.ReadFull(s.r, b[:]); err != nil {
			return wsFrame{}, err
		}
		n = binary.BigEndian.Uint64(b[:])
	}
	if n > 1<<30 {
		return wsFrame{}, fmt.Errorf("frame of %d bytes", n)
	}
	f := wsFrame{final: head[0]&final != 0, op: head[0] & 0xf, payload: make([]byte, n)}
	_, err := io.ReadFull(s.r, f.payload)
	return f, err
}

// messageErr reads one message, or the close frame; pings are answered.
func (s *socket) messageErr() (op byte, payload []byte, err error) {
	for {
		f, err := s.nextErr()
		if err != nil {
			return 0, nil, err
		}
		switch f.op {
		case opPing:
			s.write(string(frame(final|opPong, f.payload)))
			continue
		case opPong:
			continue
		case opClose:
			return opClose, f.payload, nil
		case opMore:
		default:
			op = f.op
		}
		if payload = append(payload, f.payload...); f.final {
			return op, payload, nil
		}
	}
}

// message reads one data message.
func (s *socket) message() (op byte, payload string) {
	op, data, err := s.messageErr()
	if err != nil {
		s.p.Fatalf("read a message: %v", err)
	}
	if op == opClose {
		s.p.Fatalf("closed with %q, want a message", data)
	}
	return op, string(data)
}

// text reads one message that has to be text.
func (s *socket) text() string {
	op, payload := s.message()
	if op != opText {
		s.p.Errorf("message %q has opcode %d, want text", short(payload), op)
	}
	return payload
}

// json reads one message into value.
func (s *socket) json(value any) {
	text := s.text()
	if err := json.Unmarshal([]byte(text), value); err != nil {
		s.p.Fatalf("message %q: %v", short(text), err)
	}
}

// end reads up to the close frame and gives its code, 1005 without one, and its
// reason; 1006 is an end without a close frame.
func (s *socket) end() (code int, reason string) {
	for {
		op, payload, err := s.messageErr()
		switch {
		case err != nil:
			return 1006, ""
		case op != opClose:
			continue
		case len(payload) == 0:
			return 1005, ""
		case len(payload) == 1:
			s.p.Errorf("close frame with one byte %x", payload)
			return 1006, ""
		}
		return int(binary.BigEndian.Uint16(payload)), string(payload[2:])
	}
}

// ended wants the connection closed with code, and answers the close frame.
func (s *socket) wantEnd(codes ...int) string {
	code, reason := s.end()
	for _, want := range codes {
		if code == want {
			_, _ = s.Write(frame(final|opClose, closing(code, "")))
			return reason
		}
	}
	s.p.Errorf("closed with %d %q, want %d", code, reason, codes)
	return reason
}

// echoed wants payload back.
func (s *socket) echoed(op byte, payload string) {
	gotOp, got := s.message()
	if gotOp != op || got != payload {
		s.p.Errorf("echo = %d %q (%d bytes), want %d %q (%d bytes)",
			gotOp, short(got), len(got), op, short(payload), len(payload))
	}
}

// hasToken says whether a header holds a token, whatever its case.
func hasToken(value, token string) bool {
	for part := range strings.SplitSeq(value, ",") {
		if strings.EqualFold(strings.TrimSpace(part), token) {
			return true
		}
	}
	return false
}
