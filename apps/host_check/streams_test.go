// SPDX-License-Identifier: MIT

//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"m0serve.dev/apps/internal/smoketest"
)

// a beat is one event as the producer wrote it.
type beat struct {
	N   int `json:"n"`
	PID int `json:"pid"`
	id  uint64
}

func nextBeat(t *testing.T, s *smoketest.Stream) beat {
	t.Helper()
	e := s.Next(t)
	if e.Name != "beat" {
		t.Fatalf("event %+v, want a beat", e)
	}
	b := beat{id: e.Number()}
	if err := json.Unmarshal([]byte(e.Data), &b); err != nil {
		t.Fatalf("beat %q: %v", e.Data, err)
	}
	return b
}

func TestOneWorkerBeats(t *testing.T) {
	skipShort(t)
	p := smoketest.Start(t, bin)
	s := smoketest.Open(t, p.URL+"/events", "")
	first := nextBeat(t, s)
	if second := nextBeat(t, s); second.id <= first.id || second.N != first.N+1 {
		t.Errorf("beat %+v after %+v, want the next with a higher id", second, first)
	}
	if first.PID != p.Cmd.Process.Pid {
		t.Errorf("beats come from process %d, want %d", first.PID, p.Cmd.Process.Pid)
	}
}

func TestEveryStreamOfEveryWorkerGetsEveryBeat(t *testing.T) {
	skipShort(t)
	for _, loops := range []string{"1", "2"} {
		t.Run("loops "+loops, func(t *testing.T) {
			t.Parallel()
			getEveryBeat(t, smoketest.Start(t, bin, "M0_WORKERS=2", "M0_THREADS="+loops))
		})
	}
}

func getEveryBeat(t *testing.T, p *smoketest.Process) {
	streams := spread(t, p)
	producers := make(map[int]bool)
	seen := make([]map[int]uint64, len(streams)) // id by number
	first, last := 0, 1<<30                      // what all streams were open for
	for i, s := range streams {
		seen[i] = make(map[int]uint64)
		before := nextBeat(t, s)
		first = max(first, before.N)
		for range 40 {
			b := nextBeat(t, s)
			if b.N != before.N+1 || b.id <= before.id {
				t.Errorf("stream %d on worker %s: beat %d (id %d) after %d (id %d), want every beat",
					i, s.Worker, b.N, b.id, before.N, before.id)
			}
			before = b
			seen[i][b.N] = b.id
			producers[b.PID] = true
		}
		last = min(last, before.N)
	}
	if len(producers) != 1 || !producers[p.Workers(t)[0]] {
		t.Errorf("producers %v, want worker 0 alone, %d", producers, p.Workers(t)[0])
	}
	if last-first < 20 {
		t.Fatalf("vacuous: the streams have beats %d to %d in common", first, last)
	}
	for n := first + 1; n <= last; n++ {
		for i := range streams {
			if seen[i][n] != seen[0][n] {
				t.Errorf("beat %d has id %d on stream %d and %d on stream 0",
					n, seen[i][n], i, seen[0][n])
			}
		}
	}
}

// spread opens streams until both workers hold at least two.
func spread(t *testing.T, p *smoketest.Process) []*smoketest.Stream {
	t.Helper()
	return smoketest.Spread(t, 2, func() *smoketest.Stream {
		return smoketest.Open(t, p.URL+"/events", "")
	})
}

func TestStopOfTheSupervisorAloneCutsHeldStreams(t *testing.T) {
	skipShort(t)
	p := smoketest.Start(t, bin, "M0_WORKERS=2")
	streams := spread(t, p)
	for _, s := range streams {
		nextBeat(t, s)
	}
	pids := p.Workers(t)
	began := time.Now()
	p.Signal(t, syscall.SIGTERM)
	for i, s := range streams {
		if !s.Ended(t) {
			t.Errorf("stream %d on worker %s ended cleanly, want it cut: its client would not come back",
				i, s.Worker)
		}
	}
	if code := exit(t, p); code != 0 {
		t.Errorf("exit %d, want 0", code)
	}
	if took := time.Since(began); took > 4*time.Second {
		t.Errorf("four held streams took %v to end, want far less than the bound", took)
	}
	nobodyLeft(t, p)
	for index, pid := range pids {
		says(t, p, fmt.Sprintf("pid=%d index=%d status=0", pid, index))
	}
	silent(t, p, "level=ERROR", "level=WARN")
}

// TestRespawnedProducerIsHeardOnTheSibling holds streams longer than the bound
// on the silence: a producer that numbered from a counter of its own would be
// silent for as long as it ran before.
func TestRespawnedProducerIsHeardOnTheSibling(t *testing.T) {
	skipShort(t)
	const hold, bound = 4 * time.Second, 2 * time.Second
	p := smoketest.Start(t, bin, "M0_WORKERS=2")
	streams := spread(t, p)
	old := nextBeat(t, streams[0]).PID
	last := make(map[*smoketest.Stream]uint64)
	for began := time.Now(); time.Since(began) < hold; {
		for _, s := range streams {
			last[s] = nextBeat(t, s).id
		}
	}
	smoketest.Kill(t, old, syscall.SIGKILL)
	killed := time.Now()
	heard := 0
	for _, s := range streams {
		if s.Worker != "1" {
			continue
		}
		b := nextBeat(t, s)
		for b.PID == old { // what it had sent before
			last[s] = b.id
			b = nextBeat(t, s)
		}
		if took := time.Since(killed); took > bound || b.id <= last[s] {
			t.Errorf("first beat of the new producer after %v, id %d; want within %v, above %d",
				took, b.id, bound, last[s])
		}
		heard++
	}
	if heard < 2 {
		t.Fatalf("vacuous: %d streams on worker 1", heard)
	}
	if n := strings.Count(p.Log(), "worker: ended"); n != 1 {
		t.Errorf("%d deaths logged, want 1", n)
	}
}

func TestRespawnedWorkerCatchesUpAStream(t *testing.T) {
	skipShort(t)
	p := smoketest.Start(t, bin, "M0_WORKERS=2", "M0_HOSTCHECK_PERIOD_MS=20")
	var mine *smoketest.Stream
	for _, s := range spread(t, p) {
		if s.Worker == "1" {
			mine = s
		}
	}
	before, old := nextBeat(t, mine), p.Workers(t)[1]
	for range 20 {
		nextBeat(t, mine) // sent by the old worker, and lost on the way, say
	}
	smoketest.Kill(t, old, syscall.SIGKILL)
	if !mine.Ended(t) {
		t.Error("a stream of a killed worker ended cleanly, want it cut")
	}
	untilServes(t, p, 1, old)
	// The successor has what its predecessor had: its siblings gave it to it.
	again := smoketest.Open(t, p.URL+"/events", fmt.Sprint(before.id))
	if again.Worker != "1" {
		t.Errorf("the stream came back to worker %s, want the idle one", again.Worker)
	}
	for n := before.N + 1; n < before.N+40; n++ {
		if b := nextBeat(t, again); b.N != n {
			t.Fatalf("on worker %s after the return: beat %d, want %d", again.Worker, b.N, n)
		}
	}
}
