// SPDX-License-Identifier: MIT

package clienttest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// patience bounds every wait: far above what a healthy run takes.
const patience = 10 * time.Second

// A scripted server answers the first connection with the first step, and so
// on; the last step answers all that come after it. It writes bytes and knows
// nothing of HTTP.
type scripted struct {
	url   string
	heads chan string // of the requests, in order
}

// A step answers one request and closes the connection.
type step func(c *net.TCPConn)

func serve(t *testing.T, steps ...step) *scripted {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return serveOn(t, ln, steps...)
}

func serveOn(t *testing.T, ln net.Listener, steps ...step) *scripted {
	s := &scripted{url: "http://" + ln.Addr().String(), heads: make(chan string, 64)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			var head strings.Builder
			for r := bufio.NewReader(conn); !strings.HasSuffix(head.String(), "\r\n\r\n"); {
				line, err := r.ReadString('\n')
				if err != nil {
					break
				}
				head.WriteString(line)
			}
			s.heads <- head.String()
			steps[min(i, len(steps)-1)](conn.(*net.TCPConn))
			conn.Close()
		}
	}()
	t.Cleanup(func() {
		ln.Close()
		<-done
	})
	return s
}

// head waits for the next request.
func (s *scripted) head(t *testing.T) string {
	t.Helper()
	select {
	case h := <-s.heads:
		return h
	case <-time.After(patience):
		t.Fatal("no request came")
		return ""
	}
}

// field is the value of a header field, "" when it is missing.
func field(head, name string) string {
	for _, line := range strings.Split(head, "\r\n") {
		if n, v, _ := strings.Cut(line, ":"); strings.EqualFold(n, name) {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

const streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"

func chunk(s string) string {
	if s == "" {
		return ""
	}
	return fmt.Sprintf("%x\r\n%s\r\n", len(s), s)
}

func raw(s string) step {
	return func(c *net.TCPConn) { _, _ = io.WriteString(c, s) }
}

// clean ends the stream with its last chunk; cut breaks it off before that.
func clean(body string) step {
	return raw(streamHead + "Transfer-Encoding: chunked\r\n\r\n" + chunk(body) + "0\r\n\r\n")
}

func cut(body string) step {
	return raw(streamHead + "Transfer-Encoding: chunked\r\n\r\n" + chunk(body))
}

// reset breaks off by RST.
func reset(s string) step {
	return func(c *net.TCPConn) {
		raw(s)(c)
		_ = c.SetLinger(0)
	}
}

func status(line string) step {
	return raw("HTTP/1.1 " + line + "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
}

// open sends body and keeps the stream open until its client leaves.
func open(body string, left chan<- struct{}) step {
	return func(c *net.TCPConn) {
		raw(streamHead + "Transfer-Encoding: chunked\r\n\r\n" + chunk(body))(c)
		_, _ = io.Copy(io.Discard, c)
		left <- struct{}{}
	}
}

func event(text string) string {
	return "event: datastar-patch-elements\ndata: elements " + text + "\n\n"
}

// noSleep makes waits take no time.
func noSleep(context.Context, time.Duration) {}

func openTab(t *testing.T, cfg Config) *Tab {
	t.Helper()
	tab := Open(cfg)
	t.Cleanup(tab.Close)
	return tab
}

func next(t *testing.T, tab *Tab) Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	e, err := tab.Next(ctx)
	if err != nil {
		t.Fatalf("Next() = %v; want an event", err)
	}
	return e
}

// ended reads to the end of the tab and returns why it ended.
func ended(t *testing.T, tab *Tab) *EndError {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		_, err := tab.Next(ctx)
		var end *EndError
		if errors.As(err, &end) {
			return end
		}
		if err != nil {
			t.Fatalf("Next() = %v; want the end of the tab", err)
		}
	}
}

// nobody is an address that refuses connections, until the test listens there.
func nobody(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}
