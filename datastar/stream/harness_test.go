// SPDX-License-Identifier: MIT

package stream_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"m0serve.dev/datastar"
	"m0serve.dev/datastar/stream"
	"m0serve.dev/http/bus"
	"m0serve.dev/http/server"
	"m0serve.dev/http/sse"
)

// patience bounds every wait: far above what a healthy run takes.
const patience = 10 * time.Second

// newHub is a hub that has begun, on a bus of its own.
func newHub(t *testing.T, cfg sse.HubConfig) *sse.Hub {
	t.Helper()
	h := quietHub(t, cfg)
	h.Start()
	return h
}

// quietHub is a hub before Start.
func quietHub(t *testing.T, cfg sse.HubConfig) *sse.Hub {
	t.Helper()
	if cfg.Bus == nil {
		cfg.Bus = bus.Local()
		t.Cleanup(cfg.Bus.Close)
	}
	cfg.Log = slog.New(slog.DiscardHandler)
	return sse.NewHub(cfg)
}

func newStream(h *sse.Hub) *stream.Stream { return stream.New(h, stream.Options{Channel: "c"}) }

// onBoth runs the test on each kind of server that a handler may find itself on.
func onBoth(t *testing.T, run func(t *testing.T, serve func(http.Handler) string)) {
	t.Run("net/http", func(t *testing.T) {
		run(t, func(h http.Handler) string {
			ts := httptest.NewServer(h)
			t.Cleanup(func() {
				ts.CloseClientConnections()
				ts.Close()
			})
			return ts.Listener.Addr().String()
		})
	})
	t.Run("server", func(t *testing.T) {
		run(t, func(h http.Handler) string { return serveLoop(t, h) })
	})
}

func serveLoop(t *testing.T, h http.Handler) string {
	t.Helper()
	srv, err := server.New(server.Config{HTTP: h, DrainTimeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ln) }()
	t.Cleanup(func() {
		if err := srv.Shutdown(context.Background()); err != nil {
			t.Logf("Shutdown: %v", err)
		}
		<-served
	})
	return ln.Addr().String()
}

// A page is one open stream, read off the socket.
type page struct {
	t *testing.T
	r *bufio.Reader
}

// open asks for the stream and reads the comment that opens it. With lastID 0
// it has no Last-Event-ID.
func open(t *testing.T, addr, query, lastID string) *page {
	t.Helper()
	p := ask(t, addr, query, lastID)
	if got := p.block(); got != ":\n\n" {
		t.Fatalf("the first block is %q; want the comment that opens the stream", got)
	}
	return p
}

func ask(t *testing.T, addr, query, lastID string) *page {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	head := "GET /" + query + " HTTP/1.1\r\nHost: a\r\n"
	if lastID != "" {
		head += "Last-Event-ID: " + lastID + "\r\n"
	}
	if _, err := io.WriteString(c, head+"\r\n"); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	if ct := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || ct != "text/event-stream" {
		t.Fatalf("GET /%s = %s, %q; want a stream", query, resp.Status, ct)
	}
	return &page{t, bufio.NewReader(resp.Body)}
}

// block reads up to the next blank line.
func (p *page) block() string {
	p.t.Helper()
	block, err := p.read()
	if err != nil {
		p.t.Fatalf("after %q: %v; want a whole block", block, err)
	}
	return block
}

func (p *page) read() (block string, err error) {
	for {
		line, err := p.r.ReadString('\n')
		block += line
		if err != nil || line == "\n" {
			return block, err
		}
	}
}

// wants reads as many blocks as are given and compares them.
func (p *page) wants(name string, blocks ...string) {
	p.t.Helper()
	for i, want := range blocks {
		if got, err := p.read(); got != want {
			p.t.Fatalf("%s: block %d is %q (%v); want %q", name, i, got, err, want)
		}
	}
}

// frame is what a page gets of an event: the event, then its id.
func frame(text string, id uint64) []string { return []string{element(text), idBlock(id)} }

func element(text string) string {
	return "event: datastar-patch-elements\ndata: elements " + text + "\n\n"
}

func idBlock(id uint64) string { return fmt.Sprintf("id: %d\n\n", id) }

func patch(t *testing.T, s *stream.Stream, text string) uint64 {
	t.Helper()
	id, err := s.PatchElements([]byte(text), datastar.ElementsOptions{})
	if err != nil {
		t.Fatalf("PatchElements(%q): %v", text, err)
	}
	return id
}

// until polls ok.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for: %s", what)
		}
	}
}

// settle waits until the hub has delivered everything up to id.
func settle(t *testing.T, h *sse.Hub, id uint64) {
	t.Helper()
	until(t, "the frame to be delivered", func() bool { return h.LastID() >= id })
}

func text(id uint64) string { return fmt.Sprint(id) }
