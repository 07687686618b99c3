// SPDX-License-Identifier: MIT

//go:build linux

package socket

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/grip"
	"m0serve.dev/http/loop"
	"m0serve.dev/http/server"
	"m0serve.dev/http/sse"
	"m0serve.dev/http/ws"
	"m0serve.dev/wsgi/internal/realtime"
)

// patience bounds every wait.
const patience = 10 * time.Second

// An application answers requests from inside; openings it accepts with fields.
type application struct {
	fields []realtime.Field
	answer func(x *loop.Exchange)
}

// A site is Sockets on a real server, without Python.
type site struct {
	*Sockets
	hub  *sse.Hub
	addr string
	app  application

	mu  sync.Mutex
	ask func(loop.Asking) error // in the place of the server's; nil: the server's
}

func serve(t *testing.T, app application) *site {
	t.Helper()
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	local := bus.Local()
	s := &site{hub: sse.NewHub(sse.HubConfig{Bus: local, Log: quiet}), app: app}
	s.hub.Start()
	srv, err := server.New(server.Config{Handler: server.HandlerFunc(s.handle), Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	s.Sockets = New(Config{Hub: s.hub, Log: quiet, Ask: func(a loop.Asking) error {
		s.mu.Lock()
		ask := s.ask
		s.mu.Unlock()
		if ask != nil {
			return ask(a)
		}
		return srv.Ask(a)
	}})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.addr = ln.Addr().String()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(ln) // ErrClosed
	}()
	t.Cleanup(func() {
		srv.Close()
		<-done
		local.Close()
	})
	return s
}

func (s *site) handle(x *loop.Exchange) {
	if _, inside := x.Asked(); inside {
		s.app.answer(x)
		return
	}
	o := s.Open(x, Caller{Scheme: "http"})
	if o == nil {
		return
	}
	s.Accept(o, realtime.Gather(200, "", grip.All(s.app.fields)))
}

// askWith asks fn from now on.
func (s *site) askWith(fn func(loop.Asking) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ask = fn
}

// A client is the other end of a socket.
type client struct {
	net.Conn
	t      *testing.T
	r      *bufio.Reader
	in     []byte // read and not parsed
	parser ws.Parser
}

func (s *site) open(t *testing.T) *client {
	t.Helper()
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(patience))
	c := &client{Conn: conn, t: t, r: bufio.NewReader(conn), parser: ws.Parser{FromServer: true}}
	c.write([]byte("GET /s?q HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"))
	resp, err := http.ReadResponse(c.r, nil)
	if err != nil || resp.StatusCode != 101 {
		t.Fatalf("the opening is answered by %v, %v", resp, err)
	}
	return c
}

func (c *client) write(b []byte) {
	c.t.Helper()
	if _, err := c.Write(b); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) send(text string) {
	c.t.Helper()
	c.write(ws.AppendMasked(nil, ws.OpText, true, [4]byte{}, []byte(text)))
}

// next is the payload of the next frame; "close CODE REASON" is a close.
func (c *client) next() string {
	c.t.Helper()
	var text []byte
	for {
		if len(c.in) == 0 {
			buf := make([]byte, 32<<10)
			n, err := c.r.Read(buf)
			if err != nil {
				c.t.Fatalf("read: %v, behind %.20q", err, text)
			}
			c.in = buf[:n]
		}
		n, piece, ok, err := c.parser.Next(c.in)
		if err != nil {
			c.t.Fatal(err)
		}
		c.in = c.in[n:]
		if !ok {
			continue
		}
		if text = append(text, piece.Data...); !piece.Last {
			continue
		}
		if piece.Op != ws.OpClose {
			return string(text)
		}
		code, reason, err := ws.ParseClose(text)
		if err != nil {
			c.t.Fatal(err)
		}
		return strings.TrimSpace("close " + code.String() + " " + string(reason))
	}
}

func (c *client) want(text string) {
	c.t.Helper()
	if got := c.next(); got != text {
		c.t.Fatalf("the client got %q, want %q", got, text)
	}
}

// ours accepts in our own words.
func ours(fields ...realtime.Field) []realtime.Field {
	return append(fields, realtime.Field{Name: "M0-Hold", Value: "websocket"})
}

func on(channels string) []realtime.Field {
	return ours(realtime.Field{Name: "M0-Channel", Value: channels})
}

// echo answers with what it was told.
func echo(x *loop.Exchange) {
	body, _ := x.Body()
	_, _ = x.Write(body)
}
