// SPDX-License-Identifier: MIT

//go:build linux

package faults

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"m0serve.dev/apps/internal/ledger"
	"m0serve.dev/apps/internal/smoketest"
)

// A crowd is clients that keep their connections for a while and send no request twice.
// All that becomes of what they send is in the ledger.
type crowd struct {
	ledger.Requests
	url   string
	ask   func(n int) question
	size  int
	stop  chan struct{}
	once  sync.Once
	group sync.WaitGroup
}

// A question is one request, and what its answer says.
type question struct {
	method, path, body string
	status             int                                 // 0: 200
	check              func(body string) error             // nil: anything
	worker             func(*http.Response, string) string // who answered; nil: X-Worker
}

// word asks host_check for its word.
func word(int) question {
	return question{method: "GET", path: "/", check: func(body string) error {
		if body != "host_check\n" {
			return fmt.Errorf("got %.40q", body)
		}
		return nil
	}}
}

// gather starts clients, which the test ends.
func gather(t *testing.T, url string, size int, rnd *rand.Rand, ask func(int) question) *crowd {
	t.Helper()
	c := &crowd{url: url, size: size, ask: ask, stop: make(chan struct{})}
	for range size {
		own := rand.New(rand.NewPCG(rnd.Uint64(), 2))
		c.group.Go(func() { c.client(own) })
	}
	t.Cleanup(c.leave)
	return c
}

// leave ends all clients; each first reads the answer it waits for.
func (c *crowd) leave() {
	c.once.Do(func() { close(c.stop) })
	c.group.Wait()
}

func (c *crowd) left() bool {
	select {
	case <-c.stop:
		return true
	default:
		return false
	}
}

// keptMost bounds the requests on one connection.
const keptMost = 40

func (c *crowd) client(rnd *rand.Rand) {
	for n := 0; !c.left(); {
		f := ledger.Failure{Opened: time.Now()}
		conn, err := net.DialTimeout("tcp", strings.TrimPrefix(c.url, "http://"), patience)
		if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) {
			c.Refused()                  // nothing was sent
			time.Sleep(time.Millisecond) // or a service that is gone costs a processor
			continue
		}
		c.Sent()
		if err != nil {
			f.At, f.Err = time.Now(), err
			c.Failed(f)
			continue
		}
		f.Joined = time.Now()
		in := bufio.NewReader(conn)
		for i := 1 + rnd.IntN(keptMost); ; i-- {
			n++
			if !c.request(conn, in, c.ask(n), &f) || i <= 1 || c.left() {
				break
			}
			c.Sent()
		}
		_ = conn.Close()
	}
}

// request sends one request that was counted, and reports whether the connection is
// good for another.
func (c *crowd) request(conn net.Conn, in *bufio.Reader, q question, f *ledger.Failure) bool {
	_ = conn.SetDeadline(time.Now().Add(patience))
	_, err := fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n%s",
		q.method, q.path, len(q.body), q.body)
	var resp *http.Response
	if err == nil {
		resp, err = http.ReadResponse(in, &http.Request{Method: q.method})
	}
	var body []byte
	if err == nil {
		body, err = io.ReadAll(resp.Body)
	}
	if err == nil {
		err = q.wrong(resp, string(body))
	}
	if err != nil {
		f.At, f.Got, f.Err = time.Now(), string(body), err
		c.Failed(*f)
		return false
	}
	f.Worker = resp.Header.Get("X-Worker")
	if q.worker != nil {
		f.Worker = q.worker(resp, string(body))
	}
	c.Answered(f.Worker)
	return !resp.Close
}

func (q question) wrong(resp *http.Response, body string) error {
	want := q.status
	if want == 0 {
		want = http.StatusOK
	}
	if resp.StatusCode != want {
		return fmt.Errorf("status %d, want %d", resp.StatusCode, want)
	}
	if q.check == nil {
		return nil
	}
	return q.check(body)
}

// more waits until so many more requests are answered.
func (c *crowd) more(t *testing.T, n int) {
	t.Helper()
	before := c.Answers()
	until(t, fmt.Sprintf("%d more answers", n), func() bool { return c.Answers() >= before+n })
}

// verdict ends the clients and fails the test for every request that failed although
// no death explains it, and when fewer than least were answered.
func (c *crowd) verdict(t *testing.T, least int) {
	t.Helper()
	c.leave()
	t.Logf("requests: %v", &c.Requests)
	for i, f := range c.Unexplained(c.size) {
		if i == 5 {
			t.Errorf("… and more")
			break
		}
		t.Errorf("a request failed, and no death explains it: %v", f)
	}
	if err := c.Floor(least); err != nil {
		t.Error(err)
	}
}

// kill ends a worker by a signal and puts its death down in the ledger.
func (c *crowd) kill(t *testing.T, pid int, worker string, sig syscall.Signal) {
	t.Helper()
	from := time.Now()
	smoketest.Kill(t, pid, sig)
	until(t, "the end of a killed worker", func() bool { return smoketest.Gone(pid) })
	c.Died(ledger.Death{Worker: worker, From: from, To: time.Now()})
}
