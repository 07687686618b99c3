// SPDX-License-Identifier: MIT

package client

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// A stage is where a request is when its context ends.
type stage struct {
	name   string
	script script
	req    Request
	url    string
	cfg    Config
	// reached says that the request is there.
	reached func(c *Client, srv *scripted) bool
	open    bool // with Open and Next instead of Do
}

// stages are all places in which a request can wait.
func stages() []*stage {
	asked := func(_ *Client, srv *scripted) bool { return len(srv.seen()) > 0 }
	dialed := func(c *Client, _ *scripted) bool { return c.Stats().Dials == 1 }
	pipe, _ := io.Pipe() // closed with the request that reads it
	return []*stage{
		{name: "dial", reached: dialed, cfg: Config{
			Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}}},
		{name: "handshake", url: "https://a/", reached: dialed, cfg: Config{
			Dial: func(context.Context, string, string) (net.Conn, error) {
				near, _ := net.Pipe()
				return near, nil
			}}},
		{name: "wait", cfg: Config{PerHost: 1}, script: held,
			reached: func(c *Client, _ *scripted) bool { return c.Stats().Waiting == 1 }},
		{name: "send", req: Request{Method: "POST", Body: make([]byte, 10<<20)},
			script: script{early: true, end: deaf}, reached: asked},
		{name: "stream", req: Request{Method: "POST", Stream: pipe},
			script: script{early: true, end: deaf}, reached: asked},
		{name: "head", script: script{end: hang}, reached: asked},
		{name: "half a head", script: script{send: len5, end: hang}, reached: asked},
		{name: "interim", script: script{send: "HTTP/1.1 103 E\r\n\r\n", end: hang}, reached: asked},
		{name: "body", script: held, reached: asked},
		{name: "chunk", script: script{send: chunk + "5\r\nhel", end: hang}, reached: asked},
		{name: "until close", script: script{send: ok200 + "\r\nhel", end: hang}, reached: asked},
		{name: "Next", script: held, reached: asked, open: true},
		{name: "Next, chunk", script: script{send: chunk, end: hang}, reached: asked, open: true},
	}
}

// run makes the request and returns its error once ctx has ended.
func (s *stage) run(t *testing.T, ctx context.Context, end func()) error {
	t.Helper()
	srv := newScripted(t, s.script)
	cfg := s.cfg
	if cfg.Dial == nil {
		cfg.Dial = srv.pipe
	}
	c := newClient(t, cfg)
	req := s.req
	if req.URL = s.url; s.url == "" {
		req.URL = "http://a/"
	}
	if s.name == "wait" {
		defer hold(t, c, req.URL).Close()
	}
	done := make(chan error, 1)
	go func() {
		if !s.open {
			done <- c.Do(ctx, &req, new(Response))
			return
		}
		answer, err := c.Open(ctx, &req)
		for err == nil {
			_, err = answer.Next()
		}
		done <- err
	}()
	until(t, "the request to be at "+s.name, func() bool { return s.reached(c, srv) })
	end()
	select {
	case err := <-done:
		return err
	case <-time.After(patience):
		t.Fatalf("%s: the request did not end with its context", s.name)
	}
	return nil
}

// TestCancel: the end of a context ends a request wherever it is, and nothing
// is left of it.
func TestCancel(t *testing.T) {
	for _, s := range stages() {
		t.Run(s.name, func(t *testing.T) {
			goroutines := runtime.NumGoroutine()
			why := errors.New("changed my mind")
			t.Run("cause", func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(context.Background())
				err := s.run(t, ctx, func() { cancel(why) })
				if kindOfError(err) != Canceled || !errors.Is(err, why) {
					t.Errorf("canceled: %v, want %v with its cause", err, Canceled)
				}
			})
			until(t, "all goroutines to end", func() bool { return runtime.NumGoroutine() <= goroutines })
		})
	}
}

func TestDeadlineOfTheContext(t *testing.T) {
	eachStage(t, func(t *testing.T, s *stage) {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
		defer cancel()
		err := s.run(t, ctx, func() {})
		var timeout interface{ Timeout() bool }
		if kindOfError(err) != Timeout || !errors.Is(err, context.DeadlineExceeded) ||
			!errors.As(err, &timeout) || !timeout.Timeout() {
			t.Errorf("deadline: %v, want %v", err, Timeout)
		}
	})
}

// eachStage runs a test in each stage, in time that is not real.
func eachStage(t *testing.T, test func(*testing.T, *stage)) {
	for i, s := range stages() {
		t.Run(s.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, stages()[i]) })
		})
	}
}

// TestDeadlines: each wait has one of its own.
func TestDeadlines(t *testing.T) {
	const short = 20 * time.Millisecond
	eachStage(t, func(t *testing.T, s *stage) {
		if s.name == "wait" || s.name == "stream" {
			t.Skip("those who wait and the caller's own stream are bounded by the context")
		}
		s.cfg.DialTimeout, s.cfg.HeadTimeout, s.cfg.BodyTimeout = short, short, short
		start := time.Now()
		if err := s.run(t, within(t), func() {}); kindOfError(err) != Timeout {
			t.Errorf("silence: %v, want %v", err, Timeout)
		}
		if took := time.Since(start); took < short || took > 2*short {
			t.Errorf("silence ended it behind %v, want %v", took, short)
		}
	})
}

// TestContextEndsLater: a context that ends behind its answer does no harm to
// the connection, whoever uses it then.
func TestContextEndsLater(t *testing.T) {
	srv := newScripted(t)
	c := newClient(t, Config{Dial: srv.pipe})
	for range 3 {
		ctx, cancel := context.WithCancel(context.Background())
		for range 3 { // from the second on the connection stays with the context
			if _, err := c.Get(ctx, "http://a/"); err != nil {
				t.Fatal(err)
			}
		}
		cancel()
		until(t, "the idle connection to hear of it", func() bool { return !isWatched(c) })
		if _, err := c.Get(context.Background(), "http://a/"); err != nil {
			t.Fatal(err)
		}
	}
	if s := c.Stats(); s.Dials != 1 {
		t.Errorf("%d connections, want 1", s.Dials)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := c.Get(ctx, "http://a/"); kindOfError(err) != Canceled {
		t.Errorf("Get with an ended context = %v, want %v", err, Canceled)
	}
}

// isWatched reports whether the idle connection is registered with a context.
func isWatched(c *Client) bool {
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	for _, h := range c.pool.hosts {
		for _, cn := range h.idle {
			cn.mu.Lock()
			defer cn.mu.Unlock()
			return cn.watch.stop != nil
		}
	}
	return false
}

// TestCloseOfAStream ends a Next in another goroutine.
func TestCloseOfAStream(t *testing.T) {
	srv := newScripted(t, held)
	c := newClient(t, Config{Dial: srv.pipe})
	s := hold(t, c, "http://a/")
	if piece, err := s.Next(); string(piece) != "hel" || err != nil {
		t.Fatalf("Next = %q, %v; want %q", piece, err, "hel")
	}
	done := make(chan error)
	go func() {
		_, err := s.Next()
		done <- err
	}()
	until(t, "Next to wait", func() bool {
		if s.mu.TryLock() {
			s.mu.Unlock()
			return false
		}
		return true
	})
	s.Close()
	if err := <-done; kindOfError(err) != Canceled {
		t.Errorf("Next = %v, want %v", err, Canceled)
	}
	s.Close()
	if st := c.Stats(); st.Open != 0 {
		t.Errorf("%+v, want none open", st)
	}
}

// TestStreamGivesItsConnectionBack with the last byte, not with the EOF, and
// when all that is left of it was read.
func TestStreamGivesItsConnectionBack(t *testing.T) {
	srv := newScripted(t, script{send: usual, then: &script{send: chunk + "5\r\nhello\r\n0\r\n\r\n"}})
	c := newClient(t, Config{Dial: srv.pipe})
	s := hold(t, c, "http://a/")
	b := make([]byte, 5)
	if _, err := io.ReadFull(s, b); err != nil || string(b) != "usual" {
		t.Fatalf("read %q, %v", b, err)
	}
	if st := c.Stats(); st.Idle != 1 {
		t.Errorf("%+v, want the connection idle behind the last byte", st)
	}
	if n, err := s.Read(b); n != 0 || err != io.EOF {
		t.Errorf("Read = %d, %v; want EOF", n, err)
	}
	s = hold(t, c, "http://a/")
	if n, err := s.Read(b[:2]); n != 2 || err != nil || string(b[:2]) != "he" {
		t.Errorf("Read = %q, %v; want %q", b[:n], err, "he")
	}
	s.Close()
	if st := c.Stats(); st.Idle != 1 || st.Dials != 1 {
		t.Errorf("%+v, want the one connection idle", st)
	}
	s = hold(t, c, "http://a/")
	if all, err := io.ReadAll(s); string(all) != "usual" || err != nil {
		t.Errorf("ReadAll = %q, %v; want %q", all, err, "usual")
	}
}
