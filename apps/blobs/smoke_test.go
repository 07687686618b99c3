// SPDX-License-Identifier: MIT

//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"m0serve.dev/apps/internal/smoketest"
)

var bin string

func TestMain(m *testing.M) { smoketest.Main(m, &bin, main) }

// quick makes steps come faster than people need them.
const quick = "M0_BLOBS_PERIOD_MS=20"

func start(t *testing.T, env ...string) *smoketest.Process {
	t.Helper()
	return smoketest.Start(t, bin, env...)
}

// A seen is a frame as a client reads it.
type seen struct {
	Step    uint64
	Viewers int
	Period  int
	Blobs   [][7]int // id, hue, x, y, vx, vy, radius
	id      uint64   // of the event
}

func parse(t *testing.T, e smoketest.Event) seen {
	t.Helper()
	f := seen{id: e.Number()}
	if err := json.Unmarshal([]byte(e.Data), &f); err != nil {
		t.Fatalf("frame %q: %v", e.Data, err)
	}
	return f
}

// open opens a stream and reads the board that it begins with.
func open(t *testing.T, p *smoketest.Process) *smoketest.Stream {
	t.Helper()
	s, _ := openWithBoard(t, p)
	return s
}

func openWithBoard(t *testing.T, p *smoketest.Process) (*smoketest.Stream, seen) {
	t.Helper()
	s := smoketest.Open(t, p.URL+"/events", "")
	e := s.Next(t)
	if e.Name != "board" || e.ID != "" {
		t.Fatalf("a stream begins with %+v, want a board without an id", e)
	}
	return s, parse(t, e)
}

// next is the next step of a stream.
func next(t *testing.T, s *smoketest.Stream) seen {
	t.Helper()
	e := s.Next(t)
	if e.Name != "step" || e.ID == "" {
		t.Fatalf("on worker %s came %+v, want a step with an id", s.Worker, e)
	}
	return parse(t, e)
}

// onBoth opens streams until both workers hold two.
func onBoth(t *testing.T, p *smoketest.Process) []*smoketest.Stream {
	t.Helper()
	return smoketest.Spread(t, 2, func() *smoketest.Stream { return open(t, p) })
}

// of are the streams that a worker holds.
func of(streams []*smoketest.Stream, worker string) (mine []*smoketest.Stream) {
	for _, s := range streams {
		if s.Worker == worker {
			mine = append(mine, s)
		}
	}
	return mine
}

var client = smoketest.Client()

// post drops doc and returns the worker that took it, and the status.
func post(t *testing.T, p *smoketest.Process, doc string) (worker string, status int) {
	t.Helper()
	resp, err := client.Post(p.URL+"/drops", "application/json", strings.NewReader(doc))
	if err != nil {
		t.Fatalf("POST /drops: %v", err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.Header.Get("X-Worker"), resp.StatusCode
}

// statsNow asks some worker. An error is for a service that is in motion, and for a
// worker that was stopped and got the connection before its sibling knew.
func statsNow(p *smoketest.Process) (s stats, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), smoketest.Patience/5)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", p.URL+"/stats", nil)
	if err != nil {
		return s, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return s, err
	}
	defer resp.Body.Close()
	return s, json.NewDecoder(resp.Body).Decode(&s)
}

// untilStats waits for figures that satisfy ok.
func untilStats(t *testing.T, p *smoketest.Process, what string, ok func(stats) bool) (s stats) {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Logf("the figures are %+v", s)
		}
	}()
	smoketest.Until(t, what, func() bool {
		now, err := statsNow(p)
		if err == nil {
			s = now
		}
		return err == nil && ok(s)
	})
	return s
}

// mustStats are the figures of whichever worker answers.
func mustStats(t *testing.T, p *smoketest.Process) stats {
	t.Helper()
	return untilStats(t, p, "figures", func(stats) bool { return true })
}

// TestSmokeEveryStreamGetsEveryStep: once, in order, and the same everywhere.
func TestSmokeEveryStreamGetsEveryStep(t *testing.T) {
	p := start(t, "M0_WORKERS=2", quick)
	streams := onBoth(t, p)
	var first, last uint64 // what all have in common
	steps := make([]map[uint64]uint64, len(streams))
	for i, s := range streams {
		f := next(t, s)
		steps[i] = map[uint64]uint64{f.Step: f.id}
		first = max(first, f.Step)
	}
	for i, s := range streams {
		for before := (seen{}); before.Step < first+50; {
			f := next(t, s)
			if before.Step != 0 && (f.Step != before.Step+1 || f.id <= before.id) {
				t.Fatalf("on worker %s: step %d (id %d) behind %d (id %d), want every step once",
					s.Worker, f.Step, f.id, before.Step, before.id)
			}
			steps[i][f.Step], before = f.id, f
			last = f.Step
		}
	}
	for n := first; n <= last; n++ {
		for i, s := range streams {
			if steps[i][n] != steps[0][n] || steps[i][n] == 0 {
				t.Errorf("step %d has id %d on stream %d (worker %s) and %d on stream 0",
					n, steps[i][n], i, s.Worker, steps[0][n])
			}
		}
	}
	s := mustStats(t, p)
	if s.Steps < last || s.LastID < steps[0][last] || s.Viewers != len(streams) {
		t.Errorf("figures %+v; want %d viewers, step %d and id %d or later",
			s, len(streams), last, steps[0][last])
	}
}

// TestSmokeDropCrosses: what is dropped at one worker is on the board of all.
func TestSmokeDropCrosses(t *testing.T) {
	p := start(t, "M0_WORKERS=2", quick)
	streams := onBoth(t, p)
	took := make(map[string]bool)
	for hue := 1; !took["0"] || !took["1"]; hue++ {
		if hue == 64 {
			t.Fatalf("vacuous: all drops went to %v", took)
		}
		worker, status := post(t, p, fmt.Sprintf(`{"x":0.25,"y":0.75,"hue":%d,"size":1}`, hue))
		if status != http.StatusAccepted {
			t.Fatalf("POST /drops = %d, want 202", status)
		}
		took[worker] = true
		// A step that is being made has perhaps emptied the box before.
		by := mustStats(t, p).Steps + 2
		var drawn [7]int
		for _, s := range streams {
			b := untilDrawn(t, s, hue, by)
			if drawn[0] == 0 {
				drawn = b
			}
			if b[0] != drawn[0] {
				t.Errorf("hue %d is blob %d on worker %s and %d elsewhere", hue, b[0], s.Worker, drawn[0])
			}
		}
	}
}

// untilDrawn reads steps until one shows a blob of that hue, by step by at the latest.
func untilDrawn(t *testing.T, s *smoketest.Stream, hue int, by uint64) [7]int {
	t.Helper()
	for {
		f := next(t, s)
		for _, b := range f.Blobs {
			if b[1] == hue {
				return b
			}
		}
		if f.Step >= by {
			t.Fatalf("on worker %s step %d shows no blob of hue %d, want one by %d",
				s.Worker, f.Step, hue, by)
		}
	}
}

// TestSmokeRestsWhenNobodyWatches: the viewers of all workers count; without any,
// nothing moves and nothing runs; whoever comes is shown a board that moves, on
// either worker.
func TestSmokeRestsWhenNobodyWatches(t *testing.T) {
	p := start(t, "M0_WORKERS=2", quick)
	streams := onBoth(t, p)
	kept := of(streams, "1")
	for _, s := range of(streams, "0") {
		s.Close()
	}
	before := untilStats(t, p, "the viewers of worker 1 alone", func(s stats) bool {
		return s.Viewers == len(kept)
	})
	if before.Resting {
		t.Error("the producer rests while worker 1 has viewers")
	}
	for _, s := range kept {
		s.Until(t, "a step that counts them", func(e smoketest.Event) bool {
			f := parse(t, e)
			return f.Viewers == len(kept) && f.Step > before.Steps+2
		})
		s.Close()
	}
	workers := p.Workers(t)
	for range 2 {
		rest := untilStats(t, p, "a rest", func(s stats) bool { return s.Resting && s.Viewers == 0 })
		used := cpuTicks(t, workers[0])
		time.Sleep(time.Second) // what is to be seen is that nothing happens
		if now := mustStats(t, p); now.Steps != rest.Steps {
			t.Errorf("the board made %d steps while nobody watched", now.Steps-rest.Steps)
		}
		if used = cpuTicks(t, workers[0]) - used; used > 10 {
			t.Errorf("worker 0 used %d ticks of a second in which nobody watched, want about 0", used)
		}
		wakeFromBoth(t, p, rest)
	}
}

// wakeFromBoth opens streams on a board that rests, until each worker had the one
// that woke it.
func wakeFromBoth(t *testing.T, p *smoketest.Process, rest stats) {
	t.Helper()
	woken := make(map[string]bool)
	for i := 0; !woken["0"] || !woken["1"]; i++ {
		if i == 64 {
			t.Fatalf("vacuous: only workers %v woke the producer", woken)
		}
		s, board := openWithBoard(t, p)
		f := next(t, s)
		if board.Step < rest.Steps || f.Step > board.Step+1 || f.Step > rest.Steps+1 {
			t.Errorf("behind a rest at step %d came the board of step %d and then %d, want the next",
				rest.Steps, board.Step, f.Step)
		}
		for f.Step <= rest.Steps { // its worker had not heard of the last ones
			f = next(t, s)
		}
		woken[s.Worker] = true
		s.Close()
		rest = untilStats(t, p, "a rest again", func(s stats) bool { return s.Resting && s.Viewers == 0 })
	}
}

// TestSmokeKilledProducer: the board is not worker 0's.
func TestSmokeKilledProducer(t *testing.T) {
	p := start(t, "M0_WORKERS=2", quick)
	streams := onBoth(t, p)
	post(t, p, `{"x":0.5,"y":0.5,"hue":7,"size":0.5}`)
	mine, before := of(streams, "1"), mustStats(t, p)
	for _, s := range mine {
		untilDrawn(t, s, 7, before.Steps+2)
	}
	old := p.Workers(t)[0]
	smoketest.Kill(t, old, syscall.SIGKILL)
	began := time.Now()
	untilStats(t, p, "another worker 0", func(s stats) bool {
		return len(s.Workers) == 2 && s.Workers[0].PID != old && s.Workers[0].PID != 0 &&
			s.Viewers == len(mine)
	})
	at := mustStats(t, p)
	for _, s := range mine {
		last := next(t, s)
		for last.id <= at.LastID { // beyond what the producer that was killed has sent
			f := next(t, s)
			if f.Step <= last.Step || f.id <= last.id {
				t.Fatalf("step %d (id %d) behind %d (id %d), want higher ones",
					f.Step, f.id, last.Step, last.id)
			}
			last = f
		}
		untilDrawn(t, s, 7, last.Step+1)
	}
	t.Logf("the board moved again %v after its producer was killed", time.Since(began))
}

// TestSmokeKilledViewers: the viewers of a worker that died are not there any more,
// and nobody else misses a step.
func TestSmokeKilledViewers(t *testing.T) {
	p := start(t, "M0_WORKERS=2", quick)
	streams := onBoth(t, p)
	mine, lost := of(streams, "0"), of(streams, "1")
	old := p.Workers(t)[1]
	smoketest.Kill(t, old, syscall.SIGKILL)
	for _, s := range lost {
		if !s.Ended(t) {
			t.Error("a stream of a killed worker ended cleanly, so that its client would not come back")
		}
	}
	for _, s := range mine {
		for last := next(t, s); last.Viewers != len(mine); {
			f := next(t, s)
			if f.Step != last.Step+1 {
				t.Fatalf("on worker 0: step %d behind %d while worker 1 was killed", f.Step, last.Step)
			}
			last = f
		}
	}
	p.AwaitAnswer(t, "/stats", 1)
	untilStats(t, p, "the viewers of worker 0 alone", func(s stats) bool {
		return s.Viewers == len(mine)
	})
	for _, s := range mine {
		s.Close()
	}
	untilStats(t, p, "a rest, in spite of what the dead say", func(s stats) bool { return s.Resting })
}
