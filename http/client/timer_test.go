// SPDX-License-Identifier: MIT

package client

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// TestTimerThatFiresEarly: the timer of an earlier request is left running and
// fires in a later one, which has time left; what is too late is found out at
// the moment it is. Time is not real here.
func TestTimerThatFiresEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		delays := []time.Duration{0, 900 * time.Millisecond, 900 * time.Millisecond, 2 * time.Second}
		dial := func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			go func() {
				defer far.Close()
				in := bufio.NewReader(far)
				for i, delay := range delays {
					if _, err := http.ReadRequest(in); err != nil {
						return
					}
					time.Sleep(delay)
					head := usual[:len(usual)-2]
					if _, err := io.WriteString(far, head); err != nil {
						return
					}
					if i == 0 { // the timer is set to the end of BodyTimeout
						time.Sleep(1200 * time.Millisecond)
					}
					_, _ = io.WriteString(far, "al")
				}
			}()
			return near, nil
		}
		c := New(Config{Dial: dial, HeadTimeout: time.Second, BodyTimeout: 10 * time.Second})
		defer c.Close()
		for i := range 3 {
			if _, err := c.Get(t.Context(), "http://a/"); err != nil {
				t.Fatalf("request %d, answered in time: %v", i, err)
			}
			time.Sleep(500 * time.Millisecond)
		}
		start := time.Now()
		if _, err := c.Get(t.Context(), "http://a/"); kindOfError(err) != Timeout {
			t.Errorf("no answer: %v, want %v", err, Timeout)
		}
		if took := time.Since(start); took != time.Second {
			t.Errorf("timed out behind %v, want 1s", took)
		}
		time.Sleep(3 * time.Second) // the server ends
	})
}

// TestLookingBacksOff: who looks for answers that are never there at once stops
// doing so, but for a try now and then.
func TestLookingBacksOff(t *testing.T) {
	if !canPeek {
		t.Skip("this system cannot peek")
	}
	srv := newScripted(t, script{end: deaf})
	nc, err := net.Dial("tcp", srv.listen())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	var p peeker
	p.of(nc)
	looks, b := 0, make([]byte, 10)
	look := p.look
	looked := false
	p.look = func(fd uintptr) {
		looked = true
		look(fd)
	}
	for range 4 * spinSkipMax {
		looked = false
		if n := p.spin(b); n != 0 {
			t.Fatalf("spin = %d without an answer", n)
		}
		if looked {
			looks++
		}
	}
	if looks < 3 || looks > 20 {
		t.Errorf("looked for %d of %d answers, want about a dozen", looks, 4*spinSkipMax)
	}
}
