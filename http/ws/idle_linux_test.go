// SPDX-License-Identifier: MIT

package ws_test

import (
	"io"
	"net/http"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/internal/both"
	"m0serve.dev/http/ws"
)

// idleBytesMax is what an idle socket may keep in memory, all layers included.
const idleBytesMax = 1024

// TestIdleSocketIsSmall counts the memory and the goroutines of sockets that have
// been busy once. Its clients are bare descriptors, which weigh nothing here.
func TestIdleSocketIsSmall(t *testing.T) {
	testIdle(t, echo(&ws.Options{}), idleBytesMax)
}

// memberBytesMax is the same for one that has agreed on compression and joined a hub.
const memberBytesMax = 1536

func TestIdleMemberIsSmall(t *testing.T) {
	hub := ws.NewHub(ws.HubConfig{Bus: bus.Local()})
	o := &ws.Options{Compression: &ws.Compression{}}
	testIdle(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = ws.Accept(w, r, o, ws.Handler{
			Open:    func(c *ws.Conn) { _ = hub.Join(c, "news", "weather") },
			Message: func(c *ws.Conn, op ws.Op, data []byte) { _ = c.Send(op, data) },
		})
	}), memberBytesMax)
	if st := o.Stats(); st.Inflated == 0 || st.Inflated != st.Deflated {
		t.Errorf("%d messages came compressed and %d went, want all", st.Inflated, st.Deflated)
	}
}

func testIdle(t *testing.T, h http.Handler, most int64) {
	t.Helper()
	if racing {
		t.Skip("the race detector keeps memory of its own")
	}
	const sockets = 2000
	addr := both.Loop(t, h)
	fds := make([]int, 0, sockets)
	defer func() {
		for _, fd := range fds {
			_ = syscall.Close(fd)
		}
	}()
	packed := newSqueezer(t, 1, false).squeeze([]byte(strings.Repeat("hello", 100)))
	_ = syscall.Close(dialBare(t, addr, packed)) // what is made once is made
	before, routines := heap(), runtime.NumGoroutine()
	for range sockets {
		fds = append(fds, dialBare(t, addr, packed))
	}
	each := (int64(heap()) - int64(before)) / sockets
	t.Logf("%d bytes for each of %d idle sockets", each, sockets)
	if each > most {
		t.Errorf("an idle socket keeps %d bytes, want at most %d", each, most)
	}
	if more := runtime.NumGoroutine() - routines; more > 10 {
		t.Errorf("%d sockets have %d goroutines, want none", sockets, more)
	}
}

// dialBare opens a socket by system calls and has one message echoed: packed, where the
// server agrees on compression.
func dialBare(t *testing.T, addr string, packed []byte) (fd int) {
	t.Helper()
	to := netip.MustParseAddrPort(addr)
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	at := &syscall.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}
	if err := syscall.Connect(fd, at); err != nil {
		t.Fatal(os.NewSyscallError("connect", err))
	}
	exchange := func(send, want string) string {
		_, err := syscall.Write(fd, []byte(send))
		var got strings.Builder
		var buf [512]byte
		for n := 0; err == nil && !strings.HasSuffix(got.String(), want); got.Write(buf[:n]) {
			if n, err = syscall.Read(fd, buf[:]); n == 0 && err == nil {
				err = io.EOF
			}
		}
		if err != nil {
			t.Fatalf("awaiting %q: %v behind %q", want, err, got.String())
		}
		return got.String()
	}
	head := exchange("GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: "+key+"\r\n"+
		"Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n", "\r\n\r\n")
	if strings.Contains(head, "permessage-deflate") {
		exchange(string(frame(0xc1, packed)), string(packed))
		return fd
	}
	exchange(string(txt(0x81, "hello")), "\x81\x05hello")
	return fd
}
