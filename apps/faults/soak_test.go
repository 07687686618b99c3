// SPDX-License-Identifier: MIT

//go:build linux

package faults

import (
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"m0serve.dev/apps/internal/pyserver"
	"m0serve.dev/apps/internal/smoketest"
	"m0serve.dev/apps/internal/wild"
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

// A soaked is a service of two workers under the soak.
type soaked struct {
	*smoketest.Process
	ask    func(n int) question
	called func(index, pid int) string // a worker in answers
	serves func(t *testing.T, p *smoketest.Process, index, old int)
}

// A size is what a process that lives through the soak has between two rounds.
type size struct {
	bytes uint64 // resident
	files int
}

// sizes looks at processes when nobody is connected.
func sizes(t *testing.T, p *smoketest.Process, pids []int) []size {
	t.Helper()
	until(t, "no connection", func() bool { return connections(t, p) == 0 })
	all := make([]size, 0, len(pids))
	for _, pid := range pids {
		_, resident := memory(t, pid)
		all = append(all, size{resident, descriptors(t, pid)})
	}
	return all
}

// connections counts those that a service has a descriptor for, which are those with an
// inode.
func connections(t *testing.T, p *smoketest.Process) (n int) {
	t.Helper()
	const isListener = "0A"
	address, err := url.Parse(p.URL)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(address.Port())
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := os.ReadFile(table)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line) // number, local, remote, state, …, inode
			if len(f) > 9 && strings.HasSuffix(f[1], fmt.Sprintf(":%04X", port)) &&
				f[3] != isListener && f[9] != "0" {
				n++
			}
		}
	}
	return n
}

// soakRound is load on the whole service, and a kill of worker 1 in the middle. Each
// round has its own ledger, so that the account of hours does not fill the memory.
func soakRound(t *testing.T, p soaked, last time.Duration, before []uint64) (
	returns int, recent []uint64) {
	t.Helper()
	began := time.Now()
	ls := listen(t, p.URL+"/events", 8)
	for _, id := range before { // a successor may still be catching up with any of these
		ls.Published(id)
	}
	w := newWriter(t, p.Process, ls.Events)
	w.recent = before
	w.run()
	ls.first(t)
	c := gather(t, p.URL, clients, random(t), p.ask)
	half := func(behind time.Duration) {
		c.more(t, roundRequests)
		for time.Since(began) < behind {
			c.more(t, roundRequests)
		}
	}
	half(last / 2)
	old := p.Workers(t)[1]
	c.kill(t, old, p.called(1, old), syscall.SIGKILL)
	p.serves(t, p.Process, 1, old)
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
// supervisor nor the worker that lives on grows in memory or descriptors. For hours both
// servers are under it at once.
func TestSoak(t *testing.T) {
	hours := soakTime(t)
	run := func(server string, start func(*testing.T) soaked) {
		t.Run(server, func(t *testing.T) {
			if hours > 0 {
				t.Parallel()
			}
			soak(t, start(t), hours)
		})
	}
	run("host", soakedHost)
	run("wsgi", soakedWild)
}

// soakedHost is host_check. A collector that hoards would look like a leak.
func soakedHost(t *testing.T) soaked {
	t.Helper()
	return soaked{startHost(t, wild.Environ()...), word,
		func(index, _ int) string { return strconv.Itoa(index) }, serves}
}

// soakedWild is wild.py under m0serve, whose answers name the process.
func soakedWild(t *testing.T) soaked {
	t.Helper()
	p := startPython(t, &servers, pyserver.Config{Dir: copied(t, "wild"), App: "wild:app",
		Workers: 2, Threads: 2, Args: []string{"--realtime"}, Env: wild.Environ()})
	return soaked{p, wildWord,
		func(_, pid int) string { return strconv.Itoa(pid) }, servesWild}
}

// servesWild waits until another process than old answers as the worker at index.
func servesWild(t *testing.T, p *smoketest.Process, index, old int) {
	t.Helper()
	var pid int
	until(t, fmt.Sprintf("a successor of worker %d", index), func() bool {
		pid = p.Workers(t)[index]
		return pid != 0 && pid != old
	})
	_ = connectTo(t, p, pid).Close()
}

// soak is so many hours, or rounds, of load on a service.
func soak(t *testing.T, p soaked, hours time.Duration) {
	rounds, last := times(4, 40), time.Duration(0)
	if hours > 0 {
		rounds, last = int(max(4, hours/roundTime)), min(roundTime, hours/4)
	}
	pids := []int{p.Cmd.Process.Pid, p.Workers(t)[0]}
	var looks [][]size
	var recent []uint64
	returns, began := 0, time.Now()
	for n := range rounds {
		var came int
		came, recent = soakRound(t, p, last, recent)
		returns += came
		looks = append(looks, sizes(t, p.Process, pids))
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
	if filesAfter > filesBefore+1 { // who published may be there
		t.Errorf("%s had %d descriptors and has %d", name, filesBefore, filesAfter)
	}
}
