// SPDX-License-Identifier: MIT

//go:build linux

package wsgiops

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"m0serve.dev/apps/internal/rawhttp"
	"m0serve.dev/apps/internal/smoketest"
)

// A crowd is clients that keep their connections and send no request twice, so that
// every request the service loses is seen. Half of what they send has a body.
type crowd struct {
	url      string
	answered atomic.Int64
	stopped  atomic.Bool
	done     sync.WaitGroup

	mu     sync.Mutex
	failed []error
	pids   map[string]int // answers by each process
}

// gather starts n clients.
func gather(p *smoketest.Process, n int) *crowd {
	c := &crowd{url: p.URL, pids: map[string]int{}}
	for i := range n {
		c.done.Go(func() { c.client(i) })
	}
	return c
}

// leave ends all clients and fails the test for every request that was lost, or when
// fewer than least were sent.
func (c *crowd) leave(t *testing.T, least int64) {
	t.Helper()
	c.stopped.Store(true)
	c.done.Wait()
	for i, err := range c.failed {
		if i == 5 {
			t.Errorf("… and %d more", len(c.failed)-i)
			break
		}
		t.Error(err)
	}
	if n := c.answered.Load(); n < least {
		t.Errorf("%d requests were answered, want at least %d to show anything", n, least)
	}
}

func (c *crowd) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed = append(c.failed, err)
}

// client opens one connection after the other, each when the server announces the
// end of the one before.
func (c *crowd) client(number int) {
	for round := 0; !c.stopped.Load(); {
		conn, err := rawhttp.Dial(c.url)
		if err != nil {
			c.fail(fmt.Errorf("client %d, request %d: %v", number, round, err))
			return
		}
		first, at := round, time.Now()
		for isOpen := true; isOpen && !c.stopped.Load(); round++ {
			sent := time.Now()
			isOpen, err = c.request(conn, number, round)
			if err != nil {
				c.fail(fmt.Errorf("client %d, request %d, number %d of its connection, sent %v "+
					"behind the last answer, failed %v later: %v", number, round, round-first,
					sent.Sub(at), time.Since(sent), err))
				isOpen = false
			}
			at = time.Now()
		}
		_ = conn.Close()
	}
}

// request sends one and checks its answer.
func (c *crowd) request(conn *rawhttp.Conn, number, round int) (isOpen bool, err error) {
	text, want := get("/pid"), ""
	if round%2 == 1 {
		want = strings.Repeat(strconv.Itoa(number*1000+round%1000)+" ", 1+round%200)
		text = post("/echo", want)
	}
	conn.Send(text)
	r, err := conn.Read(text[:strings.IndexByte(text, ' ')])
	if err != nil {
		return false, err
	}
	if r.Status != "200 OK" || want != "" && string(r.Body) != want {
		return false, errors.New("answered " + r.Status + " " + string(r.Body))
	}
	if want == "" {
		c.mu.Lock()
		c.pids[string(r.Body)]++
		c.mu.Unlock()
	}
	c.answered.Add(1)
	return r.Get("Connection") != "close", nil
}
