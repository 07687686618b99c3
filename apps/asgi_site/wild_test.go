// SPDX-License-Identifier: MIT

//go:build linux

package asgisite

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"m0serve.dev/apps/internal/wild"
)

// serveWild starts the application that does what none should.
func serveWild(t *testing.T, loop string) *server {
	t.Helper()
	smoke(t)
	if serverName() != "m0serve" {
		t.Skip("SKIPPED: m0serve alone")
	}
	return serve(t, launch{app: "wild:app", loop: loop, graceful: 2, env: wild.Environ()})
}

// ask gets a path on a connection of its own.
func (s *server) ask(t *testing.T, path string) string {
	t.Helper()
	c := http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := c.Get("http://" + s.addr + path)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 200 {
		t.Errorf("GET %s: %s, %v", path, res.Status, err)
	}
	return string(body)
}

// good asks for the good request and wants the first process to be there still.
func (s *server) good(t *testing.T) {
	t.Helper()
	if got := s.ask(t, "/ok"); got != "ok" {
		t.Errorf("GET /ok: %q", got)
	}
	wild.WantNoCrash(t, s.text())
}

// TestWildApplications throws random messages at the server, on clients that leave:
// whatever comes, the worker survives and the next good request is answered.
func TestWildApplications(t *testing.T) {
	for _, loop := range []string{"asyncio", "uvloop"} {
		t.Run(loop, func(t *testing.T) {
			s := serveWild(t, loop)
			seed := uint64(time.Now().UnixNano())
			t.Logf("seed %d", seed)
			var all sync.WaitGroup
			for i := range uint64(8) {
				all.Go(func() {
					rng := rand.New(rand.NewPCG(seed, i))
					for range 150 {
						wildCall(s.addr, rng)
					}
				})
			}
			all.Wait()
			s.good(t)
			s.term()
			if status := s.ended(patience); status != 0 {
				t.Errorf("exit status %d behind TERM, want 0", status)
			}
		})
	}
}

// wildCall makes one call and reads what comes, if it does not leave before.
func wildCall(addr string, rng *rand.Rand) {
	c := wild.Dial(addr)
	if c == nil {
		return
	}
	defer c.Close()
	if rng.IntN(3) > 0 {
		wild.Ask(c, rng, "TE: trailers\r\n")
		return
	}
	_, _ = io.WriteString(c, opening(fmt.Sprintf("/wild?%d", rng.Uint64())))
	for range rng.IntN(5) {
		kind := []byte{opText, opBinary, opClose, opPing, opMore}[rng.IntN(5)]
		_, _ = c.Write(frame(final|kind, []byte(strings.Repeat("m", rng.IntN(2000)))))
	}
	_ = c.SetDeadline(time.Now().Add(200 * time.Millisecond))
	_, _ = io.Copy(io.Discard, c)
}

// TestTaskThatLeavesEndsNothing: SystemExit of a task of the application's is shown,
// and the server goes on.
func TestTaskThatLeavesEndsNothing(t *testing.T) {
	for _, loop := range []string{"asyncio", "uvloop"} {
		t.Run(loop, func(t *testing.T) {
			s := serveWild(t, loop)
			if got := s.ask(t, "/background"); got != "still here" {
				t.Errorf("GET /background: %q", got)
			}
			s.good(t)
			if !strings.Contains(s.text(), "SystemExit: 3") {
				t.Error("the log does not show the exception")
			}
		})
	}
}

// TestEndlessTasksAreEnded: at the end tasks that are left are cancelled, and what does
// not end then is left behind.
func TestEndlessTasksAreEnded(t *testing.T) {
	s := serveWild(t, "asyncio")
	s.ask(t, "/endless?left")
	s.term()
	if status := s.ended(patience); status != 0 {
		t.Errorf("exit status %d behind TERM, want 0", status)
	}
	if !strings.Contains(s.text(), "WILD the task has ended left") {
		t.Error("the task was not cancelled")
	}
}

// TestForkedChildEnds: a child that comes back from the application, or to the event
// loop, runs none of the server.
func TestForkedChildEnds(t *testing.T) {
	for _, loop := range []string{"asyncio", "uvloop"} {
		t.Run(loop, func(t *testing.T) {
			s := serveWild(t, loop)
			for _, tt := range []struct{ how, want string }{
				{"returns", "status 1"}, {"raises", "status 7"}, {"goes-on", "status 1"},
			} {
				if got := s.ask(t, "/fork?"+tt.how); got != tt.want {
					t.Errorf("GET /fork?%s: %q, want %q", tt.how, got, tt.want)
				}
			}
			s.good(t)
		})
	}
}

// A leakKind is a request that is made many times while the memory is watched.
type leakKind struct {
	name, request string
	n             int
	leaves        bool // the client does not wait for the whole answer
}

var leakKinds = []leakKind{
	{name: "whole", request: request("GET", "/ok", "X-$N: 1"), n: 10_000},
	{name: "pieces", request: request("GET", "/pieces"), n: 5000},
	{name: "body", request: post("/body", strings.Repeat("b", 1000)), n: 10_000},
	{name: "long-body", request: post("/body", strings.Repeat("b", 2_500_000)), n: 100},
	{name: "wrong", request: request("GET", "/wrong"), n: 3000},
	{name: "fails", request: request("GET", "/fails"), n: 1000},
	{name: "late", request: request("GET", "/late"), n: 1000},
	{name: "leaves", request: request("GET", "/leaves"), n: 1000, leaves: true},
	{name: "cut-body", request: post("/body", strings.Repeat("b", 2_500_000))[:200_000], n: 200,
		leaves: true},
	{name: "socket", request: opening("/socket") + string(frame(final|opText, []byte("ask"))),
		n: 1000, leaves: true},
}

// TestNothingLeaks: no kind of call leaves anything behind, neither objects of Python
// nor memory of the process.
func TestNothingLeaks(t *testing.T) {
	s := serveWild(t, "asyncio")
	for _, k := range leakKinds {
		t.Run(k.name, func(t *testing.T) {
			k.run(t, s.addr, k.n)
			ask := func(path string) string { return s.ask(t, path) }
			wild.WantLevel(t, 12, k.n, ask, func(n int) { k.run(t, s.addr, n) })
		})
	}
}

// run makes n requests, on connections that last as long as the answers let them.
func (k *leakKind) run(t *testing.T, addr string, n int) {
	t.Helper()
	var c net.Conn
	var r *bufio.Reader
	for i := range n {
		if c == nil {
			var err error
			if c, err = net.Dial("tcp", addr); err != nil {
				t.Fatal(err)
			}
			_ = c.SetDeadline(time.Now().Add(3 * patience))
			r = bufio.NewReader(c)
		}
		if _, err := io.WriteString(c, wild.Numbered(k.request, i)); err != nil {
			t.Fatalf("%s, request %d: %v", k.name, i, err)
		}
		if k.leaves {
			if !strings.HasPrefix(k.name, "cut") {
				_, _ = r.ReadByte()
			}
			_ = c.Close()
			c = nil
			continue
		}
		res, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatalf("%s, request %d: %v", k.name, i, err)
		}
		if _, err := io.Copy(io.Discard, res.Body); err != nil || res.Close {
			_ = c.Close()
			c = nil
		}
	}
	if c != nil {
		_ = c.Close()
	}
}
