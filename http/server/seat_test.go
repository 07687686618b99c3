// SPDX-License-Identifier: MIT

//go:build linux

package server_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"m0serve.dev/http/server"
	"m0serve.dev/http/wire"
)

// an interpreter is the lock that seats share. Handlers have it.
type interpreter struct{ sync.Mutex }

// a testSeat is a seat of an interpreter.
type testSeat struct {
	in    *interpreter
	rouse chan struct{}
}

func (s *testSeat) Lock()   { s.in.Lock() }
func (s *testSeat) Unlock() { s.in.Unlock() }
func (s *testSeat) Sleep()  { <-s.rouse }
func (s *testSeat) Nap()    { time.Sleep(50 * time.Microsecond) }
func (s *testSeat) Rouse() {
	select {
	case s.rouse <- struct{}{}:
	default:
	}
}

// held checks that a handler has the lock, alone.
func (in *interpreter) held(t *testing.T) {
	if in.TryLock() {
		t.Error("a handler runs without the lock")
	}
}

// blocks waits without the lock.
func (in *interpreter) blocks(d time.Duration) {
	in.Unlock()
	time.Sleep(d)
	in.Lock()
}

// startSeated serves cfg on seats; they are awaited at the end.
func startSeated(t *testing.T, cfg server.Config, in *interpreter, seats int) (
	*server.Server, string) {
	t.Helper()
	if cfg.Seated == nil {
		cfg.Seated = func(*wire.Request) bool { return true }
	}
	var done sync.WaitGroup
	t.Cleanup(done.Wait) // runs behind the server's own end
	s, addr := start(t, cfg)
	for range seats {
		done.Go(func() {
			in.Lock()
			defer in.Unlock()
			if err := s.Sit(&testSeat{in: in, rouse: make(chan struct{}, 1)}); err != nil {
				t.Error(err)
			}
		})
	}
	return s, addr
}

// TestSeatOrder is TestOrder on seats: handlers block with and without the lock,
// and every answer is right and in order.
func TestSeatOrder(t *testing.T) {
	want := int64(100_000)
	if testing.Short() {
		want = 3_000
	}
	for _, seats := range []int{1, 2, 4} {
		t.Run(fmt.Sprint(seats), func(t *testing.T) { testSeatOrder(t, seats, want/3) })
	}
}

func testSeatOrder(t *testing.T, seats int, answers int64) {
	var in interpreter
	var inline, blocked atomic.Int64
	handler := func(x *server.Exchange) {
		in.held(t)
		orderAnswer(x, func(id string, delay time.Duration) {
			switch {
			case delay == 0:
				inline.Add(1)
			case len(id)%2 == 0:
				time.Sleep(delay) // with the lock
			default:
				blocked.Add(1)
				in.blocks(delay)
			}
		})
	}
	s, addr := startSeated(t, server.Config{
		Handler: server.HandlerFunc(handler), Takeover: 200 * time.Microsecond}, &in, seats)
	checked := runOrder(t, addr, 12, 20261130,
		func(checked int64) bool { return checked >= answers })
	st := s.Stats()
	t.Logf("%d answers right, %d takeovers, %d given away, %d handed over",
		checked, st.Takeovers, st.Detached, st.Pooled)
	if st.Takeovers == 0 || inline.Load() == 0 || blocked.Load() == 0 {
		t.Errorf("%d takeovers, %d inline, %d blocked: this run showed nothing",
			st.Takeovers, inline.Load(), blocked.Load())
	}
}

// TestSeatBlockedLeavesTheLoop: while the only seat is blocked, with the lock
// and without, requests that need none are answered.
func TestSeatBlockedLeavesTheLoop(t *testing.T) {
	for _, locked := range []bool{false, true} {
		t.Run(fmt.Sprintf("locked=%v", locked), func(t *testing.T) {
			var in interpreter
			release := make(chan struct{})
			free := sync.OnceFunc(func() { close(release) })
			handler := func(x *server.Exchange) {
				if string(x.Request().Path) == "/slow" {
					if !locked {
						in.Unlock()
						defer in.Lock()
					}
					<-release
				}
				_, _ = x.WriteString("ok")
			}
			_, addr := startSeated(t, server.Config{Handler: server.HandlerFunc(handler),
				Seated: func(r *wire.Request) bool { return string(r.Path) != "/free" }}, &in, 1)
			t.Cleanup(free) // before the end of the server, which waits for the seat
			slow := dialSeat(t, addr)
			slow.ask(t, "/slow")
			for range 100 {
				free := dialSeat(t, addr)
				free.ask(t, "/free")
				free.want(t, "ok")
			}
			waits := dialSeat(t, addr)
			waits.ask(t, "/quick")
			free()
			slow.want(t, "ok")
			waits.want(t, "ok")
		})
	}
}

// putOff starts a server on one seat, whose handlers are told by their path, and asks for
// paths while "/gate" holds the loop up, so that they are found together.
func putOff(t *testing.T, takeover time.Duration, handle func(path string), paths ...string) (
	clients []*seatClient) {
	t.Helper()
	var in interpreter
	entered, gate := make(chan struct{}), make(chan struct{})
	handler := func(x *server.Exchange) {
		switch path := string(x.Request().Path); path {
		case "/gate":
			close(entered)
			<-gate
		default:
			handle(path)
		}
		_, _ = x.WriteString("ok")
	}
	s, addr := startSeated(t, server.Config{Takeover: takeover,
		Handler: server.HandlerFunc(handler)}, &in, 1)
	first := dialSeat(t, addr)
	eventually(t, "the seat leads", func() bool {
		before := s.Stats().Pooled
		first.ask(t, "/warm")
		first.want(t, "ok")
		return s.Stats().Pooled == before
	})
	for range paths {
		clients = append(clients, dialSeat(t, addr))
	}
	first.ask(t, "/gate")
	<-entered
	for i, path := range paths {
		if path == "" {
			_, _ = clients[i].conn.Write([]byte("GET / HTTP/1.1\r\n")) // a part of a request
			continue
		}
		clients[i].ask(t, path)
	}
	close(gate)
	first.want(t, "ok")
	return clients
}

// TestPutOffAnswersComeWhenTheNextHandlerBlocks: an answer that waits to be sent with
// those of other connections does not wait for a handler that blocks.
func TestPutOffAnswersComeWhenTheNextHandlerBlocks(t *testing.T) {
	release := make(chan struct{})
	free := sync.OnceFunc(func() { close(release) })
	defer free()
	clients := putOff(t, time.Second/2, func(path string) {
		if path == "/blocks" {
			<-release
		}
	}, "/quick", "/quick", "/blocks", "/quick")
	clients[0].want(t, "ok")
	clients[1].want(t, "ok")
	free()
	clients[2].want(t, "ok")
	clients[3].want(t, "ok")
}

// TestPutOffAnswersWaitForAnswersAlone: nor does it wait behind an event that is none.
func TestPutOffAnswersWaitForAnswersAlone(t *testing.T) {
	came := make(chan struct{})
	free := sync.OnceFunc(func() { close(came) })
	defer free()
	clients := putOff(t, time.Minute, func(path string) {
		if path == "/last" {
			<-came
		}
	}, "/first", "", "/last", "/behind")
	clients[0].want(t, "ok")
	free()
	clients[2].want(t, "ok")
	clients[3].want(t, "ok")
}

// TestPutOffAnswersComeInTime: nor does it wait for many handlers that are not that quick.
func TestPutOffAnswersComeInTime(t *testing.T) {
	came := make(chan struct{})
	free := sync.OnceFunc(func() { close(came) })
	defer free()
	clients := putOff(t, time.Minute, func(path string) {
		time.Sleep(2 * time.Millisecond) // with the lock
		if path == "/last" {
			<-came
		}
	}, "/first", "/second", "/last", "/behind")
	clients[0].want(t, "ok")
	free()
	for _, c := range clients[1:] {
		c.want(t, "ok")
	}
}

// What a handler leaves to be done without it takes no seat, however long it waits, and is
// an answer like any other: in order, and 500 when it panics.
func TestLeaveFreesTheSeat(t *testing.T) {
	var in interpreter
	release := make(chan struct{})
	free := sync.OnceFunc(func() { close(release) })
	handler := func(x *server.Exchange) {
		in.held(t)
		switch string(x.Request().Path) {
		case "/left":
			x.Leave(func(x *server.Exchange) {
				<-release
				_, _ = x.WriteString("late")
			})
		case "/panics":
			x.Leave(func(*server.Exchange) { panic("in the rest") })
		default:
			_, _ = x.WriteString("ok")
		}
	}
	_, addr := startSeated(t, server.Config{Handler: server.HandlerFunc(handler), Log: quietLog()},
		&in, 1)
	t.Cleanup(free) // before the end of the server, which waits for the answers
	var left []*seatClient
	for range 20 {
		c := dialSeat(t, addr)
		c.ask(t, "/left")
		c.ask(t, "/behind")
		left = append(left, c)
	}
	other := dialSeat(t, addr)
	for range 100 {
		other.ask(t, "/quick")
		other.want(t, "ok")
	}
	other.ask(t, "/panics")
	other.wantStatus(t, http.StatusInternalServerError)
	free()
	for _, c := range left {
		c.want(t, "late")
		c.want(t, "ok")
	}
}

// What is beyond SeatedMax is refused at once, whether a seat is free for it or not,
// and the places are free again behind the answers.
func TestSeatedMax(t *testing.T) {
	for _, seats := range []int{1, 2, 4} {
		t.Run(fmt.Sprint(seats), func(t *testing.T) {
			var in interpreter
			release := make(chan struct{})
			free := sync.OnceFunc(func() { close(release) })
			handler := func(x *server.Exchange) {
				in.Unlock()
				<-release
				in.Lock()
				_, _ = x.WriteString("ok")
			}
			_, addr := startSeated(t, server.Config{SeatedMax: 2,
				Handler: server.HandlerFunc(handler)}, &in, seats)
			t.Cleanup(free) // before the end of the server, which waits for the seats
			answers := make(chan int, 3)
			for range 3 {
				c := dialSeat(t, addr)
				c.ask(t, "/slow")
				go func() {
					resp, err := http.ReadResponse(c.r, nil)
					if err != nil {
						t.Error(err)
						resp = &http.Response{}
					}
					answers <- resp.StatusCode
				}()
			}
			if got := <-answers; got != http.StatusServiceUnavailable {
				t.Errorf("the first of three that is answered gets %d, want 503", got)
			}
			free()
			for range 2 {
				if got := <-answers; got != http.StatusOK {
					t.Errorf("one within the bound gets %d, want 200", got)
				}
			}
			for range 3 * 2 {
				c := dialSeat(t, addr)
				c.ask(t, "/quick")
				c.want(t, "ok")
			}
		})
	}
}

type seatClient struct {
	conn net.Conn
	r    *bufio.Reader
}

func dialSeat(t *testing.T, addr string) *seatClient {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	return &seatClient{conn, bufio.NewReader(conn)}
}

func (c *seatClient) ask(t *testing.T, path string) {
	t.Helper()
	if _, err := fmt.Fprintf(c.conn, "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", path); err != nil {
		t.Fatal(err)
	}
}

func (c *seatClient) wantStatus(t *testing.T, status int) {
	t.Helper()
	res, err := http.ReadResponse(c.r, nil)
	if err != nil || res.StatusCode != status {
		t.Fatalf("answer: %v, %v, want status %d", res, err, status)
	}
	_, _ = io.Copy(io.Discard, res.Body)
}

func (c *seatClient) want(t *testing.T, body string) {
	t.Helper()
	res, err := http.ReadResponse(c.r, nil)
	if err != nil {
		t.Fatalf("answer: %v, want %q", err, body)
	}
	got := make([]byte, len(body))
	if _, err := res.Body.Read(got); err != nil && err.Error() != "EOF" || string(got) != body {
		t.Fatalf("answer %q, %v, want %q", got, err, body)
	}
}

// TestLedByTurnsLeavesNobodyBehind: a goroutine that lost its loop to a seat while
// it slept goes away, however quick the seat is.
func TestLedByTurnsLeavesNobodyBehind(t *testing.T) {
	before := len(engineStacks())
	for range 100 {
		var in interpreter
		t.Run("", func(t *testing.T) {
			_, addr := startSeated(t, server.Config{Handler: server.HandlerFunc(
				func(x *server.Exchange) { _, _ = x.WriteString("ok") })}, &in, 2)
			c := dialSeat(t, addr)
			c.ask(t, "/")
			c.want(t, "ok")
		})
	}
	eventually(t, "no more goroutines of the engine than before", func() bool {
		return len(engineStacks()) <= before
	})
}
