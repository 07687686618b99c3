// SPDX-License-Identifier: MIT

//go:build linux

package server_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/server"
	"m0serve.dev/http/sse"
)

// testTLS is a certificate for 127.0.0.1 and a transport that trusts it.
func testTLS(t *testing.T) (*tls.Config, *http.Transport) {
	t.Helper()
	borrowed := httptest.NewUnstartedServer(nil)
	borrowed.StartTLS()
	defer borrowed.Close()
	roots := x509.NewCertPool()
	roots.AddCert(borrowed.Certificate())
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true,
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &tls.Config{Certificates: borrowed.TLS.Certificates}, transport
}

func get(t *testing.T, transport *http.Transport, url string) (*http.Response, string) {
	t.Helper()
	res, err := (&http.Client{Transport: transport, Timeout: 20 * time.Second}).Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(body)
}

func TestTLSServesTheSameHandlersByHTTP2(t *testing.T) {
	for _, cfg := range []server.Config{
		{HTTP: http.HandlerFunc(echoStd)}, {Handler: server.HandlerFunc(echoNative)},
	} {
		var transport *http.Transport
		cfg.TLS, transport = testTLS(t)
		cfg.MaxBody = 1000
		s, addr := start(t, cfg)
		if res, body := get(t, transport, "https://"+addr+"/big/70000"); res.ProtoMajor != 2 ||
			len(body) != 70_000 || res.TLS.Version < tls.VersionTLS12 {
			t.Errorf("GET = %s, %d bytes, TLS %x; want HTTP/2 and 70000 bytes",
				res.Proto, len(body), res.TLS.Version)
		}
		old := &http.Transport{TLSClientConfig: transport.TLSClientConfig.Clone(),
			DisableKeepAlives: true, TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{}}
		old.TLSClientConfig.NextProtos = []string{"http/1.1"}
		if res, _ := get(t, old, "https://"+addr+"/status/201"); res.ProtoMajor != 1 ||
			res.StatusCode != 201 {
			t.Errorf("GET without h2 = %s %d; want HTTP/1.1 201", res.Proto, res.StatusCode)
		}
		client := &http.Client{Transport: transport}
		res, err := client.Post("https://"+addr+"/echo", "text/plain",
			strings.NewReader(strings.Repeat("x", 1001)))
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("POST beyond MaxBody = %d; want 413", res.StatusCode)
		}
		transport.CloseIdleConnections()
		if err := s.Shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown = %v", err)
		}
	}
}

func TestTLSIsOneDotTwoAtLeast(t *testing.T) {
	cfg, transport := testTLS(t)
	cfg.MinVersion = tls.VersionTLS10
	_, addr := start(t, server.Config{HTTP: http.HandlerFunc(echoStd), TLS: cfg})
	old := transport.TLSClientConfig.Clone()
	old.MinVersion, old.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	conn, err := tls.Dial("tcp", addr, old)
	if err == nil {
		_ = conn.Close()
		t.Fatal("a client of TLS 1.1 was served")
	}
	if !strings.Contains(err.Error(), "protocol version") {
		t.Errorf("a client of TLS 1.1 hears %v; want its version named", err)
	}
}

// TestSevenStreamsOnOneConnection: what stops the seventh tab over HTTP/1.1 is no
// limit here.
func TestSevenStreamsOnOneConnection(t *testing.T) {
	const streams = 7
	hub := sse.NewHub(sse.HubConfig{Bus: bus.Local()})
	hub.Start()
	cfg, transport := testTLS(t)
	var accepted atomic.Int64
	s, addr := start(t, server.Config{
		TLS: cfg, Accepted: func(int) bool { accepted.Add(1); return true },
		HTTP: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if err := hub.Hold(w, r, sse.HoldOptions{Channels: []string{"c"}}); err != nil {
				t.Error(err)
			}
		}),
	})
	s.OnDrain(func() { hub.Drain(time.Millisecond, 0) })
	var bodies []*bufio.Reader
	for i := range streams {
		res, err := (&http.Client{Transport: transport}).Get("https://" + addr + "/")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = res.Body.Close() })
		if res.ProtoMajor != 2 {
			t.Fatalf("stream %d is %s; want HTTP/2", i, res.Proto)
		}
		bodies = append(bodies, bufio.NewReader(res.Body))
		readUntil(t, bodies[i], ":\n") // it is open
	}
	if _, err := hub.PublishEvent("c", sse.Event{Data: "to all"}); err != nil {
		t.Fatal(err)
	}
	for _, body := range bodies {
		readUntil(t, body, "data: to all\n")
	}
	if n := accepted.Load(); n != 1 {
		t.Errorf("%d connections for %d streams; want 1", n, streams)
	}
	if err := s.Shutdown(t.Context()); err != nil {
		t.Errorf("Shutdown with %d held streams = %v", streams, err)
	}
	for i, body := range bodies {
		rest, err := io.ReadAll(body)
		if err == nil || !bytes.Contains(rest, []byte("retry: ")) {
			t.Errorf("stream %d ended with %v behind %q; want it cut behind a retry", i, err, rest)
		}
	}
}

// TestStreamOfHTTP10IsCutOverTLS: a goodbye of TLS would be a clean end to a client
// that knows no chunks.
func TestStreamOfHTTP10IsCutOverTLS(t *testing.T) {
	hub := sse.NewHub(sse.HubConfig{Bus: bus.Local()})
	hub.Start()
	cfg, transport := testTLS(t)
	s, addr := start(t, server.Config{TLS: cfg,
		HTTP: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if err := hub.Hold(w, r, sse.HoldOptions{Channels: []string{"c"}}); err != nil {
				t.Error(err)
			}
		})})
	s.OnDrain(func() { hub.Drain(time.Millisecond, 0) })
	conn, err := tls.Dial("tcp", addr, transport.TLSClientConfig)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET / HTTP/1.0\r\nHost: a\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	body := bufio.NewReader(conn)
	readUntil(t, body, ":\n")
	if err := s.Shutdown(t.Context()); err != nil {
		t.Errorf("Shutdown = %v", err)
	}
	if rest, err := io.ReadAll(body); err == nil {
		t.Errorf("the stream ended cleanly behind %q; want it reset", rest)
	}
}

func readUntil(t *testing.T, r *bufio.Reader, want string) {
	t.Helper()
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatalf("waiting for %q: %v", want, err)
		}
		if line == want {
			return
		}
	}
}

// TestTLSConnectionsAreGivenAway: a connection that Accepted gives to another
// server is served there, handshake and all, and each end is told once.
func TestTLSConnectionsAreGivenAway(t *testing.T) {
	cfg, transport := testTLS(t)
	var closedHere, closedThere atomic.Int64
	there, _ := start(t, server.Config{TLS: cfg, HTTP: http.HandlerFunc(echoStd),
		Closed: func() { closedThere.Add(1) }})
	var asked atomic.Int64
	here, addr := start(t, server.Config{TLS: cfg, HTTP: http.HandlerFunc(echoStd),
		Closed: func() { closedHere.Add(1) },
		Accepted: func(fd int) bool {
			if asked.Add(1)%2 == 0 {
				return true
			}
			if err := there.Adopt(fd); err != nil {
				t.Error(err)
				return true
			}
			return false
		}})
	transport.DisableKeepAlives = true
	const each = 4
	for range 2 * each {
		if res, _ := get(t, transport, "https://"+addr+"/status/201"); res.StatusCode != 201 {
			t.Errorf("GET = %d; want 201", res.StatusCode)
		}
	}
	if a, b := here.Stats().Requests, there.Stats().Requests; a != each || b != each {
		t.Errorf("requests = %d here and %d there; want %d each", a, b, each)
	}
	eventually(t, "the end of every connection", func() bool {
		return closedHere.Load() >= each && closedThere.Load() >= each
	})
	if a, b := closedHere.Load(), closedThere.Load(); a != each || b != each {
		t.Errorf("ends told = %d here and %d there; want %d each", a, b, each)
	}
}

// TestDrainServesWhatWasAccepted: net/http drops a request that is on its way when
// its Shutdown begins.
func TestDrainServesWhatWasAccepted(t *testing.T) {
	cfg, transport := testTLS(t)
	s, addr := start(t, server.Config{TLS: cfg, HTTP: http.HandlerFunc(echoStd),
		DrainTimeout: 2 * time.Minute})
	conn, err := tls.Dial("tcp", addr, transport.TLSClientConfig) // of HTTP/1.1
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	drained := make(chan error, 1)
	go func() { drained <- s.Shutdown(t.Context()) }()
	eventually(t, "a refused connection", func() bool {
		late, err := net.Dial("tcp", addr)
		if err == nil {
			_ = late.Close()
		}
		return err != nil
	})
	_, err = io.WriteString(conn, "GET /status/201 HTTP/1.1\r\nHost: a\r\n\r\n")
	if err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 201 ") {
		t.Errorf("a request behind the begin of the drain = %.60q, %v; want 201 and the end",
			answer, err)
	}
	if err := <-drained; err != nil {
		t.Errorf("Shutdown = %v", err)
	}
}

func TestTLSConnectionsAreBounded(t *testing.T) {
	cfg, transport := testTLS(t)
	s, addr := start(t, server.Config{TLS: cfg, HTTP: http.HandlerFunc(echoStd), MaxConns: 1})
	first, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	if res, err := (&http.Client{Transport: transport}).Get("https://" + addr); err == nil {
		_ = res.Body.Close()
		t.Error("a second connection was served with MaxConns 1")
	}
	if n := s.Stats().DroppedConns; n == 0 {
		t.Error("DroppedConns = 0 after a connection beyond the bound")
	}
}

func TestTickRunsWithoutLoops(t *testing.T) {
	cfg, _ := testTLS(t)
	ticks := make(chan struct{}, 1)
	s, err := server.New(server.Config{TLS: cfg, HTTP: http.HandlerFunc(echoStd),
		TickEvery: time.Millisecond, Tick: func() {
			select {
			case ticks <- struct{}{}:
			default:
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		<-ticks
	}
	if err := s.Close(); err != nil { // it waits for the tick that runs
		t.Fatal(err)
	}
}

func TestWhatTLSCannotHonourIsRefused(t *testing.T) {
	cfg, _ := testTLS(t)
	for _, c := range []server.Config{{Loops: 2}, {BlockingMax: 4}} {
		c.TLS, c.HTTP = cfg, http.HandlerFunc(echoStd)
		if _, err := server.New(c); err == nil || !strings.Contains(err.Error(), "need loops") {
			t.Errorf("New(Loops %d, BlockingMax %d with TLS) = %v; want it refused",
				c.Loops, c.BlockingMax, err)
		}
	}
}

// TestPanicIsLoggedAndABadHandshakeIsNot: anybody may open a connection.
func TestPanicIsLoggedAndABadHandshakeIsNot(t *testing.T) {
	cfg, transport := testTLS(t)
	out := &lockedBuffer{}
	_, addr := start(t, server.Config{TLS: cfg, Log: slog.New(slog.NewTextHandler(out, nil)),
		HTTP: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("no ink") })})
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\n\r\n")
	_, _ = io.ReadAll(conn) // until it was refused
	_ = conn.Close()
	_, err = (&http.Client{Transport: transport}).Get("https://" + addr)
	if err == nil || errors.Is(err, io.EOF) {
		t.Errorf("GET of a handler that panics = %v; want a reset stream", err)
	}
	eventually(t, "the panic in the log", func() bool {
		return strings.Contains(out.String(), "no ink")
	})
	if text := out.String(); strings.Count(text, "level=") != 1 ||
		!strings.Contains(text, "level=ERROR") {
		t.Errorf("log = %q; want the panic alone", text)
	}
}

// lockedBuffer may be read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
