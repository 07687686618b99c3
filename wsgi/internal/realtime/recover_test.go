// SPDX-License-Identifier: MIT

//go:build linux

package realtime

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
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
)

// A counting is an application whose channel has the numbers from 1 on, each an item.
type counting struct {
	s *Service

	mu   sync.Mutex
	last int
	asks int
}

// Serve answers with what comes behind Grip-Last, and holds.
func (c *counting) Serve(x *loop.Exchange) {
	from := 0
	for _, f := range x.Request().Fields {
		if strings.EqualFold(string(f.Name), "Grip-Last") {
			_, _ = fmt.Sscanf(string(f.Value), "n; last-id=%d", &from)
		}
	}
	_, inside := x.Asked()
	c.mu.Lock()
	last := c.last
	if inside {
		c.asks++
	} else {
		from = last // a new client begins here
	}
	c.mu.Unlock()
	fields := []Field{{Name: "Grip-Hold", Value: "stream"},
		{Name: "Grip-Link", Value: "</>; rel=next"},
		{Name: "Grip-Channel", Value: fmt.Sprintf("n; prev-id=%d", last)},
		{Name: "Content-Type", Value: "text/plain"}, {Name: "X-From", Value: fmt.Sprint(from)}}
	if !inside {
		c.s.Hold(x, Gather(200, "OK", grip.All(fields)))
		return
	}
	for _, f := range fields {
		_ = x.Field(f.Name, f.Value)
	}
	for i := from + 1; i <= last; i++ {
		_, _ = fmt.Fprintf(x, "%d\n", i)
	}
}

// publish makes the next number. Of some the item is lost.
func (c *counting) publish(isLost bool) {
	c.mu.Lock()
	c.last++
	it := grip.Item{Channel: "n", ID: fmt.Sprint(c.last), PrevID: fmt.Sprint(c.last - 1),
		Stream: &grip.Stream{Content: fmt.Appendf(nil, "%d\n", c.last)}}
	c.mu.Unlock()
	if isLost {
		return
	}
	c.s.items.mu.Lock() // beside the sequence, which would wait for what is lost
	wakes := c.s.deliver(&it)
	c.s.items.mu.Unlock()
	for _, wake := range wakes {
		wake()
	}
}

// serve runs the application until the end of the test.
func (c *counting) serve(t *testing.T) (url string) {
	t.Helper()
	hub := sse.NewHub(sse.HubConfig{Bus: bus.Local()})
	srv, err := server.New(server.Config{Handler: c})
	if err != nil {
		t.Fatal(err)
	}
	c.s = New(Config{Hub: hub, Log: slog.New(slog.DiscardHandler), Ask: srv.Ask})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ln) }()
	t.Cleanup(func() {
		c.s.Drain()
		if err := srv.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		if err := <-done; !errors.Is(err, server.ErrClosed) {
			t.Error(err)
		}
	})
	return "http://" + ln.Addr().String()
}

// TestNoNumberIsLostOrTwice publishes to streams that open meanwhile, and loses every
// third item or so.
func TestNoNumberIsLostOrTwice(t *testing.T) {
	const streams, numbers = 20, 400
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	luck := rand.New(rand.NewPCG(seed, 0))
	c := &counting{}
	url := c.serve(t)
	var readers sync.WaitGroup
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
	defer cancel()
	for i := range numbers {
		if i%(numbers/streams) == 0 {
			opened := make(chan struct{})
			readers.Go(func() { readNumbers(ctx, t, url, numbers, opened) })
			<-opened
		}
		c.publish(luck.IntN(3) == 0 && i < numbers-1)
	}
	readers.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asks == 0 || c.asks > numbers*streams/4 {
		t.Errorf("the application was asked %d times; want some, and shared", c.asks)
	}
}

// readNumbers opens a stream and wants each number behind its beginning, up to last.
func readNumbers(ctx context.Context, t *testing.T, url string, last int, opened chan struct{}) {
	req, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	if err != nil {
		t.Error(err)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	close(opened)
	if err != nil {
		t.Error(err)
		return
	}
	defer resp.Body.Close()
	var next int
	_, _ = fmt.Sscan(resp.Header.Get("X-From"), &next)
	lines := bufio.NewReader(io.LimitReader(resp.Body, 1<<20))
	for next++; next <= last; next++ {
		line, err := lines.ReadString('\n')
		if err != nil || line != fmt.Sprintln(next) {
			t.Errorf("got %q, %v; want %d", line, err, next)
			return
		}
	}
}
