// SPDX-License-Identifier: MIT

// Package rawws is a WebSocket client for tests. It sends whatever it is told to,
// wrong things too, and reads strictly.
package rawws

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"m0serve.dev/http/ws"
)

// Timeout bounds every wait for the server.
const Timeout = 8 * time.Second

// key and accept are the example of RFC 6455, section 1.3.
const (
	key    = "dGhlIHNhbXBsZSBub25jZQ=="
	accept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
)

// mask is what every frame is masked with.
var mask = [4]byte{0x37, 0xfa, 0x21, 0x3d}

// A Conn is the client's end of a connection.
type Conn struct {
	net.Conn
	Head *http.Response // the server's answer, its body whole

	r       *bufio.Reader
	parser  ws.Parser
	in      []byte // read and not parsed
	message []byte
	closed  bool
}

// A Refused is an answer other than 101.
type Refused struct {
	Status int
	Fields http.Header
	Body   string
}

// Error implements error.
func (r *Refused) Error() string { return fmt.Sprintf("rawws: %d %q", r.Status, r.Body) }

// Dial opens a WebSocket at url, "http://host:port", with more field lines. Without a
// line of its own the Host is that of url. The error is a *Refused when the server
// answers anything but 101.
func Dial(url, target string, lines ...string) (*Conn, error) {
	addr := strings.TrimPrefix(url, "http://")
	conn, err := net.DialTimeout("tcp", addr, Timeout)
	if err != nil {
		return nil, err
	}
	head := []string{"GET " + target + " HTTP/1.1", "Upgrade: websocket", "Connection: Upgrade",
		"Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: " + key}
	if !strings.Contains(strings.Join(lines, "\n"), "Host: ") {
		head = append(head, "Host: "+addr)
	}
	c := &Conn{Conn: conn, r: bufio.NewReaderSize(conn, 4096), parser: ws.Parser{FromServer: true}}
	text := strings.Join(append(append(head, lines...), "", ""), "\r\n")
	if err := c.Raw([]byte(text)); err != nil {
		conn.Close()
		return nil, err
	}
	if err := c.opened(); err != nil {
		conn.Close()
		return nil, err
	}
	return c, nil
}

// opened reads the answer to the handshake.
func (c *Conn) opened() (err error) {
	_ = c.SetReadDeadline(time.Now().Add(Timeout))
	if c.Head, err = http.ReadResponse(c.r, nil); err != nil {
		return err
	}
	if c.Head.StatusCode != http.StatusSwitchingProtocols {
		body, err := io.ReadAll(c.Head.Body)
		if err != nil {
			return err
		}
		return &Refused{c.Head.StatusCode, c.Head.Header, string(body)}
	}
	if got := c.Head.Header.Get("Sec-Websocket-Accept"); got != accept {
		return fmt.Errorf("rawws: Sec-WebSocket-Accept is %q, want %q", got, accept)
	}
	return nil
}

// Raw sends bytes as they are.
func (c *Conn) Raw(b []byte) error {
	_ = c.SetWriteDeadline(time.Now().Add(Timeout))
	_, err := c.Write(b)
	return err
}

// Frame sends one frame.
func (c *Conn) Frame(op ws.Op, fin bool, data string) error {
	return c.Raw(ws.AppendMasked(nil, op, fin, mask, []byte(data)))
}

// Send sends a whole message.
func (c *Conn) Send(op ws.Op, data string) error { return c.Frame(op, true, data) }

// CloseWith sends a close frame.
func (c *Conn) CloseWith(code ws.Code, reason string) error {
	return c.Send(ws.OpClose, string([]byte{byte(code >> 8), byte(code)})+reason)
}

// A Closed is the close frame of the server.
type Closed struct {
	Code   ws.Code
	Reason string
}

// Error implements error.
func (c *Closed) Error() string { return fmt.Sprintf("rawws: closed with %v %q", c.Code, c.Reason) }

// Next reads the next message, ping or pong within d. The error is a *Closed for a
// close frame, which is answered.
func (c *Conn) Next(d time.Duration) (op ws.Op, data string, err error) {
	_ = c.SetReadDeadline(time.Now().Add(d))
	for {
		n, piece, ok, err := c.parser.Next(c.in)
		if err != nil {
			return 0, "", err
		}
		c.in = c.in[n:]
		if ok {
			c.message = append(c.message, piece.Data...)
			if piece.Last {
				data, c.message = string(c.message), nil
				return c.take(piece.Op, data)
			}
			continue
		}
		if len(c.in) > 0 {
			continue
		}
		buf := make([]byte, 4096)
		if n, err = c.r.Read(buf); err != nil {
			return 0, "", err
		}
		c.in = buf[:n]
	}
}

func (c *Conn) take(op ws.Op, data string) (ws.Op, string, error) {
	if op != ws.OpClose {
		return op, data, nil
	}
	code, reason, err := ws.ParseClose([]byte(data))
	if err != nil {
		return 0, "", err
	}
	if !c.closed {
		c.closed = true
		_ = c.Send(ws.OpClose, data) // the server may be gone
	}
	return op, data, &Closed{code, string(reason)}
}

// Text reads a text message; pings are answered and pongs passed over.
func (c *Conn) Text() (string, error) {
	for {
		op, data, err := c.Next(Timeout)
		switch {
		case err != nil:
			return "", err
		case op == ws.OpText:
			return data, nil
		case op == ws.OpPing:
			if err := c.Send(ws.OpPong, data); err != nil {
				return "", err
			}
		case op != ws.OpPong:
			return "", fmt.Errorf("rawws: opcode %d, %q; want a text", op, data)
		}
	}
}

// End reads up to the server's close frame, and the end of the connection behind it.
func (c *Conn) End() (code ws.Code, reason string, err error) {
	for {
		_, _, err := c.Next(Timeout)
		var closed *Closed
		switch {
		case errors.As(err, &closed):
			_ = c.SetReadDeadline(time.Now().Add(Timeout))
			if _, err := c.r.ReadByte(); err != io.EOF {
				return closed.Code, closed.Reason, fmt.Errorf("rawws: behind the close: %v", err)
			}
			return closed.Code, closed.Reason, nil
		case err == io.EOF:
			return ws.CodeAbnormal, "", nil
		case err != nil:
			return 0, "", err
		}
	}
}

// Silent fails when anything comes within d.
func (c *Conn) Silent(d time.Duration) error {
	op, data, err := c.Next(d)
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return nil
	}
	return fmt.Errorf("rawws: opcode %d, %q, %v; want silence", op, data, err)
}
