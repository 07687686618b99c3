// SPDX-License-Identifier: MIT

//go:build linux

package faults

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"m0serve.dev/apps/internal/pyserver"
	"m0serve.dev/apps/internal/smoketest"
)

// startJumping serves host_check with two workers whose wall clock is the test's.
func startJumping(t *testing.T) (*smoketest.Process, *wallClock) {
	t.Helper()
	skipShort(t)
	flags, err := overlayFlags()
	if err != nil {
		t.Fatal(err)
	}
	clock := newWallClock(t)
	return smoketest.Start(t, built(t, "host_check", flags...), "M0_WORKERS=2", quiet,
		clock.env()), clock
}

// dateFollows wants one of the next answers to have the date of a clock that is so far
// ahead, give or take half of a jump: a loop looks at the clock when something comes.
func dateFollows(t *testing.T, p *smoketest.Process, ahead time.Duration) {
	t.Helper()
	var date string
	for range 20 {
		_, head := p.Get(t, "/")
		date = head.Get("Date")
		told, err := http.ParseTime(date)
		if err == nil && (time.Until(told)-ahead).Abs() < 30*time.Minute {
			return
		}
	}
	t.Fatalf("%q is not the date of a clock that is %v ahead", date, ahead)
}

// TestClockThatJumps is F10 on host_check: the wall clock goes an hour on, back, and
// an hour back under load. No connection is cut, idle ones neither, ids go on and none
// comes twice, no worker counts as stuck, and the Date of answers follows.
func TestClockThatJumps(t *testing.T) {
	p, clock := startJumping(t)
	workers := p.Workers(t)
	ls := listenToBoth(t, p.URL+"/events")
	w := newWriter(t, p, ls.Events)
	w.run()
	ls.first(t)
	idle := dial(t, p)
	mustServe(t, idle)
	c := gather(t, p.URL, clients, random(t), word)
	rounds := times(1, 50)
	for range rounds {
		for _, ahead := range jumps {
			clock.set(t, ahead)
			dateFollows(t, p, ahead)
			before := ls.Count()
			c.more(t, 100)
			until(t, "20 notes more", func() bool { return ls.Count() >= before+20 })
		}
	}
	mustServe(t, idle)
	if n := c.Refusals() + len(c.Failures()); n != 0 {
		t.Errorf("%d requests failed or were refused, want 0", n)
	}
	c.verdict(t, 400*rounds)
	v := ls.verdict(t, w, 80*rounds, 0)
	if v.Told > 0 || v.Doubtful > 0 || v.Returns > len(ls.all) {
		t.Errorf("%v: want no stream cut, nothing missed and nothing in doubt", v)
	}
	sameWorkers(t, p, workers)
}

// napper is an application whose views take a quarter of a second.
type napper struct {
	*smoketest.Process
	clock *wallClock
}

// farTimeout is a --timeout that no machine is too slow for, and far below an hour.
const farTimeout = "300"

func startNapper(t *testing.T, app string, args ...string) napper {
	t.Helper()
	clock := newWallClock(t)
	return napper{startPython(t, &jumping, pyserver.Config{Dir: copied(t, app), App: app + ":app",
		Workers: 2, Threads: 2, Env: []string{clock.env()}, Args: args}), clock}
}

// nap asks for what takes a quarter of a second.
func nap(int) question {
	return question{method: "GET", path: "/naps", worker: func(*http.Response, string) string {
		return "some"
	}}
}

// TestPythonClockThatJumps is F10 on m0serve: requests that are being served when the
// clock jumps have not taken an hour, an event loop was not held up for one, long polls
// end when they are due and not before, and a view that does not end is noticed.
func TestPythonClockThatJumps(t *testing.T) {
	p := startNapper(t, "wild", "--realtime", "--timeout", farTimeout)
	c := gather(t, p.URL, clients, random(t), nap)
	long := p.poll(t, 1200)
	for range times(1, 20) {
		var short []<-chan struct{} // each over in five seconds, which is GRIP's least
		for _, ahead := range jumps {
			short = append(short, p.poll(t, 1))
			p.clock.set(t, ahead)
			c.more(t, clients)
			if isOver(long) {
				t.Fatalf("a poll of 20 minutes is over with the clock %v ahead", ahead)
			}
		}
		for _, poll := range short {
			until(t, "the end of a poll of five seconds", func() bool { return isOver(poll) })
		}
	}
	c.verdict(t, 4*clients)
	if strings.Contains(p.Log(), "--timeout") {
		t.Fatal("a worker is replaced for a request of a quarter of a second")
	}
	p = startNapper(t, "wild", "--timeout", "2")
	conn := dial(t, p.Process)
	if _, err := conn.Write([]byte("GET /locks HTTP/1.1\r\nHost: a\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	says(t, p.Process, 1, "wild locks")
	p.clock.set(t, -time.Hour)
	says(t, p.Process, 1, "longer than --timeout")
}

// TestEventLoopAndAClockThatJumps is F10 on an ASGI application.
func TestEventLoopAndAClockThatJumps(t *testing.T) {
	p := startNapper(t, "calm", "--timeout", "2")
	workers := p.Workers(t)
	c := gather(t, p.URL, clients, random(t), nap)
	for range times(1, 20) {
		for _, ahead := range jumps {
			p.clock.set(t, ahead)
			c.more(t, 2*clients) // half a second: the loop is looked at every 0.2 s
		}
	}
	c.verdict(t, 8*clients)
	sameWorkers(t, p.Process, workers)
}

// poll opens a long poll of so many seconds, and closes the channel when it is
// answered or cut.
func (p napper) poll(t *testing.T, seconds int) <-chan struct{} {
	t.Helper()
	conn, over := dial(t, p.Process), make(chan struct{})
	_, err := fmt.Fprintf(conn, "GET /poll?%d HTTP/1.1\r\nHost: a\r\n\r\n", seconds)
	if err != nil {
		t.Fatal(err)
	}
	says(t, p.Process, 1, "wild poll") // it is asked, and held next
	go func() {
		defer close(over)
		if resp, err := http.ReadResponse(bufio.NewReader(conn), nil); err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
		}
	}()
	return over
}

func isOver(over <-chan struct{}) bool {
	select {
	case <-over:
		return true
	default:
		return false
	}
}
