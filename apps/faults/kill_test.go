// SPDX-License-Identifier: MIT

//go:build linux

package faults

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

const clients = 8

// TestKilledWorkers is F1 on host_check: kill -9 of a worker at random times, seen in
// the ledger. Only what was in flight on its own connections fails, streams come back
// and miss nothing, and the log names the signal. The longer a worker has died again and
// again, the longer its successor is waited for: the long run kills the two of one
// service, the short one those of several.
func TestKilledWorkers(t *testing.T) {
	const kills = 50
	each := times(5, kills)
	rnd := random(t)
	for n := range kills / each {
		if !t.Run(name(n), func(t *testing.T) { killWorkers(t, rnd, each) }) {
			return
		}
	}
}

// killWorkers kills the workers of one service so many times.
func killWorkers(t *testing.T, rnd *rand.Rand, kills int) {
	p := startHost(t)
	ls := listenToBoth(t, p.URL+"/events")
	w := newWriter(t, p, ls.Events)
	w.run()
	ls.first(t)
	c := gather(t, p.URL, clients, rnd, word)
	// In random order, but each worker in its turn: one without streams would prove nothing
	// however often it dies, and streams that left one are on the other when that is killed.
	for _, n := range rnd.Perm(kills) {
		c.more(t, 20+rnd.IntN(200))
		index := n % 2
		old := p.Workers(t)[index]
		c.kill(t, old, strconv.Itoa(index), syscall.SIGKILL)
		says(t, p, 1, fmt.Sprintf("pid=%d index=%d signal=killed", old, index))
		serves(t, p, index, old)
	}
	c.more(t, 100)
	if n := c.Refusals(); n != 0 {
		t.Errorf("%d connections were refused while a sibling served, want 0", n)
	}
	c.verdict(t, kills*20)
	if v := ls.verdict(t, w, kills*10, kills); v.Told > 0 {
		t.Errorf("%d events in journals were missed, and told of: want 0", v.Told)
	}
	if n := strings.Count(p.Log(), "worker: ended"); n != kills {
		t.Errorf("%d deaths are logged, want %d", n, kills)
	}
}
