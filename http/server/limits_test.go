// SPDX-License-Identifier: MIT

//go:build linux

package server_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"m0serve.dev/http/server"
)

// TestSlowPeersMeetAbsoluteDeadlines: a peer that drips bytes is cut as early as
// one that stalls.
func TestSlowPeersMeetAbsoluteDeadlines(t *testing.T) {
	const limit = 400 * time.Millisecond
	s, addr := start(t, server.Config{
		Handler:     server.HandlerFunc(func(x *server.Exchange) { _, _ = io.Copy(io.Discard, x) }),
		HeadTimeout: limit, BodyTimeout: limit, IdleTimeout: limit,
	})
	var wg sync.WaitGroup
	for _, tt := range []slowPeer{
		{"silent", "", "", ""},
		{"head", "GET / HTTP/1.1\r\nHost: a\r\nX: ", "a", "408"},
		{"body", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n", "b", "408"},
		{"chunked", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
			"1\r\na\r\n", "200"},
		{"long body", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n", "c", "200"},
		{"idle", "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "", "200"},
	} {
		c, r := dial(t, addr)
		wg.Go(func() { tt.run(t, c, r, limit) })
	}
	wg.Wait()
	eventually(t, "4 late requests counted", func() bool { return s.Stats().TimeoutsRead == 4 })
}

// A slowPeer sends first, and drip again and again.
type slowPeer struct{ name, first, drip, want string }

func (p slowPeer) run(t *testing.T, c net.Conn, r io.Reader, limit time.Duration) {
	begin := time.Now()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		_, _ = io.WriteString(c, p.first)
		for p.drip != "" {
			select {
			case <-stop:
				return
			case <-time.After(10 * time.Millisecond):
				_, _ = io.WriteString(c, p.drip)
			}
		}
	})
	raw, err := io.ReadAll(r)
	took := time.Since(begin)
	close(stop)
	wg.Wait()
	if err != nil && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("%s: %v", p.name, err)
	}
	if took > limit+4*time.Second || took < limit*3/4 {
		t.Errorf("%s: cut after %v, want about %v", p.name, took, limit)
	}
	if p.want == "" && len(raw) > 0 || !strings.Contains(string(raw), p.want) {
		t.Errorf("%s: answer %.80q, want %q", p.name, raw, p.want)
	}
}

func TestSlowReaderMeetsTheWriteDeadline(t *testing.T) {
	s, addr := start(t, server.Config{
		WriteTimeout: 100 * time.Millisecond,
		Handler: server.HandlerFunc(func(x *server.Exchange) {
			_, _ = x.Write(make([]byte, 32<<20))
		}),
	})
	c, r := dial(t, addr)
	send(t, c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	// It takes a little now and then, below the least rate.
	eventually(t, "cut", func() bool {
		_, _ = r.Discard(1)
		return s.Stats().TimeoutsWrite == 1
	})
	if n, err := io.Copy(io.Discard, r); err == nil && n > 32<<20 {
		t.Errorf("the whole answer came, %d bytes", n)
	}
}

func TestMaxConns(t *testing.T) {
	s, addr := start(t, server.Config{Handler: server.HandlerFunc(hello), MaxConns: 2})
	for range 2 {
		c, r := dial(t, addr)
		send(t, c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
		answer(t, r, "GET")
	}
	c, r := dial(t, addr)
	send(t, c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	if res, _ := answer(t, r, "GET"); res.StatusCode != 503 || !res.Close {
		t.Errorf("third connection: %d, close %v, want 503 and a close", res.StatusCode, res.Close)
	}
	if got := s.Stats().DroppedConns; got != 1 {
		t.Errorf("Stats.DroppedConns = %d, want 1", got)
	}
}

func TestRequestsPerConn(t *testing.T) {
	s, addr := start(t, server.Config{Handler: server.HandlerFunc(hello), RequestsPerConn: 3})
	c, r := dial(t, addr)
	send(t, c, strings.Repeat("GET / HTTP/1.1\r\nHost: a\r\n\r\n", 5))
	for i := range 3 {
		if res, _ := answer(t, r, "GET"); res.Close != (i == 2) {
			t.Errorf("answer %d: close %v, want %v", i, res.Close, i == 2)
		}
	}
	if b, err := r.ReadByte(); err != io.EOF {
		t.Errorf("behind the third answer: %q, %v, want EOF", b, err)
	}
	eventually(t, "counted", func() bool { return s.Stats().DroppedRequests == 1 })
}

// TestBlockingMax: at the bound handlers wait in order; beyond the queue, 503.
func TestBlockingMax(t *testing.T) {
	leave := make(chan struct{})
	var mu sync.Mutex
	var order []string
	s, addr := start(t, server.Config{
		BlockingMax: 2, BlockingQueue: 3, Takeover: -1,
		Handler: server.HandlerFunc(func(x *server.Exchange) {
			mu.Lock()
			order = append(order, string(x.Request().Path))
			mu.Unlock()
			<-leave
			_, _ = x.WriteString("served")
		}),
	})
	var conns []io.Reader
	var begun []int64
	for i := range 7 {
		c, r := dial(t, addr)
		send(t, c, fmt.Sprintf("GET /%d HTTP/1.1\r\nHost: a\r\n\r\n", i))
		conns = append(conns, r)
		eventually(t, "request arrived", func() bool { return s.Stats().Requests == uint64(i+1) })
		st := s.Stats()
		begun = append(begun, st.OffLoop+st.Waiting)
	}
	if st := s.Stats(); st.OffLoop != 2 || st.Waiting != 3 || st.DroppedBlocking != 2 {
		t.Errorf("Stats = %d off the loop, %d waiting, %d dropped, want 2, 3, 2 (%v)",
			st.OffLoop, st.Waiting, st.DroppedBlocking, begun)
	}
	for i, r := range conns[5:] {
		raw, err := io.ReadAll(r)
		if !strings.Contains(string(raw), "503 Service Unavailable") {
			t.Errorf("request %d beyond the queue: %.60q, %v, want 503", 5+i, raw, err)
		}
	}
	for i := range 3 { // one at a time, so that their order shows
		leave <- struct{}{}
		eventually(t, "next one begun", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(order) == 3+i
		})
	}
	close(leave)
	if got := strings.Join(order[2:], ""); got != "/2/3/4" {
		t.Errorf("those that waited ran as %s, want /2/3/4", got)
	}
}

// TestOutOfDescriptors fills the table: the loop must refuse, not spin.
func TestOutOfDescriptors(t *testing.T) {
	s, addr := start(t, server.Config{Handler: server.HandlerFunc(hello), Log: quietLog()})
	c, r := dial(t, addr)
	send(t, c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	answer(t, r, "GET")
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	waiting, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer waiting.Close()
	eventually(t, "accepted", func() bool { return s.Stats().Conns == 2 })
	client, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(client)
	low := syscall.Rlimit{Cur: uint64(client), Max: old.Max} // nothing above client
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	full := fillDescriptors()
	defer func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &old); err != nil {
			t.Error(err)
		}
		for _, fd := range full {
			_ = syscall.Close(fd)
		}
	}()
	to := &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}
	_, port, _ := strings.Cut(addr, ":")
	_, _ = fmt.Sscan(port, &to.Port)
	if err := syscall.Connect(client, to); err != nil {
		t.Fatalf("connect: %v", err)
	}
	eventually(t, "refused and counted", func() bool { return s.Stats().DroppedDescriptors == 1 })
	send(t, c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n") // the others are served
	if _, body := answer(t, r, "GET"); body != "Hello, World!" {
		t.Errorf("body = %q", body)
	}
	var before, after syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &before)
	time.Sleep(100 * time.Millisecond) // the time over which the CPU is measured
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &after)
	busy := time.Duration(after.Utime.Nano() - before.Utime.Nano() +
		after.Stime.Nano() - before.Stime.Nano())
	if busy > 60*time.Millisecond {
		t.Errorf("%v of CPU in 100 ms with a full table, want an idle loop", busy)
	}
}

// fillDescriptors opens descriptors until there is none left.
func fillDescriptors() (fds []int) {
	for {
		fd, err := syscall.Dup(0)
		if err != nil {
			return fds
		}
		fds = append(fds, fd)
	}
}

func TestAnsweredSeesErrorAnswersToo(t *testing.T) {
	var ok, bad atomic.Int64
	_, addr := start(t, server.Config{
		HTTP: http.NotFoundHandler(),
		Answered: func(a server.Answer) {
			if a.Exchange == nil {
				bad.Store(int64(a.Status))
				return
			}
			if string(a.Exchange.Request().Path) == "/x" && a.Bytes > 0 && a.Took > 0 {
				ok.Store(int64(a.Status))
			}
		},
	})
	c, r := dial(t, addr)
	send(t, c, "GET /x HTTP/1.1\r\nHost: a\r\n\r\nBAD\r\n\r\n")
	answer(t, r, "GET")
	answer(t, r, "GET")
	if ok.Load() != 404 || bad.Load() != 400 {
		t.Errorf("Answered saw %d and %d, want 404 and 400", ok.Load(), bad.Load())
	}
}

// TestTick: a fixed rate, and no catch-up behind a slow one.
func TestTick(t *testing.T) {
	var ticks atomic.Int64
	slow := make(chan struct{})
	const every = 20 * time.Millisecond
	begin := time.Now()
	_, addr := start(t, server.Config{
		Handler:   server.HandlerFunc(hello),
		TickEvery: every,
		Tick: func() {
			if ticks.Add(1) == 3 {
				<-slow
			}
		},
	})
	eventually(t, "three ticks", func() bool { return ticks.Load() == 3 })
	c, r := dial(t, addr)
	for range 5 { // the loop goes on under a tick that blocks
		send(t, c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
		answer(t, r, "GET")
		time.Sleep(every) // ticks that must not be made up for
	}
	if got := ticks.Load(); got != 3 {
		t.Errorf("%d ticks while the third one runs, want 3", got)
	}
	close(slow)
	eventually(t, "ticks go on", func() bool { return ticks.Load() >= 6 })
	if most := int64(time.Since(begin)/every) + 1 - 4; ticks.Load() > most {
		t.Errorf("%d ticks, want at most %d: the missed ones are not made up for", ticks.Load(), most)
	}
}

// TestAnswerReachesAPeerThatStillSends: closing on unread input would reset the
// connection and take the answer away.
func TestAnswerReachesAPeerThatStillSends(t *testing.T) {
	_, addr := start(t, server.Config{Handler: server.HandlerFunc(hello), MaxBody: 1 << 20})
	for _, tt := range []struct {
		head   string
		status int
	}{
		{"Content-Length: 10000000", 413},                     // refused by the engine
		{"Content-Length: 1000000\r\nConnection: close", 200}, // not read by the handler
		{"Content-Length: 1000000", 200},
	} {
		c, r := dial(t, addr)
		send(t, c, "POST / HTTP/1.1\r\nHost: a\r\n"+tt.head+"\r\n\r\n")
		if _, err := r.Peek(1); err != nil { // the answer is there already
			t.Fatal(err)
		}
		for range 10 {
			send(t, c, strings.Repeat("x", 10_000))
		}
		if res, _ := answer(t, r, "POST"); res.StatusCode != tt.status || !res.Close {
			t.Errorf("%s: %d, close %v, want %d and a close", tt.head, res.StatusCode, res.Close, tt.status)
		}
		if _, err := r.ReadByte(); err != io.EOF {
			t.Errorf("%s: behind the answer %v, want a clean end", tt.head, err)
		}
	}
}

// TestAnsweredMayBlock: an access log whose reader has stopped stalls nobody else.
func TestAnsweredMayBlock(t *testing.T) {
	stuck := make(chan struct{})
	_, addr := start(t, server.Config{
		Handler: server.HandlerFunc(hello),
		Answered: func(a server.Answer) {
			if string(a.Exchange.Request().Path) == "/stuck" {
				<-stuck
			}
		},
	})
	late, lateR := dial(t, addr)
	send(t, late, "GET /stuck HTTP/1.1\r\nHost: a\r\n\r\n")
	c, r := dial(t, addr)
	for range 3 {
		send(t, c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
		answer(t, r, "GET")
	}
	close(stuck)
	if _, body := answer(t, lateR, "GET"); body != "Hello, World!" {
		t.Errorf("the late answer = %q", body)
	}
}
