// SPDX-License-Identifier: MIT

//go:build linux

package gripsite

import (
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestTwoWorkers: streams that both workers hold get what either of them publishes.
func TestTwoWorkers(t *testing.T) {
	s := start(t, launch{workers: 2})
	c := channelOf(t)
	held := map[string]int{}
	var feeds []*feed
	for len(feeds) < 16 || (!onPushpin() && len(held) < 2 && len(feeds) < 200) {
		f := s.open(t, "/events/"+c+"/").opened(t)
		held[f.head.Get("X-Worker")]++
		feeds = append(feeds, f)
	}
	if len(held) < 2 && !onPushpin() { // which keeps its connections to gunicorn
		t.Fatalf("vacuous: all %d streams are of worker %v", len(feeds), held)
	}
	sent, next := map[string]int{}, 1
	for ; next <= 60 || (!onPushpin() && len(sent) < 2 && next < 200); next++ {
		if next > 60 { // a worker with fewer connections has them all: one more for it to hold
			s.open(t, "/events/"+c+"-other/").opened(t)
		}
		a := s.posted(t, "/send/", "channel", c, "data", fmt.Sprint(next))
		sent[a.head.Get("X-Worker")]++
	}
	if len(sent) < 2 && !onPushpin() {
		t.Fatalf("vacuous: all %d events are of worker %v", next-1, sent)
	}
	for _, f := range feeds {
		for i, e := range f.wants(t, numbers(1, next-1)...) {
			if want := fmt.Sprintf("%s:%d", c, i+1); e.ID != want {
				t.Fatalf("event %d has id %q, want %q", i+1, e.ID, want)
			}
		}
	}
	// A socket on each hears what a view of either says.
	var sockets []*socket
	for range 8 {
		w := s.dial(t, "/socket/?room="+c)
		w.settled(t)
		sockets = append(sockets, w)
	}
	for n := range 20 {
		sockets[n%len(sockets)].send(opText, fmt.Sprint(n))
		for _, w := range sockets {
			w.wants(t, fmt.Sprint(n))
		}
	}
}

// TestSlowClient: clients that read nothing cost a healthy one nothing, where a gap is
// made good from the database and where there is no other way than the first.
func TestSlowClient(t *testing.T) {
	for _, prefix := range []string{"", "passing-"} {
		t.Run(map[bool]string{true: "stored", false: "passing"}[prefix == ""], func(t *testing.T) {
			if prefix != "" && onPushpin() {
				t.Skip("SKIPPED: pushpin drops silently beyond 100 items of a connection")
			}
			slowClient(t, prefix+channelOf(t))
		})
	}
}

func slowClient(t *testing.T, c string) {
	const events, size, stalled = 1500, 20_000, 5
	s := start(t, launch{})
	for range stalled {
		s.stall(t, "/events/"+c+"/")
	}
	f := s.open(t, "/events/"+c+"/").opened(t)
	begin := time.Now()
	sent := s.sending(t, c, 1, events, 300, size)
	pad := strings.Repeat("x", size)
	for n := 1; n <= events; n++ {
		e := f.wants(t, fmt.Sprintf("%d %s", n, pad))[0]
		if want := fmt.Sprintf("%s:%d", c, n); e.ID != "" && e.ID != want {
			t.Fatalf("event %d has id %q, want %q", n, e.ID, want)
		}
		f.forget()
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
	t.Logf("%d events of %d bytes beside %d stalled clients in %v", events, size, stalled,
		time.Since(begin))
}

// forget lets go of events that were looked at.
func (f *feed) forget() {
	f.mu.Lock()
	f.events, f.taken = f.events[f.taken:], 0
	f.mu.Unlock()
}

// stall opens a stream and never reads from it.
func (s *site) stall(t *testing.T, path string) {
	t.Helper()
	d := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) {
			_ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 8<<10)
		})
	}}
	address := strings.TrimPrefix(s.url, "http://")
	conn, err := d.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_, err = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", path, address)
	if err != nil {
		t.Fatal(err)
	}
	first := make([]byte, 15) // it is held: there is a head
	if _, err := conn.Read(first); err != nil || string(first) != "HTTP/1.1 200 OK" {
		t.Fatalf("a client to be stalled got %q, %v", first, err)
	}
}
