// SPDX-License-Identifier: MIT

//go:build linux

package faults

import (
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"m0serve.dev/apps/internal/smoketest"
)

// envHours says how long the soak goes on, in hours; unset: a count of rounds.
const envHours = "M0_SOAK_HOURS"

// A round of the soak has so many requests before a worker is killed, and behind it at
// least; for hours it lasts a minute.
const (
	roundRequests = 300
	roundTime     = time.Minute
)

// What the processes that live on may grow by: so much an hour, and in any time what a
// collector leaves to chance.
const (
	growthAnHour = 1 << 20
	growthLeast  = 8 << 20
)

// looksLeast are as many as say something about memory.
const looksLeast = 16

// soakTime is how long the soak goes on, 0 for a count of rounds.
func soakTime(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv(envHours)
	if text == "" {
		return 0
	}
	hours, err := strconv.ParseFloat(text, 64)
	if err != nil || hours <= 0 {
		t.Fatalf("%s=%q: want hours", envHours, text)
	}
	return time.Duration(hours * float64(time.Hour))
}

// A size is what a process that lives through the soak has between two rounds.
type size struct {
	bytes uint64 // resident
	files int
}

// sizes looks at processes when nobody is connected.
func sizes(t *testing.T, p *smoketest.Process, pids []int) []size {
	t.Helper()
	until(t, "no connection", func() bool {
		f, ok := ask(p)
		return ok && len(f.Fleet) == 2 &&
			f.Fleet[0].Connections+f.Fleet[1].Connections <= 1 // it counts who asks
	})
	all := make([]size, 0, len(pids))
	for _, pid := range pids {
		_, resident := memory(t, pid)
		all = append(all, size{resident, descriptors(t, pid)})
	}
	return all
}

// soakRound is load on the whole service, and a kill of worker 1 in the middle. Each
// round has its own ledger, so that the account of hours does not fill the memory.
func soakRound(t *testing.T, p *smoketest.Process, last time.Duration, before []uint64) (
	returns int, recent []uint64) {
	t.Helper()
	began := time.Now()
	ls := listen(t, p.URL+"/events", 8)
	for _, id := range before { // a successor may still be catching up with these
		ls.Published(id)
	}
	w := newWriter(t, p, ls.Events)
	w.run()
	ls.first(t)
	c := gather(t, p.URL, clients, random(t), word)
	half := func(behind time.Duration) {
		c.more(t, roundRequests)
		for time.Since(began) < behind {
			c.more(t, roundRequests)
		}
	}
	half(last / 2)
	old := p.Workers(t)[1]
	c.kill(t, old, "1", syscall.SIGKILL)
	serves(t, p, 1, old)
	half(last)
	if n := c.Refusals(); n != 0 {
		t.Errorf("%d connections were refused while a sibling served, want 0", n)
	}
	c.verdict(t, 2*roundRequests)
	v := ls.verdict(t, w, len(before)+20, 0)
	if v.Told+w.refused > 0 {
		t.Errorf("%d events in journals were missed, and told of, and %d were refused beside a"+
			" worker that takes them: want 0", v.Told, w.refused)
	}
	return v.Returns, w.recent
}

// TestSoak is F20: load of requests, streams and a publisher while a worker is killed in
// every round. Nothing that was confirmed is lost or comes twice, and neither the
// supervisor nor the worker that lives on grows in memory or descriptors.
func TestSoak(t *testing.T) {
	rounds, hours, last := times(4, 40), soakTime(t), time.Duration(0)
	if hours > 0 {
		rounds, last = int(max(4, hours/roundTime)), min(roundTime, hours/4)
	}
	// A collector that hoards would look like a leak.
	p := startHost(t, "GOGC=20", "GOMEMLIMIT=16MiB")
	pids := []int{p.Cmd.Process.Pid, p.Workers(t)[0]}
	var looks [][]size
	var recent []uint64
	returns, began := 0, time.Now()
	for n := range rounds {
		var came int
		came, recent = soakRound(t, p, last, recent)
		returns += came
		looks = append(looks, sizes(t, p, pids))
		if t.Failed() {
			t.Fatalf("round %d of %d", n+1, rounds)
		}
	}
	if returns < rounds {
		t.Errorf("vacuous: streams came back %d times over %d kills", returns, rounds)
	}
	allowed := max(growthLeast, uint64(time.Since(began).Hours()*growthAnHour))
	for i, name := range []string{"the supervisor", "worker 0"} {
		grown(t, name, i, looks, allowed)
	}
}

// grown compares the second quarter of the looks at a process with the last: in the
// first, caches fill.
func grown(t *testing.T, name string, i int, looks [][]size, allowed uint64) {
	t.Helper()
	mean := func(looks [][]size) (bytes uint64, files int) {
		for _, look := range looks {
			bytes += look[i].bytes / uint64(len(looks))
			files = max(files, look[i].files)
		}
		return bytes, files
	}
	quarter := len(looks) / 4
	before, filesBefore := mean(looks[quarter : 2*quarter])
	after, filesAfter := mean(looks[3*quarter:])
	t.Logf("%s: %d kB and %d descriptors, then %d kB and %d", name, before>>10, filesBefore,
		after>>10, filesAfter)
	if len(looks) >= looksLeast && after > before+allowed {
		t.Errorf("%s grew from %d to %d kB, allowed are %d", name, before>>10, after>>10, allowed>>10)
	}
	if filesAfter > filesBefore+1 { // who asks may be there
		t.Errorf("%s had %d descriptors and has %d", name, filesBefore, filesAfter)
	}
}
