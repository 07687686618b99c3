// SPDX-License-Identifier: MIT

//go:build linux

package faults

import (
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"m0serve.dev/apps/internal/smoketest"
)

// freeze stops worker 1 and waits until it is; the test lets it go on.
func freeze(t *testing.T, p *smoketest.Process) (thaw func()) {
	t.Helper()
	pid := p.Workers(t)[1]
	smoketest.Stop(t, pid)
	return func() { smoketest.Kill(t, pid, syscall.SIGCONT) }
}

// besideStopped is how many notes wait for a worker that is stopped: less than a stream
// takes in one go when it goes on, more than a journal has for one that is cut.
const besideStopped = 100

// TestStoppedWorker is F2: SIGSTOP of a worker under load. Its sibling goes on, nobody
// who publishes waits for it, connections stop being given to it, and when it goes on
// everything that waited for it is answered and heard.
func TestStoppedWorker(t *testing.T) {
	rnd := random(t)
	p := startHost(t)
	for range times(1, 10) {
		ls := listenToBoth(t, p.URL+"/events")
		w := newWriter(t, p, ls.Events)
		w.run()
		ls.first(t)
		c := gather(t, p.URL, clients, rnd, word)
		c.more(t, 200)
		w.end() // its connection may be to the one that is stopped next
		thaw := freeze(t, p)
		w = newWriter(t, p, ls.Events)
		for range besideStopped {
			w.publish()
		}
		w.end()
		keepsToZero(t, p)
		of := c.AnswersOf("0")
		until(t, "500 answers of the sibling", func() bool { return c.AnswersOf("0") > of+500 })
		thaw()
		of = c.AnswersOf("1")
		until(t, "answers of worker 1 again", func() bool { return c.AnswersOf("1") > of+100 })
		w = newWriter(t, p, ls.Events)
		for range 20 {
			w.publish()
		}
		c.verdict(t, 800)
		if v := ls.verdict(t, w, besideStopped, 0); v.Told > 0 {
			t.Errorf("%d events of so few were missed, and told of: want 0", v.Told)
		}
	}
	if strings.Contains(p.Log(), "worker: ended") {
		t.Error("a worker ended")
	}
}

// keepsToZero waits until a burst of connections stays with worker 0: what is given to
// worker 1 while its heartbeat is fresh waits for it, and so does the burst.
func keepsToZero(t *testing.T, p *smoketest.Process) {
	t.Helper()
	limit := time.Duration(0)
	until(t, "a burst of connections that stays with worker 0", func() bool {
		limit += time.Second // for a machine that is slow
		var burst []net.Conn
		defer func() {
			for _, conn := range burst {
				_ = conn.Close()
			}
		}()
		for range 32 {
			conn, err := net.DialTimeout("tcp", strings.TrimPrefix(p.URL, "http://"), patience)
			if err != nil {
				return false
			}
			burst = append(burst, conn)
			_, _ = conn.Write([]byte("GET / HTTP/1.1\r\nHost: a\r\n\r\n"))
		}
		for _, conn := range burst {
			if workerOf(conn, limit) != "0" {
				return false
			}
		}
		return true
	})
}

// TestFullBus is F7: a stopped worker whose channel is full of large frames. What does
// not fit is counted, nobody waits, and when it goes on its streams are told what they
// missed.
func TestFullBus(t *testing.T) {
	const size = 60_000
	p := startHost(t)
	ls := listenToBoth(t, p.URL+"/events")
	w := newWriter(t, p, ls.Events)
	w.run()
	ls.first(t)
	w.end()
	stopped := make(map[string]bool)
	for i, l := range ls.all {
		stopped[name(i)] = l.worker.Load() == "1"
	}
	thaw := freeze(t, p)
	w = newWriter(t, p, ls.Events)
	w.size, w.only = size, func(stream string) bool { return !stopped[stream] }
	w.run()
	least := uint64(times(100, 5000))
	until(t, "frames that are dropped for worker 1", func() bool {
		f, ok := ask(p)
		return ok && len(f.Fleet) == 2 && f.Fleet[1].Drops >= least
	})
	f, ok := ask(p)
	for !ok {
		f, ok = ask(p)
	}
	if n := f.Fleet[0].Drops; n != 0 {
		t.Errorf("%d frames are dropped for the worker that runs, want 0", n)
	}
	w.end()
	thaw()
	w = newWriter(t, p, ls.Events)
	for range 20 {
		w.publish()
	}
	v := ls.verdict(t, w, 100, 2)
	if v.Told < int(least) {
		t.Errorf("vacuous: %d events were missed and told of, want %d for each stream", v.Told, least)
	}
	if w.refused > 0 {
		t.Errorf("%d notes were refused when the bus was free again", w.refused)
	}
}
