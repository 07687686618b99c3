// SPDX-License-Identifier: MIT

package ws_test

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"m0serve.dev/http/internal/both"
	"m0serve.dev/http/ws"
)

// A peer is a client that speaks raw bytes. It knows nothing of the codec under
// test: it makes and reads frames by itself.
type peer struct {
	t testing.TB
	net.Conn
	in *bufio.Reader
}

const key = "dGhlIHNhbXBsZSBub25jZQ=="

func newPeer(t testing.TB, c net.Conn) *peer {
	t.Cleanup(func() { _ = c.Close() })
	p := &peer{t: t, Conn: c, in: bufio.NewReaderSize(c, 64<<10)}
	p.patience(10 * time.Second)
	return p
}

// open sends an opening handshake with more field lines.
func (p *peer) open(path, more string) {
	p.t.Helper()
	p.raw([]byte("GET " + path + " HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n" +
		"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " + key +
		"\r\n" + more + "\r\n"))
}

// dialRaw connects and opens, without a look at the answer.
func dialRaw(t testing.TB, addr, path, more string) *peer {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	p := newPeer(t, c)
	p.open(path, more)
	return p
}

// dial opens a WebSocket.
func dial(t testing.TB, addr, path string) *peer {
	t.Helper()
	p := dialRaw(t, addr, path, "")
	if res := p.response(); res.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("opening %s: status %d, want 101", path, res.StatusCode)
	}
	return p
}

func (p *peer) patience(d time.Duration) { _ = p.SetDeadline(time.Now().Add(d)) }

func (p *peer) response() *http.Response {
	p.t.Helper()
	res, err := http.ReadResponse(p.in, nil)
	if err != nil {
		p.t.Fatalf("answer to the opening: %v", err)
	}
	return res
}

func (p *peer) raw(b []byte) {
	p.t.Helper()
	if _, err := p.Write(b); err != nil {
		p.t.Fatalf("send: %v", err)
	}
}

// frame makes a masked frame; first is its first byte.
func frame(first byte, payload []byte) []byte {
	return frameWith(first, lengthOf(payload), payload)
}

// lengthOf is the shortest length field, as a client sends it.
func lengthOf(payload []byte) []byte {
	switch n := len(payload); {
	case n < 126:
		return []byte{0x80 | byte(n)}
	case n < 1<<16:
		return binary.BigEndian.AppendUint16([]byte{0xfe}, uint16(n))
	default:
		return binary.BigEndian.AppendUint64([]byte{0xff}, uint64(n))
	}
}

func frameWith(first byte, length, payload []byte) []byte {
	mask := [4]byte{0x37, 0xfa, 0x21, 0x3d}
	b := append(append([]byte{first}, length...), mask[:]...)
	at := len(b)
	b = append(b, payload...)
	for i := range payload {
		b[at+i] ^= mask[i%4]
	}
	return b
}

// A got is a frame of the server.
type got struct {
	first   byte
	payload []byte
}

func (g got) String() string {
	if len(g.payload) > 40 {
		return fmt.Sprintf("%#x [%d] %q…", g.first, len(g.payload), g.payload[:40])
	}
	return fmt.Sprintf("%#x %q", g.first, g.payload)
}

// read reads the next frame, which has to be unmasked and of least length.
func (p *peer) read() (g got, err error) {
	var head [2]byte
	if _, err = io.ReadFull(p.in, head[:]); err != nil {
		return g, err
	}
	if head[1]&0x80 != 0 {
		return g, fmt.Errorf("the server masks")
	}
	size, least := uint64(head[1]), uint64(0)
	var ext [8]byte
	switch size {
	case 126:
		_, err = io.ReadFull(p.in, ext[6:])
		size, least = binary.BigEndian.Uint64(ext[:]), 126
	case 127:
		_, err = io.ReadFull(p.in, ext[:])
		size, least = binary.BigEndian.Uint64(ext[:]), 1<<16
	}
	if err != nil {
		return g, err
	}
	if size < least {
		return g, fmt.Errorf("length %d is not minimal", size)
	}
	g = got{first: head[0], payload: make([]byte, size)}
	_, err = io.ReadFull(p.in, g.payload)
	return g, err
}

// closePayload is the payload of a close with a code.
func closePayload(code int, reason string) []byte {
	return append(binary.BigEndian.AppendUint16(nil, uint16(code)), reason...)
}

// A place is where the suite runs.
type place struct {
	name  string
	start func(t testing.TB, h http.Handler) (addr string)
}

var places = []place{{"loop", both.Loop}, {"net-http", both.Std}}

// echo sends every message back.
func echo(o *ws.Options) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = ws.Accept(w, r, o, ws.Handler{Message: func(c *ws.Conn, op ws.Op, data []byte) {
			_ = c.Send(op, data)
		}})
	})
}

// eachPlace runs test in each place; start serves a handler there.
func eachPlace(t *testing.T, test func(t *testing.T, start func(http.Handler) (addr string))) {
	for _, p := range places {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			test(t, func(h http.Handler) string { return p.start(t, h) })
		})
	}
}

// everywhere is eachPlace for a handler without a state of its own.
func everywhere(t *testing.T, h http.Handler, test func(t *testing.T, addr string)) {
	eachPlace(t, func(t *testing.T, start func(http.Handler) string) { test(t, start(h)) })
}

func TestEcho(t *testing.T) {
	everywhere(t, echo(&ws.Options{}), func(t *testing.T, addr string) {
		p := dial(t, addr, "/")
		p.raw(frame(0x81, []byte("hello")))
		if g, err := p.read(); g.String() != `0x81 "hello"` || err != nil {
			t.Fatalf("read = %v, %v; want hello", g, err)
		}
		p.raw(frame(0x88, closePayload(1000, "bye")))
		if g, err := p.read(); g.String() != `0x88 "\x03\xe8"` || err != nil {
			t.Fatalf("read = %v, %v; want a close with 1000", g, err)
		}
		if _, err := p.read(); err != io.EOF {
			t.Fatalf("read = %v, want EOF", err)
		}
	})
}
