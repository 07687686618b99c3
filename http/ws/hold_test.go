// SPDX-License-Identifier: MIT

package ws_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"m0serve.dev/http/internal/both"
	"m0serve.dev/http/loop"
	"m0serve.dev/http/server"
	"m0serve.dev/http/ws"
)

// wantText reads one text message.
func (p *peer) wantText(want string) {
	p.t.Helper()
	if g, err := p.read(); err != nil || g.first != 0x81 || string(g.payload) != want {
		p.t.Fatalf("read = %v, %v; want the text %q", g, err, want)
	}
}

// wantEnd reads a close frame with a code, answers it when asked to, and awaits
// the end of the connection.
func (p *peer) wantEnd(code int, answer bool) {
	p.t.Helper()
	if g, err := p.read(); err != nil || g.first != 0x88 ||
		!strings.HasPrefix(string(g.payload), string(closePayload(code, ""))) {
		p.t.Fatalf("read = %v, %v; want a close with %d", g, err, code)
	}
	if answer {
		p.raw(frame(0x88, closePayload(code, "")))
	}
	if g, err := p.read(); err != io.EOF {
		p.t.Fatalf("behind the close: %v, %v; want EOF", g, err)
	}
}

func awaitString(t testing.TB, from <-chan string, want string) {
	t.Helper()
	select {
	case got := <-from:
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	case <-time.After(10 * time.Second):
		t.Errorf("nothing came, want %q", want)
	}
}

// awaitStats awaits that a gauge of s is 0.
func awaitStats(t *testing.T, s *server.Server, name string, gauge func(server.Stats) int64) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for n := gauge(s.Stats()); n != 0; n = gauge(s.Stats()) {
		if time.Now().After(deadline) {
			t.Fatalf("Stats().%s = %d, want 0", name, n)
		}
		runtime.Gosched()
	}
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// accept is an http.Handler for one Handler.
func accept(o *ws.Options, h ws.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = ws.Accept(w, r, o, h)
	})
}

// TestBlockingMessage: a Message that blocks holds up its own connection alone,
// keeps the order there, and what it sent before it blocked is on its way. The
// rounds go from takeovers to a route that starts off the loop.
func TestBlockingMessage(t *testing.T) {
	const rounds = 8
	release := make(chan struct{})
	var inside, overlaps atomic.Int32
	h := accept(&ws.Options{}, ws.Handler{Message: func(c *ws.Conn, _ ws.Op, data []byte) {
		switch s := string(data); s {
		case "block":
			if inside.Add(1) != 1 {
				overlaps.Add(1)
			}
			_ = c.SendText("blocked")
			<-release
			_ = c.SendText("released")
			inside.Add(-1)
		default:
			_ = c.SendText(s)
		}
	}})
	everywhere(t, h, func(t *testing.T, addr string) {
		if strings.HasSuffix(t.Name(), "net-http") {
			t.Skip("net/http has a goroutine for each; the loop is what can be held up")
		}
		slow, quick := dial(t, addr, "/"), dial(t, addr, "/")
		for range rounds {
			slow.raw(join(txt(0x81, "block"), txt(0x81, "behind")))
			slow.raw(txt(0x81, "far behind"))
			slow.wantText("blocked")
			for i := range 5 {
				quick.raw(txt(0x81, fmt.Sprint(i)))
				quick.wantText(fmt.Sprint(i))
				slow.raw(txt(0x81, fmt.Sprint("late ", i))) // the loop hears of the next echo behind it
			}
			release <- struct{}{}
			slow.wantText("released")
			slow.wantText("behind")
			slow.wantText("far behind")
			for i := range 5 {
				slow.wantText(fmt.Sprint("late ", i))
			}
		}
		if n := overlaps.Load(); n != 0 {
			t.Errorf("Message ran %d times while it ran", n)
		}
	})
}

// TestPeerLeavesWhileMessageBlocks: Closed comes once, and behind Message.
func TestPeerLeavesWhileMessageBlocks(t *testing.T) {
	const rounds = 8 // what is early by chance is not each time
	told := make(chan string, 4)
	release := make(chan struct{})
	s, addr := both.Start(t, server.Config{HTTP: accept(nil, ws.Handler{
		Message: func(c *ws.Conn, _ ws.Op, _ []byte) {
			told <- "message"
			<-release
			told <- fmt.Sprint("sent ", c.SendText("x"))
		},
		Closed: func(_ *ws.Conn, code ws.Code, _ string) { told <- "closed " + code.String() },
	})})
	for range rounds {
		p := dial(t, addr, "/")
		p.raw(txt(0x81, "go"))
		awaitString(t, told, "message")
		_ = p.Conn.(*net.TCPConn).SetLinger(0)
		_ = p.Close() // a reset
		awaitStats(t, s, "Conns", func(stats server.Stats) int64 { return stats.Conns })
		release <- struct{}{}
		awaitString(t, told, "sent "+ws.ErrClosed.Error())
		awaitString(t, told, "closed 1006")
	}
}

func TestMessageThatPanics(t *testing.T) {
	for _, how := range []string{"panic", "exit"} {
		ended := make(chan string, 1)
		h := accept(&ws.Options{}, ws.Handler{
			Message: func(c *ws.Conn, _ ws.Op, data []byte) {
				switch string(data) {
				case "panic":
					panic("as asked")
				case "exit":
					runtime.Goexit()
				}
				_ = c.Send(ws.OpText, data)
			},
			Closed: func(_ *ws.Conn, code ws.Code, _ string) { ended <- code.String() },
		})
		s, addr := both.Start(t, server.Config{HTTP: h, Log: quiet()})
		other := dial(t, addr, "/")
		p := dial(t, addr, "/")
		p.raw(join(txt(0x81, "before"), txt(0x81, how), txt(0x81, "behind")))
		p.wantText("before")
		p.wantEnd(1011, false)
		_ = p.Close()
		awaitString(t, ended, "1011")
		other.raw(txt(0x81, "alive"))
		other.wantText("alive")
		awaitStats(t, s, "OffLoop", func(stats server.Stats) int64 { return stats.OffLoop })
		if n := s.Stats().Panics; how == "panic" && n != 1 {
			t.Errorf("Stats().Panics = %d, want 1", n)
		}
	}
}

// TestMessageThatPanicsOverNetHTTP: the close comes all the same.
func TestMessageThatPanicsOverNetHTTP(t *testing.T) {
	ended := make(chan string, 1)
	s := httptest.NewUnstartedServer(accept(nil, ws.Handler{
		Message: func(*ws.Conn, ws.Op, []byte) { panic(http.ErrAbortHandler) },
		Closed:  func(_ *ws.Conn, code ws.Code, _ string) { ended <- code.String() },
	}))
	s.Start()
	defer s.Close()
	p := dial(t, s.Listener.Addr().String(), "/")
	p.raw(txt(0x81, "go"))
	if g, err := p.read(); err != nil || string(g.payload) != "\x03\xf3" {
		t.Errorf("read = %v, %v; want a close with 1011", g, err)
	}
	awaitString(t, ended, "1011")
}

// TestAcceptLate: a handler may take its time, on the loop or off it, and what the
// client sends meanwhile is not lost.
func TestAcceptLate(t *testing.T) {
	decide := make(chan struct{})
	native := server.HandlerFunc(func(x *server.Exchange) {
		if string(x.Request().Path) == "/late" {
			<-decide
		}
		if err := ws.AcceptExchange(x, nil, echoHandler); err != nil {
			t.Errorf("AcceptExchange = %v", err)
		}
	})
	std := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/late" {
			<-decide
		}
		if err := ws.Accept(w, r, nil, echoHandler); err != nil {
			t.Errorf("Accept = %v", err)
		}
	})
	for name, cfg := range map[string]server.Config{
		"native": {Handler: native}, "std": {HTTP: std},
		"native off the loop": {Handler: native, Takeover: -1},
	} {
		_, addr := both.Start(t, cfg)
		for _, path := range []string{"/", "/late"} {
			p := dialRaw(t, addr, path, "")
			p.raw(join(txt(0x81, "early"), txt(0x01, "half")))
			if path == "/late" {
				decide <- struct{}{}
			}
			if res := p.response(); res.StatusCode != 101 {
				t.Fatalf("%s %s: status %d", name, path, res.StatusCode)
			}
			p.wantText("early")
			p.raw(txt(0x80, " and half"))
			p.wantText("half and half")
		}
	}
}

// TestEarlyFrames: a client that does not wait for the 101 at all.
func TestEarlyFrames(t *testing.T) {
	everywhere(t, echo(nil), func(t *testing.T, addr string) {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n"+
			"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: "+key+
			"\r\n\r\n"+string(join(txt(0x81, "early"), txt(0x88, "\x03\xe8"))))
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		all, err := io.ReadAll(c)
		if !strings.HasSuffix(string(all), "\r\n\r\n\x81\x05early\x88\x02\x03\xe8") || err != nil {
			t.Errorf("read %q, %v; want the 101, the echo and the close", all, err)
		}
	})
}

// TestDrain: sockets are closed with 1012, and the drain waits for the peers.
func TestDrain(t *testing.T) {
	ended := make(chan string, 2)
	s, addr := both.Start(t, server.Config{DrainTimeout: 30 * time.Second, HTTP: accept(
		&ws.Options{CloseTimeout: 300 * time.Millisecond}, ws.Handler{
			Closed: func(_ *ws.Conn, code ws.Code, _ string) { ended <- code.String() },
		})})
	polite, silent := dial(t, addr, "/"), dial(t, addr, "/")
	done := make(chan error, 1)
	go func() { done <- s.Shutdown(context.Background()) }()
	polite.wantEnd(1012, true)
	_ = polite.Close()
	silent.wantEnd(1012, false)
	_ = silent.Close()
	for range 2 {
		awaitString(t, ended, "1012")
	}
	if err := <-done; err != nil {
		t.Errorf("Shutdown = %v", err)
	}
}

// TestDrainOverNetHTTP: the end of the server's base context is the drain.
func TestDrainOverNetHTTP(t *testing.T) {
	base, stop := context.WithCancel(context.Background())
	s := httptest.NewUnstartedServer(echo(nil))
	s.Config.BaseContext = func(net.Listener) context.Context { return base }
	s.Start()
	defer s.Close()
	p := dial(t, s.Listener.Addr().String(), "/")
	stop()
	p.wantEnd(1012, true)
}

// TestSlowReader: a peer that sends much before it reads its echoes is slowed down
// and gets all of them.
func TestSlowReader(t *testing.T) {
	const messages, size = 1000, 8 << 10
	o := &ws.Options{QueueBytes: 64 << 10}
	everywhere(t, echo(o), func(t *testing.T, addr string) {
		p := dial(t, addr, "/")
		p.patience(30 * time.Second)
		payload := strings.Repeat("s", size)
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			for range messages {
				if _, err := p.Write(txt(0x81, payload)); err != nil {
					t.Errorf("send: %v", err)
					return
				}
			}
		}()
		for i := range messages {
			if g, err := p.read(); err != nil || len(g.payload) != size {
				t.Fatalf("echo %d = %v, %v", i, g, err)
			}
		}
		<-sent
		if n := o.Stats().Overflows; n != 0 {
			t.Errorf("Overflows = %d, want none: the peer is slowed down instead", n)
		}
	})
}

// TestOverflowOnTheWire: many messages to a peer that does not read end in 1013
// behind whole frames.
func TestOverflowOnTheWire(t *testing.T) {
	eachPlace(t, func(t *testing.T, start func(http.Handler) string) {
		opened := make(chan *ws.Conn, 1)
		p := dial(t, start(accept(&ws.Options{QueueBytes: 256 << 10}, ws.Handler{
			Open: func(c *ws.Conn) { opened <- c }})), "/")
		c := <-opened
		payload := make([]byte, 32<<10)
		sent := 0
		for ; ; sent++ {
			if err := c.Send(ws.OpBinary, payload); err != nil {
				if err != ws.ErrFull {
					t.Errorf("Send = %v, want ErrFull", err)
				}
				break
			}
		}
		for i := 0; ; i++ {
			g, err := p.read()
			if err != nil {
				t.Fatalf("frame %d: %v", i, err)
			}
			if g.first == 0x88 {
				if string(g.payload) != "\x03\xf5too slow" || i > sent {
					t.Errorf("behind %d of %d frames %v, want a close with 1013", i, sent, g)
				}
				return
			}
		}
	})
}

// TestPauseOnTheWire: a paused connection is not read from, and goes on in order.
func TestPauseOnTheWire(t *testing.T) {
	type paused struct {
		c    *ws.Conn
		text string
	}
	eachPlace(t, func(t *testing.T, start func(http.Handler) string) {
		got := make(chan paused, 1)
		h := ws.Handler{Message: func(c *ws.Conn, _ ws.Op, data []byte) {
			c.Pause()
			got <- paused{c, string(data)}
		}}
		p := dial(t, start(accept(nil, h)), "/")
		p.raw(join(txt(0x81, "0"), txt(0x81, "1")))
		for i := range 6 {
			if i >= 2 {
				p.raw(txt(0x81, fmt.Sprint(i)))
			}
			var m paused
			select {
			case m = <-got:
			case <-time.After(5 * time.Second):
				t.Fatalf("message %d did not come", i)
			}
			if m.text != fmt.Sprint(i) {
				t.Fatalf("message %d = %q", i, m.text)
			}
			select {
			case m := <-got:
				t.Fatalf("%q came in a pause", m.text)
			default:
			}
			m.c.Resume()
		}
		p.raw(txt(0x88, "\x03\xe8"))
		p.wantEnd(1000, false)
	})
}

func TestSilentPeerIsCut(t *testing.T) {
	o := &ws.Options{PingEvery: 20 * time.Millisecond, PingTimeout: 500 * time.Millisecond}
	eachPlace(t, func(t *testing.T, start func(http.Handler) string) {
		ended := make(chan string, 1)
		p := dial(t, start(accept(o, ws.Handler{
			Closed: func(_ *ws.Conn, code ws.Code, _ string) { ended <- code.String() }})), "/")
		for range 2 { // it answers, and lives
			if g, err := p.read(); err != nil || g.first != 0x89 {
				t.Fatalf("read = %v, %v; want a ping", g, err)
			}
			p.raw(txt(0x8a, ""))
		}
		if g, err := p.read(); err != nil || g.first != 0x89 {
			t.Fatalf("read = %v, %v; want a ping", g, err)
		}
		if g, err := p.read(); err != io.EOF {
			t.Fatalf("a peer that is silent: %v, %v; want EOF", g, err)
		}
		_ = p.Close()
		awaitString(t, ended, "1006")
	})
}

// TestTLS: over net/http it works behind TLS as well.
func TestTLS(t *testing.T) {
	s := httptest.NewTLSServer(echo(nil))
	defer s.Close()
	c, err := tls.Dial("tcp", s.Listener.Addr().String(), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	p := newPeer(t, c)
	p.open("/", "")
	if res := p.response(); res.StatusCode != 101 {
		t.Fatalf("status %d", res.StatusCode)
	}
	p.raw(txt(0x81, "secret"))
	p.wantText("secret")
	p.raw(txt(0x88, "\x03\xe8"))
	p.wantEnd(1000, false)
}

// TestSendFromManyGoroutines: frames never mix, and every message arrives.
func TestSendFromManyGoroutines(t *testing.T) {
	const senders, each = 8, 200
	h := accept(nil, ws.Handler{Open: func(c *ws.Conn) {
		var all sync.WaitGroup
		for range senders {
			all.Go(func() {
				for i := range each {
					_ = c.SendText(fmt.Sprint(i))
				}
			})
		}
		go func() {
			all.Wait()
			_ = c.Close(ws.CodeNormal, "")
		}()
	}})
	everywhere(t, h, func(t *testing.T, addr string) {
		p, seen := dial(t, addr, "/"), 0
		for {
			g, err := p.read()
			if err != nil {
				t.Fatalf("behind %d messages: %v", seen, err)
			}
			if g.first == 0x88 {
				break
			}
			seen++
		}
		if seen != senders*each {
			t.Errorf("%d messages, want %d", seen, senders*each)
		}
	})
}

var _ loop.Conversation = (*ws.Conn)(nil)
