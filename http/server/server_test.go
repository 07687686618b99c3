// SPDX-License-Identifier: MIT

package server_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"m0serve.dev/http/internal/both"
	"m0serve.dev/http/server"
)

// start serves cfg on a loopback port until the test ends.
func start(t testing.TB, cfg server.Config) (*server.Server, string) {
	t.Helper()
	return both.Start(t, cfg)
}

// dial opens a connection that fails the test rather than hang.
func dial(t testing.TB, addr string) (net.Conn, *bufio.Reader) {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatalf("Dial: %v", err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatalf("SetDeadline: %v", err)
	}
	return c, bufio.NewReader(c)
}

func send(t testing.TB, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatalf("Write(%.40q): %v", text, err)
	}
}

// answer reads one response to method and its body.
func answer(t testing.TB, r *bufio.Reader, method string) (*http.Response, string) {
	t.Helper()
	res, err := http.ReadResponse(r, &http.Request{Method: method})
	if err != nil {
		t.Fatalf("ReadResponse: %v", err)
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("body of the answer: %v after %.60q", err, body)
	}
	return res, string(body)
}

func hello(x *server.Exchange) {
	_ = x.Field("Content-Type", "text/plain")
	_, _ = x.WriteString("Hello, World!")
}

func TestNativeHello(t *testing.T) {
	_, addr := start(t, server.Config{Handler: server.HandlerFunc(hello)})
	c, r := dial(t, addr)
	for range 3 {
		send(t, c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
		res, body := answer(t, r, "GET")
		if res.StatusCode != 200 || body != "Hello, World!" || res.Header.Get("Date") == "" {
			t.Errorf("answer = %d %q %v, want 200, Hello, a Date", res.StatusCode, body, res.Header)
		}
	}
}

func TestStdHello(t *testing.T) {
	_, addr := start(t, server.Config{HTTP: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, "%s %s %s", r.Method, r.URL.Path, r.URL.RawQuery)
		})})
	res, err := http.Get("http://" + addr + "/a/b?c=d")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || string(body) != "GET /a/b c=d" || res.ContentLength != 12 {
		t.Errorf("answer = %q, %v, length %d, want GET /a/b c=d, 12", body, err, res.ContentLength)
	}
	if got := res.Header.Get("Content-Type"); !strings.HasPrefix(got, "text/plain") {
		t.Errorf("Content-Type = %q, want a guess of text/plain", got)
	}
}

func TestShutdownOfAnIdleServer(t *testing.T) {
	s, addr := start(t, server.Config{Handler: server.HandlerFunc(hello)})
	c, r := dial(t, addr)
	send(t, c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	answer(t, r, "GET")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		t.Fatalf("Shutdown = %v, want nil", err)
	}
	if n, err := r.ReadByte(); err != io.EOF {
		t.Errorf("after Shutdown an idle connection gave %v, %v, want EOF", n, err)
	}
	if _, err := net.Dial("tcp", addr); err == nil {
		t.Errorf("Dial after Shutdown succeeded, want refused")
	}
}

// quietLog is for tests that make the server complain.
func quietLog() *slog.Logger { return slog.New(slog.DiscardHandler) }
