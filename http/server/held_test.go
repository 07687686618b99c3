// SPDX-License-Identifier: MIT

//go:build linux

package server_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"m0serve.dev/http/loop"
	"m0serve.dev/http/server"
)

// A frames is a Source: an unbounded list, since tests bound themselves.
type frames struct {
	mu      sync.Mutex
	held    loop.Held
	chunked bool
	waiting [][]byte
	got     []byte
	refuse  bool
	ending  func()           // in Closed; may be nil
	closed  chan loop.Reason // closing it twice is a failure of its own
}

func newFrames() *frames { return &frames{closed: make(chan loop.Reason, 2)} }

func (f *frames) Next() []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.waiting) == 0 {
		return nil
	}
	b := f.waiting[0]
	f.waiting = f.waiting[1:]
	return b
}

func (f *frames) Received(b []byte) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.got = append(f.got, b...)
	return !f.refuse
}

func (f *frames) Closed(why loop.Reason) {
	f.mu.Lock()
	ending := f.ending
	f.mu.Unlock()
	if ending != nil {
		ending()
	}
	f.closed <- why
}

// put queues text in the framing of the answer and wakes the loop.
func (f *frames) put(text string) {
	f.mu.Lock()
	if f.chunked {
		text = fmt.Sprintf("%x\r\n%s\r\n", len(text), text)
	}
	f.waiting = append(f.waiting, []byte(text))
	held := f.held
	f.mu.Unlock()
	held.Wake()
}

func (f *frames) hold(t testing.TB, w http.ResponseWriter) {
	h, ok := loop.HolderOf(w)
	if !ok {
		t.Error("HolderOf = false on our own server")
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var err error
	if f.held, f.chunked, err = h.HoldConn(f); err != nil {
		t.Errorf("HoldConn = %v", err)
	}
}

// wantClosed waits for the one Closed call.
func (f *frames) wantClosed(t testing.TB, want loop.Reason) {
	t.Helper()
	select {
	case got := <-f.closed:
		if got != want {
			t.Errorf("Closed(%d), want %d", got, want)
		}
	case <-time.After(5 * time.Second):
		t.Errorf("Closed was not called, want %d", want)
	}
	select {
	case got := <-f.closed:
		t.Errorf("Closed was called again, with %d", got)
	default:
	}
}

// A holdServer holds every request; sources come out of opened.
type holdServer struct {
	*server.Server
	addr   string
	opened chan *frames
}

func startHold(t testing.TB, cfg server.Config, delay time.Duration) *holdServer {
	s := &holdServer{opened: make(chan *frames, 1000)}
	cfg.HTTP = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/plain" {
			_, _ = io.WriteString(w, "plain")
			return
		}
		time.Sleep(delay)
		w.Header().Set("Content-Type", "text/event-stream")
		f := newFrames()
		f.hold(t, w)
		s.opened <- f
	})
	s.Server, s.addr = start(t, cfg)
	return s
}

// open opens a stream of HTTP/1.minor and reads its head.
func (s *holdServer) open(t testing.TB, minor int) (
	net.Conn, *bufio.Reader, *frames, *http.Response) {
	t.Helper()
	c, r := dial(t, s.addr)
	send(t, c, fmt.Sprintf("GET / HTTP/1.%d\r\nHost: a\r\n\r\n", minor))
	res, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatalf("head of the stream: %v", err)
	}
	return c, r, <-s.opened, res
}

func TestHeldStreamEndsAsAsked(t *testing.T) {
	for _, delay := range []time.Duration{0, 5 * time.Millisecond} { // held by a late handler
		s := startHold(t, server.Config{NeverPool: true}, delay)
		for _, tt := range []struct {
			minor int
			how   loop.Ending
			want  error
		}{
			{1, loop.EndClean, nil},
			{1, loop.EndCut, io.ErrUnexpectedEOF},
			{0, loop.EndClean, nil},
			{0, loop.EndCut, syscall.ECONNRESET},
		} {
			_, _, f, res := s.open(t, tt.minor)
			f.put("one")
			f.put("two")
			f.held.Close(tt.how)
			body, err := io.ReadAll(res.Body)
			if string(body) != "onetwo" || !errors.Is(err, tt.want) {
				t.Errorf("HTTP/1.%d, ending %d, %v late: %q, %v, want onetwo, %v",
					tt.minor, tt.how, delay, body, err, tt.want)
			}
			f.wantClosed(t, loop.ClosedByServer)
		}
	}
}

func TestManyHeldStreams(t *testing.T) {
	for _, loops := range []int{1, 2} {
		s := startHold(t, server.Config{Loops: loops}, 0)
		const streams, events = 500, 20
		all := make([]*frames, streams)
		var wg sync.WaitGroup
		for i := range streams {
			_, _, f, res := s.open(t, 1)
			all[i] = f
			wg.Go(func() {
				body, err := io.ReadAll(res.Body)
				var want strings.Builder
				for e := range events {
					fmt.Fprintf(&want, "event %d;", e)
				}
				if err != nil || string(body) != want.String() {
					t.Errorf("stream %d got %d bytes, %v, want %d", i, len(body), err, want.Len())
				}
			})
		}
		if got := s.Stats().Conns; got != streams {
			t.Errorf("Stats.Conns = %d, want %d", got, streams)
		}
		for e := range events {
			for _, f := range all {
				f.put(fmt.Sprintf("event %d;", e))
			}
		}
		for _, f := range all {
			f.held.Close(loop.EndClean)
		}
		wg.Wait()
		for _, f := range all {
			f.wantClosed(t, loop.ClosedByServer)
		}
	}
}

func TestHeldPeerLeaves(t *testing.T) {
	s := startHold(t, server.Config{}, 0)
	for _, how := range []string{"close", "reset", "half-close"} {
		c, _, f, _ := s.open(t, 1)
		switch how {
		case "close":
			_ = c.Close()
		case "reset":
			_ = c.(*net.TCPConn).SetLinger(0)
			_ = c.Close()
		default:
			_ = c.(*net.TCPConn).CloseWrite()
		}
		f.wantClosed(t, loop.ClosedByPeer)
		f.held.Wake() // at any time, any number of times
		f.held.Close(loop.EndClean)
	}
}

// TestConnCountsUntilItsSourceIsTold: whoever waits for Conns to be 0 finds all told.
func TestConnCountsUntilItsSourceIsTold(t *testing.T) {
	s := startHold(t, server.Config{}, 0)
	c, _, f, _ := s.open(t, 1)
	f.mu.Lock()
	f.ending = func() {
		if got := s.Stats().Conns; got != 1 {
			t.Errorf("Stats().Conns = %d while its source is told, want 1", got)
		}
	}
	f.mu.Unlock()
	_ = c.Close()
	f.wantClosed(t, loop.ClosedByPeer)
}

func TestHeldGetsWhatThePeerSends(t *testing.T) {
	s := startHold(t, server.Config{}, 0)
	c, r := dial(t, s.addr)
	send(t, c, "GET / HTTP/1.1\r\nHost: a\r\n\r\nearly ")
	f := <-s.opened
	send(t, c, "late")
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		f.mu.Lock()
		got := string(f.got)
		f.mu.Unlock()
		if got == "early late" {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("Received %q, want early late", got)
		}
	}
	f.mu.Lock()
	f.refuse = true
	f.mu.Unlock()
	send(t, c, "!")
	f.wantClosed(t, loop.ClosedByServer)
	if _, err := io.Copy(io.Discard, r); err != nil && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("behind the cut: %v", err)
	}
}

func TestHeldPeerThatTakesNothing(t *testing.T) {
	s := startHold(t, server.Config{WriteTimeout: 100 * time.Millisecond}, 0)
	_, _, f, _ := s.open(t, 1)
	big := strings.Repeat("x", 1<<20)
	for range 16 {
		f.put(big)
	}
	f.wantClosed(t, loop.ClosedByTimeout)
	f.mu.Lock()
	left := len(f.waiting)
	f.mu.Unlock()
	if left == 0 {
		t.Errorf("the kernel took 16 MiB for a peer that reads nothing, want the queue to stay here")
	}
	eventually(t, "TimeoutsWrite counted", func() bool { return s.Stats().TimeoutsWrite == 1 })
}

// TestHeldStreamsStayQuickWhileHandlersBlock is what takeover is for.
func TestHeldStreamsStayQuickWhileHandlersBlock(t *testing.T) {
	block := make(chan struct{})
	opened := make(chan *frames, 1)
	_, addr := stdServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/block" {
			<-block
			return
		}
		f := newFrames()
		f.hold(t, w)
		opened <- f
	})
	c, r := dial(t, addr)
	send(t, c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	res, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	f := <-opened
	for range 3 {
		b, _ := dial(t, addr)
		send(t, b, "GET /block HTTP/1.1\r\nHost: a\r\n\r\n")
	}
	for range 50 {
		f.put("tick")
		tick := make([]byte, 4)
		if _, err := io.ReadFull(res.Body, tick); err != nil || string(tick) != "tick" {
			t.Fatalf("stream = %q, %v while handlers block", tick, err)
		}
	}
	close(block)
}

func TestHoldRefusals(t *testing.T) {
	_, addr := stdServer(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/204":
			w.WriteHeader(204)
		case "/flushed":
			_, _ = io.WriteString(w, "x")
			w.(http.Flusher).Flush()
		}
		h, _ := loop.HolderOf(w)
		if _, _, err := h.HoldConn(newFrames()); !errors.Is(err, loop.ErrNotHoldable) {
			t.Errorf("HoldConn on %s %s = %v, want ErrNotHoldable", r.Method, r.URL.Path, err)
		}
	})
	for _, request := range []string{"HEAD /", "GET /204", "GET /flushed"} {
		c, r := dial(t, addr)
		send(t, c, request+" HTTP/1.1\r\nHost: a\r\n\r\n")
		method, _, _ := strings.Cut(request, " ")
		answer(t, r, method)
	}
	if _, ok := loop.HolderOf(struct{ http.ResponseWriter }{}); ok {
		t.Error("HolderOf a foreign writer = true")
	}
}

func TestHoldThenPanic(t *testing.T) {
	f := newFrames()
	_, addr := start(t, server.Config{Log: quietLog(), HTTP: http.HandlerFunc(
		func(w http.ResponseWriter, _ *http.Request) {
			f.hold(t, w)
			panic("on purpose")
		})})
	c, r := dial(t, addr)
	send(t, c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	if res, _ := answer(t, r, "GET"); res.StatusCode != 500 {
		t.Errorf("status = %d, want 500", res.StatusCode)
	}
	f.wantClosed(t, loop.ClosedByError)
}

func TestShutdownCutsHeldStreamsBehindTheHooks(t *testing.T) {
	s := startHold(t, server.Config{Loops: 2}, 0)
	var all []*frames
	var wg sync.WaitGroup
	for i := range 20 {
		c, _, f, res := s.open(t, 1)
		all = append(all, f)
		wg.Go(func() {
			got, err := io.ReadAll(res.Body)
			if string(got) != "retry: 1" || !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("stream %d ended with %q, %v, want retry and a cut", i, got, err)
			}
			_ = c.Close()
		})
	}
	s.OnDrain(func() {
		time.Sleep(20 * time.Millisecond) // a hook may take its time
		for _, f := range all {
			f.put("retry: 1")
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		t.Errorf("Shutdown = %v, want nil", err)
	}
	wg.Wait()
	for _, f := range all {
		f.wantClosed(t, loop.ClosedByServer)
	}
}
