// SPDX-License-Identifier: MIT

package publish

import (
	"bufio"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"m0serve.dev/http/bus"
)

const nobody = 65534

// dialAs connects as another user, which takes root.
func dialAs(t *testing.T, path string, uid int) *client {
	t.Helper()
	type dialed struct {
		conn net.Conn
		err  error
	}
	done := make(chan dialed)
	go func() {
		runtime.LockOSThread() // for ever: the thread ends with the goroutine
		keep := ^uintptr(0)
		if _, _, e := syscall.RawSyscall(syscall.SYS_SETRESUID, keep, uintptr(uid), keep); e != 0 {
			done <- dialed{nil, e}
			return
		}
		fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
		if err == nil {
			err = syscall.Connect(fd, &syscall.SockaddrUnix{Name: path})
		}
		if err != nil {
			done <- dialed{nil, err}
			return
		}
		file := os.NewFile(uintptr(fd), path)
		conn, err := net.FileConn(file)
		done <- dialed{conn, errors.Join(err, file.Close())}
	}()
	d := <-done
	if d.err != nil {
		t.Fatalf("dial as user %d: %v", uid, d.err)
	}
	t.Cleanup(func() { d.conn.Close() })
	c := &client{UnixConn: d.conn.(*net.UnixConn)}
	c.in = bufio.NewReader(c)
	return c
}

func TestForeignUserIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: it takes root to be somebody else")
	}
	s := openSite(t, Config{})
	for path := s.path; path != "/"; path = filepath.Dir(path) { // the kernel would refuse it first
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm()&0o055 != 0o055 || path == s.path {
			if err := os.Chmod(path, info.Mode().Perm()|0o077); err != nil {
				t.Fatal(err)
			}
		}
	}
	c := dialAs(t, s.path, nobody)
	_, _ = c.Write(appendRequest(nil, message{channel: "c", data: "forged"})) // it may be shut
	const why = "user 65534 may not publish to a service of user 0"
	if r := c.answer(t); !strings.Contains(r.over, why) {
		t.Errorf("a foreign user hears %+v, want why not", r)
	}
	if _, err := c.read(); err == nil {
		t.Error("the connection of a foreign user goes on")
	}
	s.dial(t).publish(t, "own")
	if f := <-s.frames; !strings.Contains(string(f.Body), "own") {
		t.Errorf("the first frame is %q, want that of the own user", f.Body)
	}
	if st := s.Stats(); st.Foreign != 1 || st.Published != 1 {
		t.Errorf("Stats = %+v, want one foreign and one published", st)
	}
}

// halfRead is a bus whose workers hardly keep anything: two that are ready, and a spare
// that nobody has. Who empties one of the channels reads for its worker.
func halfRead(t *testing.T) (*bus.Bus, *bus.Channels) {
	t.Helper()
	page, fd, err := bus.NewPage(3)
	if err != nil {
		t.Fatal(err)
	}
	channels, err := bus.NewChannels(3)
	if err != nil {
		t.Fatal(err)
	}
	b, err := bus.Open(bus.Config{Page: page, Read: -1, Write: channels.Write,
		QueueBytes: 1, QueueFrames: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close(); _ = channels.Close(); _ = syscall.Close(fd) })
	page.Worker(0).SetState(bus.Ready)
	page.Worker(1).SetState(bus.Ready)
	return b, channels
}

// TestPublisherHasItsIDWhenAWorkerIsFull: what one worker's channel drops is that
// worker's loss; what every one drops reached nobody.
func TestPublisherHasItsIDWhenAWorkerIsFull(t *testing.T) {
	b, channels := halfRead(t)
	s := openSite(t, Config{Bus: b})
	c := s.dial(t)
	data := strings.Repeat("x", 50<<10)
	for s.Stats().Dropped == 0 {
		channels.Discard(0) // worker 0 reads, worker 1 does not
		c.publish(t, data)
	}
	for range 1000 {
		c.send(t, appendRequest(nil, message{channel: "c", data: data}))
		if o := c.answer(t).outcomes[0]; o.err != nil {
			if !strings.Contains(o.err.Error(), "dropped by channels [0 1]") || o.id != 0 {
				t.Errorf("a message that every worker dropped = %+v, want it refused", o)
			}
			return
		}
	}
	t.Error("no message was refused though no worker reads")
}
