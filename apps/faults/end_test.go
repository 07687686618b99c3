// SPDX-License-Identifier: MIT

//go:build linux

package faults

import (
	"errors"
	"io"
	"math/rand/v2"
	"net/url"
	"syscall"
	"testing"
	"time"

	"m0serve.dev/apps/internal/ledger"
	"m0serve.dev/apps/internal/smoketest"
)

// TestTermUnderLoad is F4: SIGTERM while clients that keep their connections ask, of one
// service after the other. All that was accepted before is answered, the service leaves
// with 0, and who comes then is refused.
func TestTermUnderLoad(t *testing.T) {
	rnd := random(t)
	for n := range 20 {
		if !t.Run(name(n), func(t *testing.T) { termUnderLoad(t, rnd) }) {
			return
		}
	}
}

// termUnderLoad stops one service.
func termUnderLoad(t *testing.T, rnd *rand.Rand) {
	p := startHost(t)
	c := gather(t, p.URL, clients, rnd, word)
	c.more(t, 300+rnd.IntN(300))
	told := c.endsWith(t, p)
	for _, f := range c.Failures() {
		if !isUnseen(f, told) {
			t.Errorf("a request that was accepted before the stop at %s: %v",
				told.Format("05.000000"), f)
		}
	}
	if err := c.Floor(300); err != nil {
		t.Error(err)
	}
}

// endsWith tells a service to end under its load: it leaves with 0, and who comes then is
// refused.
func (c *crowd) endsWith(t *testing.T, p *smoketest.Process) (told time.Time) {
	t.Helper()
	told = time.Now()
	p.Signal(t, syscall.SIGTERM)
	if code := exit(t, p); code != 0 {
		t.Errorf("exit %d, want 0", code)
	}
	until(t, "refused connections", func() bool { return c.Refusals() > 0 })
	c.leave()
	return told
}

// isUnseen reports that a failure is of a connection that no server accepted: it was
// made behind the stop, nobody ever answered on it, and it was closed without a byte.
func isUnseen(f ledger.Failure, told time.Time) bool {
	return f.Worker == "" && f.Got == "" && (f.Joined.IsZero() || f.Joined.After(told)) &&
		(errors.Is(f.Err, syscall.ECONNRESET) || errors.Is(f.Err, syscall.EPIPE) ||
			errors.Is(f.Err, io.ErrUnexpectedEOF) || errors.Is(f.Err, io.EOF))
}

// TestKilledService is F3: kill -9 of the supervisor under load. No worker outlives it,
// its port is free for the next service at once, and streams that come back there are
// told that they may have missed something.
func TestKilledService(t *testing.T) {
	rnd := random(t)
	p := startHost(t)
	address, err := url.Parse(p.URL)
	if err != nil {
		t.Fatal(err)
	}
	port := "M0_PORT=" + address.Port()
	ls := listenToBoth(t, p.URL+"/events")
	c := gather(t, p.URL, clients, rnd, word)
	rounds := times(2, 20)
	for range rounds {
		w := newWriter(t, p, ls.Events)
		before := ls.Count()
		w.run()
		until(t, "20 notes", func() bool { return ls.Count() >= before+20 })
		c.more(t, 100)
		workers := p.Workers(t)
		if len(workers) != 2 {
			t.Fatalf("%d workers, want 2", len(workers))
		}
		from := time.Now()
		p.Signal(t, syscall.SIGKILL)
		until(t, "the end of the supervisor", func() bool { return p.Ended() != "" })
		for _, pid := range workers {
			until(t, "the end of every worker", func() bool { return smoketest.Gone(pid) })
		}
		w.end()
		for _, worker := range []string{"0", "1", ""} { // and the listener
			c.Died(ledger.Death{Worker: worker, From: from, To: time.Now()})
		}
		p = smoketest.StartIn(t, p.Cmd.Dir, hostBinary(t), "M0_WORKERS=2", quiet, port)
	}
	w := newWriter(t, p, ls.Events)
	w.run()
	before := ls.Count()
	until(t, "20 notes more", func() bool { return ls.Count() >= before+20 })
	c.more(t, 100)
	c.verdict(t, rounds*100)
	ls.verdict(t, w, rounds*20, rounds*8)
}
