// SPDX-License-Identifier: MIT

//go:build unix

package wsgibare

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"m0serve.dev/apps/internal/pyserver"
	"m0serve.dev/apps/internal/rawhttp"
)

// Of answers that need no Python while a view blocks for two seconds, nine of ten come within
// staticMost and all within staticWorst, whatever else the machine does. A quiet one shows less
// than a millisecond, and a server that waits for the view two seconds.
const (
	staticMost  = 250 * time.Millisecond
	staticWorst = 1500 * time.Millisecond
)

// TestBlockedViewHoldsUpNothingElse: while the only thread sleeps, computes, or
// keeps the interpreter's lock, files are served at once and the next view waits
// in order.
func TestBlockedViewHoldsUpNothingElse(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: -short: a smoke on the real server")
	}
	s := serveStatic(t, 1)
	for _, view := range []string{"sleep", "spin", "hold"} {
		t.Run(view, func(t *testing.T) {
			slow := s.dial(t)
			began := time.Now()
			slow.Send(get("/" + view + "?ms=2000"))
			waits := s.dial(t)
			waits.Send(get("/hello"))
			var took []time.Duration
			files := s.dial(t)
			for time.Since(began) < 1800*time.Millisecond {
				at := time.Now()
				files.Send(get("/files/a.txt"))
				expect(t, files, "GET", "200 OK", "text\n")
				took = append(took, time.Since(at))
			}
			slices.Sort(took)
			most, worst := took[len(took)*9/10], took[len(took)-1]
			t.Logf("%d answers, most in %v, the slowest in %v", len(took), most, worst)
			if most > staticMost || worst > staticWorst {
				t.Errorf("a file took %v while the view blocked, and nine of ten up to %v; want at most"+
					" %v, and %v", worst, most, staticWorst, staticMost)
			}
			read(t, slow, "GET")
			expect(t, waits, "GET", "200 OK", "hello")
		})
	}
}

// TestSlowClientsHoldNoThread: who does not read a long answer holds up nobody, be it a body
// in one piece, one of several with its length, or a file. All of it comes in the end.
func TestSlowClientsHoldNoThread(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: -short: a smoke on the real server")
	}
	s := serveStatic(t, 1)
	const long = 16_000_000 // more than the kernel takes for a client that does not read
	for name, path := range map[string]string{
		"body": fmt.Sprintf("/sized?n=%d", long),
		"file": fmt.Sprintf("/file?kind=long&size=%d", long),
	} {
		t.Run(name, func(t *testing.T) {
			var slow []*rawhttp.Conn
			for range 3 {
				c := s.dial(t)
				c.Send(get(path))
				if _, err := c.ReadHead("GET"); err != nil {
					t.Fatal(err)
				}
				slow = append(slow, c)
			}
			s.servesOthers(t)
			for _, c := range slow {
				for left := long; left > 0; {
					piece, err := c.Bytes(min(left, 1<<20))
					if left -= len(piece); err != nil {
						t.Fatalf("%v, with %d bytes of %d to come", err, left, long)
					}
				}
				c.Send(get("/hello"))
				expect(t, c, "GET", "200 OK", "hello")
			}
		})
	}
	t.Run("length", func(t *testing.T) {
		for range 3 {
			c := s.dialNarrow(t)
			if _, err := io.WriteString(c, get("/length?have=4000000&say=4000000&id=slow")); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(c, make([]byte, 12)); err != nil {
				t.Fatal(err)
			}
		}
		s.servesOthers(t)
	})
}

// servesOthers wants an answer on a connection of its own.
func (s *suite) servesOthers(t *testing.T) {
	t.Helper()
	c := s.dial(t)
	c.Send(get("/hello"))
	expect(t, c, "GET", "200 OK", "hello")
}

// dialNarrow connects with the least room for what is sent that the kernel gives.
func (s *suite) dialNarrow(t *testing.T) net.Conn {
	t.Helper()
	narrow := func(_, _ string, raw syscall.RawConn) (err error) {
		_ = raw.Control(func(fd uintptr) {
			err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 1)
		})
		return err
	}
	d := net.Dialer{Control: narrow, Timeout: rawhttp.Patience}
	c, err := d.Dial("tcp", strings.TrimPrefix(s.p.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(rawhttp.Patience))
	return c
}

// TestThreadsOverlap: two views that sleep take the time of one on two threads.
func TestThreadsOverlap(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: -short: a smoke on the real server")
	}
	const ms = 1000
	for threads, want := range map[int]time.Duration{1: 2 * ms, 2: ms} {
		s := serveStatic(t, threads)
		began := time.Now()
		var all sync.WaitGroup
		for range 2 {
			c := s.dial(t)
			c.Send(get(fmt.Sprintf("/sleep?ms=%d", ms)))
			all.Go(func() { _, _ = c.Read("GET") })
		}
		all.Wait()
		took := time.Since(began)
		if low, high := want*time.Millisecond, (want+800)*time.Millisecond; took < low || took > high {
			t.Errorf("%d threads: two views of %d ms took %v, want %v to %v", threads, ms, took, low, high)
		}
	}
}

func serveStatic(t *testing.T, threads int) *suite {
	t.Helper()
	if pyserver.Name() != "m0serve" {
		t.Skip("SKIPPED: about m0serve alone")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("text\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cfg := pyserver.Config{Dir: ".", App: "app:app", Threads: threads,
		Args: []string{"--static=/files=" + dir}}
	return &suite{p: servers.Start(t, cfg), prefix: "takeover-"}
}
