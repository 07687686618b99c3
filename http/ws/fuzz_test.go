// SPDX-License-Identifier: MIT

package ws_test

import (
	"bytes"
	"compress/flate"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"m0serve.dev/http/ws"
)

// FuzzParser: input means the same however it is cut, and what is accepted is in
// the limits.
func FuzzParser(f *testing.F) {
	for _, c := range allCases() {
		if len(c.send) < 200 {
			f.Add(c.send, uint8(len(c.send)/2))
		}
	}
	f.Fuzz(func(t *testing.T, input []byte, cut uint8) {
		if len(input) == 0 {
			return
		}
		whole := parse(input, len(input))
		at := 1 + int(cut)%len(input)
		if got := parse(input, at); got != whole {
			t.Errorf("%x cut at %d: %s, whole %s", input, at, got, whole)
		}
		if got := parse(input, 0); got != whole {
			t.Errorf("%x byte by byte: %s, whole %s", input, got, whole)
		}
	})
}

// FuzzConn gives a connection whatever a peer may send: it answers in whole frames
// of a server, and with nothing behind a close.
func FuzzConn(f *testing.F) {
	for _, c := range allCases() {
		if len(c.send) < 200 {
			f.Add(c.send, false)
		}
	}
	f.Fuzz(func(t *testing.T, input []byte, pause bool) {
		o := &ws.Options{MessageBytes: 1000}
		c, _ := parked(ws.Handler{Message: func(c *ws.Conn, op ws.Op, data []byte) {
			if err := c.Send(op, data); err != nil && err != ws.ErrFull {
				t.Errorf("echo of %q: %v", data, err)
			}
			if pause {
				c.Pause()
				c.Resume()
			}
		}}, o)
		for len(input) > 0 {
			n := min(len(input), 7)
			c.Received(append([]byte(nil), input[:n]...))
			input = input[n:]
		}
		answer, closed := take(c), false
		p := ws.Parser{FromServer: true}
		for len(answer) > 0 {
			n, piece, ok, err := p.Next(answer)
			answer = answer[n:]
			if err != nil || !ok || closed {
				t.Fatalf("answer: %v, whole %v, behind a close %v", err, ok, closed)
			}
			closed = piece.Op == ws.OpClose
			if closed {
				if _, _, err := ws.ParseClose(piece.Data); err != nil {
					t.Errorf("we close with %q: %v", piece.Data, err)
				}
			}
			if strings.Contains(string(piece.Data), "\xff") && piece.Op == ws.OpText {
				t.Errorf("we send %q as text", piece.Data)
			}
		}
	})
}

// FuzzDeflate gives a connection whatever a peer may send as compressed: it comes back
// as the standard library inflates it, or the connection ends.
func FuzzDeflate(f *testing.F) {
	for name, data := range payloads() {
		f.Add(squeezed(f, string(data[:1000])), uint16(300), name == "noise")
	}
	for _, seed := range []string{"\xf2\x48\xcd\xc9\xc9\x07\x00", "\x00", "", "\x07",
		"\xf3\x48\xcd\xc9\xc9\x07\x00\x00", "\x04\x00\x12\x00", "\x00\x05\x00\xfa\xffHello\x00"} {
		f.Add([]byte(seed), uint16(len(seed)/2), false)
	}
	f.Fuzz(func(t *testing.T, input []byte, cut uint16, binary bool) {
		const most = 10_000
		var heard []byte
		c, _ := parkedWith(ws.Handler{Message: func(_ *ws.Conn, op ws.Op, data []byte) {
			heard = append([]byte{}, data...)
			if len(data) > most || op == ws.OpText && !utf8.Valid(data) {
				t.Errorf("delivered %d bytes %.80q", len(data), data)
			}
		}}, &ws.Options{MessageBytes: most, Compression: &ws.Compression{}}, offered)
		first, at := byte(0x41), int(cut)%(len(input)+1)
		if binary {
			first = 0x42
		}
		c.Received(frame(first, input[:at]))
		c.Received(frame(0x80, input[at:]))
		answer := take(c)
		if (heard == nil) != bytes.HasPrefix(answer, []byte{0x88}) {
			t.Errorf("answer %q, delivered %v", answer, heard != nil)
		}
		const end = tail + "\x01\x00\x00\xff\xff"
		theirs, err := io.ReadAll(flate.NewReader(strings.NewReader(string(input) + end)))
		if err == nil && heard != nil && !bytes.HasPrefix(heard, theirs) {
			t.Errorf("delivered %.80q, want %.80q", heard, theirs)
		}
	})
}
