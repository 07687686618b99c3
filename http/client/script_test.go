// SPDX-License-Identifier: MIT

package client

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"m0serve.dev/http/wire"
)

// patience bounds a wait for something that has to come.
const patience = 10 * time.Second

// An ending is what a server does behind its bytes.
type ending uint8

const (
	stay  ending = iota // answer the next request as usual
	shut                // close
	reset               // close with RST
	hang                // say no more
	deaf                // say no more, and do not listen
	wait                // for goOn, then send late and close
)

// usual is the answer to a request that no script is for.
const usual = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nusual"

// A script is what a server does with the first request of a connection.
type script struct {
	send  string
	end   ending
	early bool // answer without reading the body of the request
	late  string
	then  *script // for the next request; nil: as usual
}

// A scripted server plays a script on each connection, in order, and behind
// them answers as usual. It reads requests with net/http, not with our parser.
type scripted struct {
	t     *testing.T
	bytes bool          // one byte a write
	over  chan struct{} // closed at the end of the test
	goOn  chan struct{}

	mu       sync.Mutex
	scripts  []script
	conns    int
	requests []string // "CONN METHOD path body"
	open     sync.WaitGroup
}

// newScripted has to be made before what uses it, so that it ends behind that.
func newScripted(t *testing.T, scripts ...script) *scripted {
	s := &scripted{t: t, scripts: scripts, over: make(chan struct{}),
		goOn: make(chan struct{})}
	t.Cleanup(func() {
		close(s.over)
		s.open.Wait()
	})
	return s
}

// listen serves TCP and returns the address.
func (s *scripted) listen() string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			s.serve(c)
		}
	}()
	return ln.Addr().String()
}

// pipe is Config.Dial: each write of the server is a read of the client.
func (s *scripted) pipe(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	s.serve(far)
	return near, nil
}

func (s *scripted) serve(c net.Conn) {
	s.mu.Lock()
	n := s.conns
	s.conns++
	play := script{send: usual}
	if n < len(s.scripts) {
		play = s.scripts[n]
	}
	s.mu.Unlock()
	s.open.Add(2)
	gone := make(chan struct{})
	go func() {
		defer s.open.Done()
		defer close(gone)
		defer c.Close()
		in := bufio.NewReader(c)
		for s.answer(c, in, n, play) {
			if play.then == nil {
				play = script{send: usual}
			} else {
				play = *play.then
			}
		}
	}()
	go func() { // the end of the test is the end of every wait
		defer s.open.Done()
		select {
		case <-gone:
		case <-s.over:
			c.Close()
		}
	}()
}

// answer reports whether the connection goes on.
func (s *scripted) answer(c net.Conn, in *bufio.Reader, n int, play script) bool {
	req, err := http.ReadRequest(in)
	if err != nil {
		return false
	}
	var body []byte
	if !play.early {
		if body, err = io.ReadAll(req.Body); err != nil {
			return false
		}
	}
	text := string(rune('0'+n)) + " " + req.Method + " " + req.RequestURI + " " + string(body)
	for name := range req.Trailer {
		text += " " + name + "=" + req.Trailer.Get(name)
	}
	s.mu.Lock()
	s.requests = append(s.requests, text)
	s.mu.Unlock()
	for b := []byte(play.send); len(b) > 0; {
		k := len(b)
		if s.bytes {
			k = 1
		}
		if _, err := c.Write(b[:k]); err != nil {
			return false
		}
		b = b[k:]
	}
	switch play.end {
	case reset:
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
	case wait:
		select {
		case <-s.goOn:
			_, _ = io.WriteString(c, play.late)
		case <-s.over:
		}
	case deaf:
		<-s.over
	case hang:
		_, _ = in.ReadByte() // until the client closes, or the test ends
	}
	return play.end == stay
}

// seen is the requests so far.
func (s *scripted) seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.requests...)
}

// small are limits that a test can reach.
var small = wire.Limits{LineBytes: 200, HeadBytes: 1000, Fields: 10, TrailerBytes: 100,
	ChunkExtBytes: 50}

// newClient makes a Client that is closed with the test, and empty by then.
func newClient(t *testing.T, cfg Config) *Client {
	t.Helper()
	c := New(cfg)
	t.Cleanup(func() {
		if c.Close(); t.Failed() {
			return
		}
		until(t, "all connections to be given back", func() bool { return c.Stats().Open == 0 })
	})
	return c
}

// until polls for a condition.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// within is a context that no test should outlive.
func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}
