// SPDX-License-Identifier: MIT

//go:build unix

package wsgibare

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

	"m0serve.dev/apps/internal/pyserver"
	"m0serve.dev/apps/internal/rawhttp"
	"m0serve.dev/apps/internal/wild"
)

// serveWild starts the application that does what none should.
func serveWild(t *testing.T, threads int) *suite {
	t.Helper()
	pyserver.M0serveAlone(t)
	cfg := pyserver.Config{Dir: ".", App: "wild:app", Threads: threads, Env: wild.Environ()}
	return &suite{p: servers.Start(t, cfg), prefix: "wild-"}
}

// good asks for the good request and wants the first process to be there still.
func (s *suite) good(t *testing.T) {
	t.Helper()
	if got := s.ask(t, "/ok"); got != "ok" {
		t.Errorf("GET /ok: %q", got)
	}
	wild.WantNoCrash(t, s.p.Log())
}

// TestForkedChildThatReturnsEnds: a child in which the view returns, fails or goes on
// yielding runs none of the server, and its parent answers.
func TestForkedChildThatReturnsEnds(t *testing.T) {
	s := serveWild(t, 2)
	for _, tt := range []struct{ path, want string }{
		{"/fork/returns", "status 1"}, {"/fork/raises", "status 7"}, {"/fork/fails", "status 1"},
		{"/fork/yields", "begun,status 1"},
	} {
		if got := s.ask(t, tt.path); got != tt.want {
			t.Errorf("GET %s: %q, want %q", tt.path, got, tt.want)
		}
	}
	s.good(t)
}

// TestThreadsThatWriteAtOnce: of two threads that write one is refused, and none writes
// into the answer of another request.
func TestThreadsThatWriteAtOnce(t *testing.T) {
	s := serveWild(t, 2)
	for range 30 {
		c := s.dial(t)
		for range 2 {
			c.Send(get("/writers"))
			if r, err := c.Read("GET"); err != nil || strings.Trim(string(r.Body), "w") != "" {
				t.Fatalf("GET /writers: %v, %d bytes", err, len(r.Body))
			}
			c.Send(get("/ok"))
			expect(t, c, "GET", "200 OK", "ok")
		}
		_ = c.Close()
	}
	s.good(t)
}

// TestReaderLeftBehind: a thread that waits for the body of a request that is answered
// is told that there is no more of it.
func TestReaderLeftBehind(t *testing.T) {
	s := serveWild(t, 2)
	c := s.dial(t)
	c.Send("POST /reader HTTP/1.1\r\nHost: a\r\nContent-Length: 5000000\r\n\r\nbegin")
	expect(t, c, "POST", "200 OK", "left")
	deadline := time.Now().Add(rawhttp.Patience)
	for got := ""; got != "['OSError']"; got = s.ask(t, "/read") {
		if time.Now().After(deadline) {
			t.Fatalf("the thread ended with %s, want OSError", got)
		}
	}
	s.good(t)
}

// TestEngineIsNotTheApplications: functions of the engine refuse whoever calls them
// from an application, start_response what is not its own, and a head has a bound.
func TestEngineIsNotTheApplications(t *testing.T) {
	s := serveWild(t, 2)
	if got := s.ask(t, "/native"); got != "allowed: " {
		t.Errorf("GET /native: %q", got)
	}
	if got := s.ask(t, "/exc-info"); got != "head, refused" {
		t.Errorf("GET /exc-info: %q", got)
	}
	if r := s.answer(t, get("/restarts")); !strings.HasPrefix(r.Status, "500") {
		t.Errorf("GET /restarts: %s", r.Status)
	}
	if r := s.answer(t, get("/long")); !strings.HasPrefix(r.Status, "500") {
		t.Errorf("GET /long: %s", r.Status)
	}
	s.good(t)
}

// TestWildApplications throws random behaviour at the server, on clients that leave:
// whatever it does, the worker survives and the next good request is answered.
func TestWildApplications(t *testing.T) {
	for _, threads := range []int{1, 3} {
		t.Run(fmt.Sprintf("threads=%d", threads), func(t *testing.T) {
			s := serveWild(t, threads)
			seed := uint64(time.Now().UnixNano())
			t.Logf("seed %d", seed)
			var all sync.WaitGroup
			for i := range uint64(4) {
				all.Go(func() {
					rng := rand.New(rand.NewPCG(seed, i))
					for range 250 {
						wildRequest(s, rng)
					}
				})
			}
			all.Wait()
			s.good(t)
		})
	}
}

// wildRequest sends one request and reads what comes, if it does not leave before.
func wildRequest(s *suite, rng *rand.Rand) {
	if c := wild.Dial(strings.TrimPrefix(s.p.URL, "http://")); c != nil {
		defer c.Close()
		wild.Ask(c, rng, "")
	}
}

// A leakKind is a request that is made many times while the memory is watched.
type leakKind struct {
	name, request string
	apart         bool // the connection does not survive it
	leaves        bool // the client does not wait for the answer
}

var leakKinds = []leakKind{
	{name: "whole", request: get("/ok")},
	{name: "names", request: get("/ok", "X-"+strings.Repeat("long-", 10)+"$N: 1")},
	{name: "short-names", request: get("/ok", "X-$N: 1", "X-$N: 2")},
	{name: "query", request: get("/ok?n=$N")},
	{name: "fails", request: get("/fails"), apart: true},
	{name: "late", request: get("/late"), apart: true},
	{name: "wrong", request: get("/wrong")},
	{name: "pieces", request: get("/pieces")},
	{name: "body", request: post("/body", strings.Repeat("b", 2000))},
	{name: "long-body", request: post("/body", strings.Repeat("b", 2_500_000)), apart: true},
	{name: "file", request: get("/file"), apart: true},
	{name: "leaves", request: get("/pieces"), apart: true, leaves: true},
	{name: "cut-body", request: post("/body", strings.Repeat("b", 2_500_000))[:1_000_000],
		apart: true, leaves: true},
}

// TestNothingLeaks: no kind of request leaves anything behind, neither objects of
// Python nor memory of the process.
func TestNothingLeaks(t *testing.T) {
	s := serveWild(t, 2)
	for _, k := range leakKinds {
		t.Run(k.name, func(t *testing.T) {
			n := 20_000
			if k.apart {
				n = 2000
			}
			if len(k.request) > 100_000 {
				n = 200
			}
			run := func(n int) {
				if err := k.run(strings.TrimPrefix(s.p.URL, "http://"), n); err != nil {
					t.Fatal(err)
				}
			}
			run(n / 2)
			ask := func(path string) string { return s.ask(t, path) }
			wild.WantLevel(t, 12, n, ask, run)
		})
	}
}

// run makes n requests, many on a connection where that is possible.
func (k *leakKind) run(addr string, n int) error {
	for done := 0; done < n; {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			return err
		}
		batch := min(n-done, 500)
		if k.apart {
			batch = 1
		}
		if err := k.ask(c, done, batch); err != nil {
			return fmt.Errorf("%s, request %d: %w", k.name, done, err)
		}
		_ = c.Close()
		done += batch
	}
	return nil
}

// ask makes requests on one connection, a few at a time.
func (k *leakKind) ask(c net.Conn, first, n int) error {
	_ = c.SetDeadline(time.Now().Add(30 * time.Second))
	r := bufio.NewReader(c)
	for done := 0; done < n; {
		few := min(n-done, 10)
		var text strings.Builder
		for i := range few {
			text.WriteString(wild.Numbered(k.request, first+done+i))
		}
		if _, err := io.WriteString(c, text.String()); err != nil {
			return err
		}
		for i := 0; i < few && !k.leaves; i++ {
			res, err := http.ReadResponse(r, nil)
			if err != nil {
				return err
			}
			if _, err := io.Copy(io.Discard, res.Body); err != nil && !k.apart {
				return err
			}
		}
		done += few
	}
	return nil
}
