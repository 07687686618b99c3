// SPDX-License-Identifier: MIT

//go:build linux

package server_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"m0serve.dev/http/loop"
	"m0serve.dev/http/server"
	"m0serve.dev/http/wire"
)

// A testGuest is an event loop on a goroutine of its own: it waits for the
// engine's poller and its own descriptor, and answers what it is given.
type testGuest struct {
	t      *testing.T
	s      *server.Server
	wake   int
	answer func(g *testGuest, x *server.Exchange)
	gone   atomic.Int64
	done   chan struct{}

	mu    sync.Mutex
	queue []guestNews

	// The goroutine's.
	ending  map[*server.Exchange]bool
	reading map[*server.Exchange]func(x *server.Exchange) bool // true: done
}

type guestNews struct {
	x    *server.Exchange
	what loop.News
}

func (g *testGuest) Rouse() { loop.Notify(g.wake) }

func (g *testGuest) Post(x *server.Exchange, what loop.News) {
	g.mu.Lock()
	g.queue = append(g.queue, guestNews{x, what})
	g.mu.Unlock()
	g.Rouse()
}

func (g *testGuest) hasNews() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.queue) > 0
}

func (g *testGuest) next() (n guestNews, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.queue) == 0 {
		return n, false
	}
	n, g.queue = g.queue[0], g.queue[1:]
	return n, true
}

func startGuest(t *testing.T, answer func(*testGuest, *server.Exchange)) (*testGuest, string) {
	t.Helper()
	g := &testGuest{t: t, answer: answer, done: make(chan struct{}),
		ending:  map[*server.Exchange]bool{},
		reading: map[*server.Exchange]func(*server.Exchange) bool{}}
	t.Cleanup(func() { <-g.done }) // behind the server's own end
	cfg := server.Config{
		Handler: server.HandlerFunc(func(x *server.Exchange) { _, _ = x.WriteString("free") }),
		Seated:  func(r *wire.Request) bool { return string(r.Path) != "/free" },
	}
	s, addr := start(t, cfg)
	g.s = s
	var err error
	if g.wake, err = loop.Notifier(); err != nil {
		t.Fatal(err)
	}
	poller, err := s.Invite(g)
	if err != nil {
		t.Fatal(err)
	}
	go g.run(poller)
	return g, addr
}

func (g *testGuest) run(poller int) {
	defer close(g.done)
	ep, err := syscall.EpollCreate1(0)
	if err != nil {
		g.t.Error(err)
		return
	}
	defer syscall.Close(ep)
	for _, fd := range []int{poller, g.wake} {
		ev := syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(fd)}
		if err := syscall.EpollCtl(ep, syscall.EPOLL_CTL_ADD, fd, &ev); err != nil {
			g.t.Error(err)
			return
		}
	}
	for {
		next, ended := g.s.Turn(g.hasNews)
		if ended {
			return
		}
		busy := false
		for n, ok := g.next(); ok; n, ok = g.next() {
			busy = true
			g.act(n)
		}
		if busy {
			continue
		}
		var events [4]syscall.EpollEvent
		ms := int(min(next, time.Second) / time.Millisecond)
		if _, err := syscall.EpollWait(ep, events[:], ms); err != nil && err != syscall.EINTR {
			g.t.Error(err)
			return
		}
		loop.Quiet(g.wake)
	}
}

func (g *testGuest) act(n guestNews) {
	switch n.what {
	case loop.Begins:
		g.answer(g, n.x)
	case loop.Written:
		if g.ending[n.x] {
			if _, ended := n.x.Sent(); ended {
				delete(g.ending, n.x)
			}
		}
	case loop.Readable:
		if read := g.reading[n.x]; read != nil && read(n.x) {
			delete(g.reading, n.x)
		}
	case loop.Gone:
		g.gone.Add(1)
	}
}

// end ends x and remembers that it may take a while.
func (g *testGuest) end(x *server.Exchange) {
	g.ending[x] = true
	if x.End() {
		delete(g.ending, x)
	}
}

// echo answers with the body as it comes.
func echo(g *testGuest, x *server.Exchange) {
	var p [8 << 10]byte
	read := func(x *server.Exchange) (done bool) {
		for {
			n, err := x.ReadNow(p[:])
			_ = x.Append(p[:n])
			switch {
			case errors.Is(err, loop.ErrNotYet):
				return false
			case err != nil:
				if err != io.EOF {
					x.Abort()
				}
				g.end(x)
				return true
			}
		}
	}
	if !read(x) {
		g.reading[x] = read
	}
}

// TestGuestAnswers: short and long bodies, both ways, on connections that go on.
func TestGuestAnswers(t *testing.T) {
	_, addr := startGuest(t, echo)
	for _, size := range []int{0, 1, 100, 60 << 10, 70 << 10, 3 << 20} {
		body := strings.Repeat("x", size)
		for range 3 {
			res, err := http.Post("http://"+addr+"/", "text/plain", strings.NewReader(body))
			if err != nil {
				t.Fatalf("%d bytes: %v", size, err)
			}
			got, err := io.ReadAll(res.Body)
			res.Body.Close()
			if err != nil || string(got) != body {
				t.Errorf("%d bytes came back as %d, %v", size, len(got), err)
			}
		}
	}
}

// TestGuestBusyLeavesTheLoop: while the guest is busy with something else,
// requests that are not its own are answered, and its own wait.
func TestGuestBusyLeavesTheLoop(t *testing.T) {
	release := make(chan struct{})
	free := sync.OnceFunc(func() { close(release) })
	began := make(chan struct{}, 1)
	_, addr := startGuest(t, func(g *testGuest, x *server.Exchange) {
		if string(x.Request().Path) == "/slow" {
			began <- struct{}{}
			<-release
		}
		_ = x.Append([]byte("ok"))
		g.end(x)
	})
	t.Cleanup(free)
	slow := dialSeat(t, addr)
	slow.ask(t, "/slow")
	<-began
	waits := dialSeat(t, addr)
	waits.ask(t, "/quick")
	for range 100 {
		c := dialSeat(t, addr)
		c.ask(t, "/free")
		c.want(t, "free")
	}
	free()
	slow.want(t, "ok")
	waits.want(t, "ok")
	for range 100 { // and it leads again
		c := dialSeat(t, addr)
		c.ask(t, "/quick")
		c.want(t, "ok")
	}
}

// TestGuestHearsThatThePeerIsGone, and may end the answer all the same.
func TestGuestHearsThatThePeerIsGone(t *testing.T) {
	kept := make(chan *server.Exchange, 1)
	g, addr := startGuest(t, func(g *testGuest, x *server.Exchange) {
		if string(x.Request().Path) == "/end" {
			old := <-kept
			_ = old.Append([]byte("to nobody"))
			g.end(old)
			_ = x.Append([]byte("ok"))
			g.end(x)
			return
		}
		kept <- x
	})
	c := dialSeat(t, addr)
	c.ask(t, "/")
	for len(kept) == 0 {
		time.Sleep(time.Millisecond)
	}
	c.conn.Close()
	for g.gone.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	end := dialSeat(t, addr)
	end.ask(t, "/end")
	end.want(t, "ok")
}

// idleGuest never comes by itself.
type idleGuest struct{}

func (idleGuest) Rouse()                           {}
func (idleGuest) Post(*server.Exchange, loop.News) {}

// TestGuestComesToItsOwnWork: a turn ends although requests that are not the guest's
// never stop coming.
func TestGuestComesToItsOwnWork(t *testing.T) {
	s, addr := start(t, server.Config{
		Handler: server.HandlerFunc(func(x *server.Exchange) { _, _ = x.WriteString("free") }),
		Seated:  func(r *wire.Request) bool { return string(r.Path) != "/free" },
	})
	if _, err := s.Invite(idleGuest{}); err != nil {
		t.Fatal(err)
	}
	c := dialSeat(t, addr)
	const most = 1000
	rounds, all := 0, 0
	more := func() bool { // asked once a round, behind the look at the kernel
		if rounds++; rounds < most {
			c.ask(t, "/free")
		}
		return false
	}
	for deadline := time.Now().Add(10 * time.Second); all < most; all += rounds {
		if time.Now().After(deadline) {
			t.Fatalf("Turn asked the kernel %d times in 10 s", all)
		}
		rounds = 0
		s.Turn(more)
		if rounds >= most/2 {
			t.Fatalf("one Turn asked the kernel %d times, want it to end before", rounds)
		}
	}
}

func fcntl(fd int, what uintptr) syscall.Errno {
	_, _, err := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), what, 0)
	return err
}

// TestGuestThatComesLate: a server that is stopped before its guest comes, or before the
// guest's first turn, says so by the first turn, and never closes the descriptor that a
// guest was given.
func TestGuestThatComesLate(t *testing.T) {
	for _, invitedFirst := range []bool{true, false} {
		s, _ := start(t, server.Config{
			Handler: server.HandlerFunc(func(x *server.Exchange) { _, _ = x.WriteString("free") }),
			Seated:  func(*wire.Request) bool { return true },
		})
		poller := -1
		invite := func() {
			var err error
			if poller, err = s.Invite(idleGuest{}); err != nil {
				t.Fatal(err)
			}
		}
		if invitedFirst {
			invite()
		}
		if err := s.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !invitedFirst {
			if invite(); poller != -1 {
				t.Errorf("a guest of a server that has ended is given descriptor %d, want none", poller)
			}
		} else if err := fcntl(poller, syscall.F_GETFD); err != 0 {
			t.Errorf("the descriptor of a guest that has not come yet is closed: %v", err)
		}
		if _, ended := s.Turn(func() bool { return false }); !ended {
			t.Errorf("invited first %v: the first turn does not say that the server has ended",
				invitedFirst)
		}
	}
}
