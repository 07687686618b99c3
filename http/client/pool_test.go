// SPDX-License-Identifier: MIT

package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"
)

// hold opens an answer that keeps its connection until it is closed.
func hold(t *testing.T, c *Client, url string) *Stream {
	t.Helper()
	s, err := c.Open(within(t), &Request{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// waits asks for url, which has to wait for a connection, and returns where its error comes.
func waits(t *testing.T, c *Client, url string) <-chan error {
	t.Helper()
	done := make(chan error)
	go func() {
		_, err := c.Get(within(t), url)
		done <- err
	}()
	untilWaiting(t, c, 1)
	return done
}

// untilWaiting waits until n requests wait for a connection.
func untilWaiting(t *testing.T, c *Client, n int) {
	t.Helper()
	until(t, fmt.Sprint(n, " requests to wait"), func() bool { return c.Stats().Waiting == n })
}

// held is an answer that is not whole.
var held = script{send: len5 + "\r\nhel", end: hang}

func TestWaitInOrder(t *testing.T) {
	srv := newScripted(t, held)
	c := newClient(t, Config{PerHost: 1, Dial: srv.pipe})
	first := hold(t, c, "http://a/")
	var all sync.WaitGroup
	for i := range 5 {
		all.Go(func() {
			if _, err := c.Get(within(t), fmt.Sprintf("http://a/%d", i)); err != nil {
				t.Error(err)
			}
		})
		untilWaiting(t, c, i+1)
	}
	first.Close()
	all.Wait()
	want := []string{"0 GET / ", "1 GET /0 ", "1 GET /1 ", "1 GET /2 ", "1 GET /3 ", "1 GET /4 "}
	if got := srv.seen(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the server saw %q, want %q", got, want)
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	srv := newScripted(t, held)
	c := newClient(t, Config{PerHost: 1, Dial: srv.pipe})
	first := hold(t, c, "http://a/")
	ctx, cancel := context.WithCancel(within(t))
	gone, stays := make(chan error), make(chan error)
	go func() {
		_, err := c.Get(ctx, "http://a/gone")
		gone <- err
	}()
	untilWaiting(t, c, 1)
	go func() {
		_, err := c.Get(within(t), "http://a/stays")
		stays <- err
	}()
	untilWaiting(t, c, 2)
	cancel()
	if err := <-gone; kindOfError(err) != Canceled || !errors.Is(err, context.Canceled) {
		t.Errorf("Get = %v, want %v", err, Canceled)
	}
	first.Close()
	if err := <-stays; err != nil {
		t.Errorf("the request behind it: %v", err)
	}
}

func TestTooManyWait(t *testing.T) {
	srv := newScripted(t, held)
	c := newClient(t, Config{PerHost: 1, Waiting: 1, Dial: srv.pipe})
	first := hold(t, c, "http://a/")
	done := waits(t, c, "http://a/")
	if _, err := c.Get(within(t), "http://a/"); kindOfError(err) != Busy {
		t.Errorf("Get = %v, want %v", err, Busy)
	}
	if s := c.Stats(); s.Busy != 1 {
		t.Errorf("%d counted as busy, want 1", s.Busy)
	}
	first.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestTotal: a connection that is idle at one host makes place for another
// host, and one in use does when its answer is whole.
func TestTotal(t *testing.T) {
	srv := newScripted(t, script{send: usual}, script{send: usual})
	c := newClient(t, Config{Total: 1, Dial: srv.pipe})
	if _, err := c.Get(within(t), "http://a/"); err != nil {
		t.Fatal(err)
	}
	s := hold(t, c, "http://b/") // takes the place of the idle one
	if got := c.Stats(); got.Open != 1 || got.Dials != 2 {
		t.Errorf("%+v, want one open of two dialed", got)
	}
	// Its answer is whole, but the place is still its own when another asks.
	s2 := make(chan error)
	srv.mu.Lock()
	srv.scripts = append(srv.scripts, held)
	srv.mu.Unlock()
	s.Close()
	s = hold(t, c, "http://c/")
	go func() {
		_, err := c.Get(within(t), "http://d/")
		s2 <- err
	}()
	untilWaiting(t, c, 1)
	s.Close()
	if err := <-s2; err != nil {
		t.Error(err)
	}
}

// TestWholeAnswerMakesPlace: who waits because of Total gets the place of a
// connection that could be kept.
func TestWholeAnswerMakesPlace(t *testing.T) {
	srv := newScripted(t, script{send: len5 + "\r\nhel", end: wait, late: "lo"})
	c := newClient(t, Config{Total: 1, Dial: srv.pipe})
	s := hold(t, c, "http://a/")
	done := waits(t, c, "http://b/")
	srv.goOn <- struct{}{}
	for {
		if _, err := s.Next(); err != nil {
			break
		}
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestIdleConnectionsAreClosed(t *testing.T) {
	srv := newScripted(t)
	c := newClient(t, Config{IdleTimeout: 10 * time.Millisecond, Dial: srv.pipe})
	for range 2 { // the second time with a timer that has run before
		if _, err := c.Get(within(t), "http://a/"); err != nil {
			t.Fatal(err)
		}
		until(t, "the idle connection to be closed", func() bool { return c.Stats().Open == 0 })
	}
}

func TestKeepAliveOff(t *testing.T) {
	srv := newScripted(t)
	c := newClient(t, Config{NoKeepAlive: true, Dial: srv.pipe})
	for range 3 {
		if _, err := c.Get(within(t), "http://a/"); err != nil {
			t.Fatal(err)
		}
	}
	if s := c.Stats(); s.Dials != 3 || s.Open != 0 {
		t.Errorf("%+v, want three dials and none open", s)
	}
}

func TestClose(t *testing.T) {
	srv := newScripted(t, held)
	c := newClient(t, Config{PerHost: 1, Dial: srv.pipe})
	first := hold(t, c, "http://a/")
	done := waits(t, c, "http://a/")
	c.Close()
	if err := <-done; kindOfError(err) != Closed {
		t.Errorf("the one who waited: %v, want %v", err, Closed)
	}
	if _, err := c.Get(within(t), "http://a/"); kindOfError(err) != Closed {
		t.Errorf("Get = %v, want %v", err, Closed)
	}
	first.Close()
	if s := c.Stats(); s.Open != 0 || s.Idle != 0 {
		t.Errorf("%+v, want none open", s)
	}
}

func TestCloseIdle(t *testing.T) {
	srv := newScripted(t)
	c := newClient(t, Config{Dial: srv.pipe})
	for _, url := range []string{"http://a/", "http://b/"} {
		if _, err := c.Get(within(t), url); err != nil {
			t.Fatal(err)
		}
	}
	if c.CloseIdle(); c.Stats().Open != 0 {
		t.Errorf("%+v, want none open", c.Stats())
	}
	if _, err := c.Get(within(t), "http://a/"); err != nil {
		t.Error(err)
	}
}

// A counted connection is one of a bounded number.
type counted struct {
	net.Conn
	once  sync.Once
	close func()
}

func (c *counted) Close() error {
	c.once.Do(c.close)
	return c.Conn.Close()
}

// TestPoolUnderLoad: requests to several hosts, some of which give up, never
// have more connections than allowed, and all places are there in the end.
func TestPoolUnderLoad(t *testing.T) {
	srv := newScripted(t)
	var mu sync.Mutex
	open := map[string]int{}
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		near, err := srv.pipe(ctx, network, addr)
		mu.Lock()
		defer mu.Unlock()
		for _, key := range []string{addr, "all"} {
			open[key]++
		}
		if open[addr] > 2 || open["all"] > 4 {
			t.Errorf("%v open, want at most 2 a host and 4 in all", open)
		}
		return &counted{Conn: near, close: func() {
			mu.Lock()
			defer mu.Unlock()
			open[addr]--
			open["all"]--
		}}, err
	}
	c := newClient(t, Config{PerHost: 2, Total: 4, Dial: dial})
	var all sync.WaitGroup
	for seed := range 16 {
		all.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(seed), 1))
			for range 100 {
				ctx, cancel := context.WithCancel(within(t))
				if rnd.IntN(4) == 0 {
					time.AfterFunc(time.Duration(rnd.IntN(200))*time.Microsecond, cancel)
				}
				_, err := c.Get(ctx, fmt.Sprintf("http://host%d/", rnd.IntN(4)))
				if err != nil && kindOfError(err) != Canceled {
					t.Error(err)
				}
				cancel()
			}
		})
	}
	all.Wait()
	if s := c.Stats(); s.Open != s.Idle || s.Waiting != 0 || s.Open > 4 {
		t.Errorf("%+v, want nothing in use", s)
	}
}
