// SPDX-License-Identifier: MIT

//go:build linux

package gripsite

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Opcodes of RFC 6455, section 5.2.
const (
	opText   = 1
	opBinary = 2
	opClose  = 8
	opPing   = 9
	opPong   = 10
)

// A socket is a client of RFC 6455 that does no more than the tests need.
type socket struct {
	net.Conn
	r    *bufio.Reader
	said []string // frames as they came, to be shown
}

// shake sends an opening handshake and gives the answer.
func (s *site) shake(t *testing.T, path string, headers ...string) (*socket, *http.Response) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(3 * patience))
	host := strings.TrimPrefix(s.url, "http://")
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n%s\r\n",
		path, host, strings.Join(append(headers, ""), "\r\n"))
	w := &socket{Conn: conn, r: bufio.NewReader(conn)}
	resp, err := http.ReadResponse(w.r, nil)
	if err != nil {
		t.Fatalf("handshake of %s: %v", path, err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("wire of %s: %s %v\n%q", path, resp.Status, resp.Header, w.said)
		}
	})
	return w, resp
}

// dial opens a socket.
func (s *site) dial(t *testing.T, path string) *socket {
	t.Helper()
	w, resp := s.shake(t, path)
	if resp.StatusCode != 101 {
		body, _ := io.ReadAll(io.LimitReader(resp.Body, 300))
		t.Fatalf("handshake of %s = %s %q, want 101", path, resp.Status, body)
	}
	const accept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" // of the key above
	if got := resp.Header.Get("Sec-WebSocket-Accept"); got != accept {
		t.Fatalf("Sec-WebSocket-Accept %q, want %q", got, accept)
	}
	wantNoGrip(t, resp.Header)
	if ext := resp.Header.Get("Sec-WebSocket-Extensions"); ext != "" {
		t.Errorf("extensions %q, want none: grip is between the proxy and the project", ext)
	}
	return w
}

// send sends one frame, masked with zeros.
func (w *socket) send(op byte, text string) {
	frame := []byte{0x80 | op}
	switch n := len(text); {
	case n < 126:
		frame = append(frame, 0x80|byte(n))
	case n < 1<<16:
		frame = binary.BigEndian.AppendUint16(append(frame, 0x80|126), uint16(n))
	default:
		frame = binary.BigEndian.AppendUint64(append(frame, 0x80|127), uint64(n))
	}
	frame = append(frame, 0, 0, 0, 0)
	_, _ = w.Write(append(frame, text...))
}

// message reads one message, whole; a server may send it in fragments.
func (w *socket) message(t *testing.T) (op byte, text string) {
	t.Helper()
	_ = w.SetReadDeadline(time.Now().Add(patience))
	for {
		first, part, err := w.frame()
		if err != nil {
			t.Fatalf("no frame: %v", err)
		}
		w.said = append(w.said, fmt.Sprintf("%#x %s", first, short(part)))
		if first&0x70 != 0 {
			t.Fatalf("frame %#x has reserved bits", first)
		}
		if first&0x0f != 0 {
			op = first & 0x0f
		}
		text += part
		if first&0x80 != 0 {
			return op, text
		}
	}
}

func (w *socket) frame() (first byte, text string, err error) {
	var head [2]byte
	if _, err := io.ReadFull(w.r, head[:]); err != nil {
		return 0, "", err
	}
	n := uint64(head[1])
	switch n {
	case 126:
		var b [2]byte
		_, err = io.ReadFull(w.r, b[:])
		n = uint64(binary.BigEndian.Uint16(b[:]))
	case 127:
		var b [8]byte
		_, err = io.ReadFull(w.r, b[:])
		n = binary.BigEndian.Uint64(b[:])
	}
	if err != nil || n > 1<<26 {
		return 0, "", fmt.Errorf("length %d: %v", n, err)
	}
	body := make([]byte, n)
	_, err = io.ReadFull(w.r, body)
	return head[0], string(body), err
}

// wants waits for text messages of exactly these texts.
func (w *socket) wants(t *testing.T, texts ...string) {
	t.Helper()
	for i, want := range texts {
		if op, got := w.message(t); op != opText || got != want {
			t.Fatalf("message %d of %d is %d %q, want %q", i+1, len(texts), op, short(got), short(want))
		}
	}
}

// settled makes sure that the project has answered the handshake whole, and so that
// its subscriptions are in force: a ping that comes back is behind it.
func (w *socket) settled(t *testing.T) {
	t.Helper()
	w.send(opPing, "settled")
	if op, got := w.message(t); op != opPong || got != "settled" {
		t.Fatalf("a ping was answered by %d %q", op, got)
	}
}

// still fails the test when a message comes within quiet.
func (w *socket) still(t *testing.T) {
	t.Helper()
	_ = w.SetReadDeadline(time.Now().Add(quiet))
	if b, err := w.r.Peek(1); err == nil {
		t.Fatalf("a frame %#x came where none was due", b)
	}
}

// closed waits for a close frame and gives its code, 0 when it has none.
func (w *socket) closed(t *testing.T) (code int, reason string) {
	t.Helper()
	op, text := w.message(t)
	if op != opClose {
		t.Fatalf("message %d %q, want a close", op, short(text))
	}
	if len(text) < 2 {
		return 0, ""
	}
	return int(binary.BigEndian.Uint16([]byte(text))), text[2:]
}

// hangUp sends a close of a code.
func (w *socket) hangUp(code int, reason string) {
	w.send(opClose, string([]byte{byte(code >> 8), byte(code)})+reason)
}
