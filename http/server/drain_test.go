// SPDX-License-Identifier: MIT

//go:build linux

package server_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"m0serve.dev/http/server"
)

// eventually polls until ok, or fails the test.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within 10 s", what)
		}
	}
}

func TestShutdownLetsRequestsEnd(t *testing.T) {
	for _, native := range []bool{true, false} {
		entered, leave := make(chan struct{}, 2), make(chan struct{})
		cfg := server.Config{}
		if native {
			cfg.Handler = server.HandlerFunc(func(x *server.Exchange) {
				entered <- struct{}{}
				<-leave
				_, _ = x.WriteString("done")
			})
		} else {
			cfg.HTTP = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				entered <- struct{}{}
				<-leave
				_, _ = io.WriteString(w, "done")
			})
		}
		s, addr := start(t, cfg)
		c, r := dial(t, addr)
		send(t, c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
		<-entered
		fresh, freshR := dial(t, addr) // connected before the stop, and silent
		down := make(chan error, 1)
		go func() { down <- s.Shutdown(t.Context()) }()
		eventually(t, "listener closed", func() bool {
			probe, err := net.Dial("tcp", addr)
			if err == nil {
				_ = probe.Close()
			}
			return err != nil
		})
		send(t, fresh, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
		select {
		case err := <-down:
			t.Fatalf("Shutdown = %v while a handler runs", err)
		case <-entered: // the one that was connected is served as well
		}
		close(leave)
		for conn, r := range map[net.Conn]io.Reader{c: r, fresh: freshR} {
			raw, err := io.ReadAll(r)
			_ = conn.Close()
			if got := string(raw); err != nil || got[len(got)-4:] != "done" {
				t.Errorf("native=%v: answer in the drain = %q, %v", native, got, err)
			}
		}
		if err := <-down; err != nil {
			t.Errorf("Shutdown = %v, want nil", err)
		}
	}
}

// The head of an answer that is streamed may have left before the drain, and with it
// the promise to keep the connection.
func TestShutdownDoesNotWaitForAConnectionKeptBefore(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	s, addr := start(t, server.Config{
		DrainTimeout: 10 * time.Second,
		Handler: server.HandlerFunc(func(x *server.Exchange) {
			_, _ = x.WriteString("first")
			_ = x.Flush()
			close(entered)
			<-leave
			_, _ = x.WriteString("last")
		}),
	})
	c, r := dial(t, addr)
	send(t, c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	<-entered
	begin, down := time.Now(), make(chan error, 1)
	go func() { down <- s.Shutdown(t.Context()) }()
	eventually(t, "listener closed", func() bool {
		probe, err := net.Dial("tcp", addr)
		if err == nil {
			_ = probe.Close()
		}
		return err != nil
	})
	close(leave)
	if _, body := answer(t, r, "GET"); body != "firstlast" {
		t.Errorf("body = %q, want firstlast", body)
	}
	if err := <-down; err != nil || time.Since(begin) > 5*time.Second {
		t.Errorf("Shutdown = %v after %v, want nil, soon", err, time.Since(begin))
	}
}

func TestShutdownIsBounded(t *testing.T) {
	leave := make(chan struct{})
	defer close(leave)
	s, addr := start(t, server.Config{
		DrainTimeout: 100 * time.Millisecond,
		Handler:      server.HandlerFunc(func(*server.Exchange) { <-leave }),
	})
	s.OnDrain(func() { <-leave })
	c, r := dial(t, addr)
	send(t, c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	eventually(t, "request begun", func() bool { return s.Stats().OffLoop == 1 })
	begin := time.Now()
	if err := s.Shutdown(t.Context()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Shutdown = %v, want DeadlineExceeded", err)
	}
	if took := time.Since(begin); took > 3*time.Second {
		t.Errorf("Shutdown took %v, want about 100 ms", took)
	}
	if _, err := r.ReadByte(); err == nil {
		t.Error("the connection is still served")
	}
}

func TestAdopt(t *testing.T) {
	given := make(chan int, 1)
	taker, _ := start(t, server.Config{Handler: server.HandlerFunc(hello)})
	closed := make(chan struct{}, 8)
	_, addr := start(t, server.Config{
		Handler:  server.HandlerFunc(hello),
		Accepted: func(fd int) bool { given <- fd; return false },
		Closed:   func() { closed <- struct{}{} },
	})
	c, r := dial(t, addr)
	if err := taker.Adopt(<-given); err != nil {
		t.Fatalf("Adopt = %v", err)
	}
	send(t, c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	if _, body := answer(t, r, "GET"); body != "Hello, World!" {
		t.Errorf("body = %q", body)
	}
	if got := taker.Stats().Conns; got != 1 {
		t.Errorf("Stats.Conns of the taker = %d, want 1", got)
	}
	if len(closed) != 0 {
		t.Error("Closed was called for a connection that was given away")
	}
}

func TestNewRefusesNonsense(t *testing.T) {
	for _, cfg := range []server.Config{
		{},
		{Handler: server.HandlerFunc(hello), HTTP: http.NotFoundHandler()},
	} {
		if _, err := server.New(cfg); err == nil {
			t.Errorf("New(%+v) = nil, want an error", cfg)
		}
	}
}

// TestDrainServesAConnectionThatASiblingHandedOver: it was on its way when the
// drain began, and nobody else has it.
func TestDrainServesAConnectionThatASiblingHandedOver(t *testing.T) {
	given := make(chan int, 1)
	entered, release := make(chan struct{}), make(chan struct{})
	taker, takerAddr := start(t, server.Config{HTTP: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/wait" {
				close(entered)
				<-release
			}
			_, _ = io.WriteString(w, "served")
		})})
	_, addr := start(t, server.Config{
		Handler:  server.HandlerFunc(hello),
		Accepted: func(fd int) bool { given <- fd; return false },
	})
	busy, busyAnswers := dial(t, takerAddr)
	send(t, busy, "GET /wait HTTP/1.1\r\nHost: a\r\n\r\n")
	<-entered
	c, r := dial(t, addr)
	fd := <-given
	drained := make(chan error, 1)
	go func() { drained <- taker.Shutdown(context.Background()) }()
	for !taker.Draining() {
		time.Sleep(time.Millisecond)
	}
	if err := taker.Adopt(fd); err != nil {
		t.Fatalf("Adopt during a drain = %v", err)
	}
	send(t, c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	if _, body := answer(t, r, "GET"); body != "served" {
		t.Errorf("body = %q, want served", body)
	}
	_ = c.Close()
	close(release)
	if _, body := answer(t, busyAnswers, "GET"); body != "served" {
		t.Errorf("body of the request in flight = %q, want served", body)
	}
	_ = busy.Close()
	if err := <-drained; err != nil {
		t.Errorf("Shutdown = %v, want nil", err)
	}
}

// TestDrainAnswersWhatStandsAtTheDoor: a server that has no connection is told
// to stop while one is being accepted and others wait behind it. It is empty
// only once it has looked at its door.
func TestDrainAnswersWhatStandsAtTheDoor(t *testing.T) {
	accepting, goOn := make(chan struct{}), make(chan struct{})
	first := true // the loop's
	s, addr := start(t, server.Config{
		Handler: server.HandlerFunc(hello),
		Accepted: func(int) bool {
			if first {
				first = false
				close(accepting)
				<-goOn // nothing is counted yet
			}
			return true
		},
	})
	clients := make([]net.Conn, 160) // more than two turns accept
	answers := make([]*bufio.Reader, len(clients))
	for i := range clients {
		clients[i], answers[i] = dial(t, addr)
		send(t, clients[i], "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	}
	<-accepting
	down := make(chan error, 1)
	go func() { down <- s.Shutdown(t.Context()) }()
	eventually(t, "the drain to begin", s.Draining)
	select { // one that takes "no connection" for "empty" closes now
	case err := <-down:
		t.Fatalf("Shutdown = %v before the loop had looked at its listener", err)
	case <-time.After(50 * time.Millisecond):
	}
	close(goOn)
	for i, r := range answers {
		if _, body := answer(t, r, "GET"); body != "Hello, World!" {
			t.Errorf("connection %d of %d that waited: body = %q", i, len(answers), body)
		}
		_ = clients[i].Close()
	}
	if err := <-down; err != nil {
		t.Errorf("Shutdown = %v, want nil", err)
	}
}
