// SPDX-License-Identifier: MIT

package client

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// TestStaleReuse: the server closes a connection that was used before while the
// second request is on its way.
func TestStaleReuse(t *testing.T) {
	dies := script{end: shut}
	for _, c := range []struct {
		name string
		req  Request
		then script // for the second request
		kind Kind   // 0: answered by another connection
	}{
		{"GET", Request{}, dies, 0},
		{"HEAD", Request{Method: "HEAD"}, dies, 0},
		{"OPTIONS", Request{Method: "OPTIONS"}, dies, 0},
		{"PUT", Request{Method: "PUT", Body: []byte("x")}, dies, 0},
		{"PUT, long", Request{Method: "PUT", Body: make([]byte, 100_000)}, dies, 0},
		{"DELETE", Request{Method: "DELETE"}, dies, 0},
		{"POST", Request{Method: "POST", Body: []byte("x")}, dies, Lost},
		{"PATCH", Request{Method: "PATCH", Body: []byte("x")}, dies, Lost},
		{"get is no GET", Request{Method: "get"}, dies, Lost},
		{"POST that says so", Request{Method: "POST", Idempotent: true}, dies, 0},
		{"PUT of a stream", Request{Method: "PUT", Stream: strings.NewReader("x")}, dies, Lost},
		{"a byte came", Request{}, script{send: "H", end: shut}, Truncated},
		{"an interim answer came", Request{}, script{send: "HTTP/1.1 103 E\r\n\r\n", end: shut},
			Truncated},
		{"silence", Request{}, script{end: hang}, Timeout},
	} {
		t.Run(c.name, func(t *testing.T) {
			srv := newScripted(t, script{send: usual, then: &c.then})
			cl := newClient(t, Config{Dial: srv.pipe, HeadTimeout: patience})
			if _, err := cl.Get(within(t), "http://a/first"); err != nil {
				t.Fatal(err)
			}
			if c.kind == Timeout {
				cl.cfg.HeadTimeout = 20 * time.Millisecond
			}
			c.req.URL = "http://a/second"
			err := cl.Do(within(t), &c.req, new(Response))
			if kind := kindOfError(err); kind != c.kind {
				t.Errorf("Do = %v, want %v", err, c.kind)
			}
			wantConns, wantRetries := 1, uint64(0)
			if c.kind == 0 {
				wantConns, wantRetries = 2, 1
			}
			if srv.mu.Lock(); srv.conns != wantConns || cl.Stats().Retries != wantRetries {
				t.Errorf("%d connections and %d retries, want %d and %d", srv.conns,
					cl.Stats().Retries, wantConns, wantRetries)
			}
			srv.mu.Unlock()
		})
	}
}

func kindOfError(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return 0
}

// TestOneRetry: a server that hangs up on everybody is asked twice, and a new
// connection is never a reason to ask again.
func TestOneRetry(t *testing.T) {
	dies := script{end: shut}
	srv := newScripted(t, script{send: usual, then: &dies}, dies, dies, dies)
	c := newClient(t, Config{Dial: srv.pipe})
	if _, err := c.Get(within(t), "http://a/first"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{3, 4} {
		if _, err := c.Get(within(t), "http://a/again"); kindOfError(err) != Lost {
			t.Errorf("Get = %v, want %v", err, Lost)
		}
		if got := len(srv.seen()); got != want {
			t.Errorf("%d requests reached the server, want %d", got, want)
		}
	}
}

// TestClosedIdleConnectionIsNoticed: a request that may not be repeated is not
// sent on a connection that is known to be closed, or has bytes nobody asked for.
func TestClosedIdleConnectionIsNoticed(t *testing.T) {
	if !canPeek {
		t.Skip("this system does not tell")
	}
	for _, stray := range []string{"", strings.Repeat("HTTP/1.1 408 Timeout\r\n\r\n", 1000)} {
		srv := newScripted(t, script{send: usual, end: wait, late: stray})
		c := newClient(t, Config{})
		url := "http://" + srv.listen() + "/"
		if _, err := c.Get(within(t), url); err != nil {
			t.Fatal(err)
		}
		srv.goOn <- struct{}{}
		untilStale(t, c)
		resp, err := c.Post(within(t), url+"2", "text/plain", []byte("x"))
		if err != nil || string(resp.Body) != "usual" {
			t.Fatalf("Post = %q, %v; want %q", resp.Body, err, "usual")
		}
		if s := c.Stats(); s.Stale != 1 || s.Retries != 0 || s.Dials != 2 {
			t.Errorf("%d stray bytes: %+v, want one stale, two dials, no retry", len(stray), s)
		}
	}
}

// untilStale waits until the peer's close of the one idle connection is here.
func untilStale(t *testing.T, c *Client) {
	t.Helper()
	until(t, "the close of the idle connection", func() bool {
		c.pool.mu.Lock()
		defer c.pool.mu.Unlock()
		for _, h := range c.pool.hosts {
			return len(h.idle) == 1 && h.idle[0].peek.isStale()
		}
		return false
	})
}

// TestManyStaleConnections: the next idle one is tried before a new one is opened.
func TestManyStaleConnections(t *testing.T) {
	if !canPeek {
		t.Skip("this system does not tell")
	}
	srv := newScripted(t)
	c := newClient(t, Config{})
	url := "http://" + srv.listen() + "/"
	var streams []*Stream
	for range 3 {
		s, err := c.Open(context.Background(), &Request{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		streams = append(streams, s)
	}
	for _, s := range streams {
		s.Close()
	}
	c.pool.mu.Lock()
	for _, h := range c.pool.hosts {
		_ = h.idle[2].raw.Close() // used last, so it is taken first
		_ = h.idle[1].raw.Close()
	}
	c.pool.mu.Unlock()
	if _, err := c.Get(within(t), url); err != nil {
		t.Fatal(err)
	}
	if s := c.Stats(); s.Dials != 3 || s.Stale != 2 || s.Open != 1 {
		t.Errorf("%+v, want three dials, two stale, one open", s)
	}
}
