// SPDX-License-Identifier: MIT

//go:build linux

package sse

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/internal/fakebus"
	"m0serve.dev/http/internal/seeds"
	"m0serve.dev/http/internal/sys"
)

const (
	simWindow   = 15 * time.Millisecond // of the bus, less what is on the way
	simWorkers  = 3
	simClients  = 5
	simSteps    = 150
	simCapacity = 3 // datagrams of a worker in a channel
)

// A simService is a service of several processes that live, are stopped, die and
// come back, with the real bus, hubs, journals and slots. Whatever is done to it, a
// seed has decided; between two acts everybody comes to rest.
type simService struct {
	t       *testing.T
	rng     *rand.Rand
	k       *fakebus.Kernel
	page    *bus.Page
	workers [simWorkers]*simWorker // nil: down
	backAt  [simWorkers]time.Time  // of those that are down
	halted  [simWorkers]bool       // by SIGSTOP
	clients []*simClient
	events  map[uint64]*simEvent
	taken   []*simEvent // an id is taken, and the frame not sent yet
	journal int         // frames in one
	seen    simSeen
}

// A simSeen counts what the runs of many seeds have met.
type simSeen struct{ events, resets, gaps, cuts, deaths, replays, lost int }

// A simEvent is one that was published, or is about to be.
type simEvent struct {
	id      uint64
	channel string
	data    string
	by      *simWorker
	at      time.Time
	sent    int  // its place among all that were sent; 0: it was not
	sureBy  bool // its publisher lived long enough to have sent it to all
}

// A simWorker is one life of a worker.
type simWorker struct {
	index  int
	proc   *fakebus.Process
	bus    *bus.Bus
	hub    *Hub
	ready  atomic.Bool // it takes streams
	sent   []*simEvent
	frames int // that may wait for one channel
}

// start brings a worker up, as a host does.
func (s *simService) start(i int) {
	w := &simWorker{index: i, proc: s.k.Process(i), frames: 2 + s.rng.IntN(6)}
	line := s.page.Worker(i)
	line.Claim(100 + i)
	read, write := s.k.Ends()
	var err error
	w.bus, err = bus.Open(bus.Config{
		Kernel: w.proc, Page: s.page, Read: read[i], Write: write, Index: i, QueueFrames: w.frames,
		Lost: func(frames uint64) { w.hub.Lost(frames) },
	})
	if err != nil {
		s.t.Fatal(err)
	}
	w.hub = NewHub(HubConfig{
		Bus: w.bus, Journal: s.journal, Log: slog.New(slog.DiscardHandler),
		Channels: 1 + s.rng.IntN(4),
	})
	w.hub.Start()
	s.workers[i] = w
	go func() {
		w.hub.SyncJournals(500 * time.Millisecond)
		if !w.proc.Dead() {
			line.SetState(bus.Ready)
			w.ready.Store(true)
		}
	}()
}

// bury takes a worker that is dead out of the world. What it had not sent is lost
// with it, and nobody knows; only what it had sent is promised.
func (s *simService) bury(w *simWorker) {
	w.proc.Kill()
	w.ready.Store(false)
	w.bus.Close()
	vain := w.proc.Vain()
	for i := range w.sent {
		w.sent[i].sureBy = i < len(w.sent)-vain
	}
	for _, c := range s.clients {
		if c.worker == w {
			c.leave()
		}
	}
	s.taken = slices.DeleteFunc(s.taken, func(e *simEvent) bool { return e.by == w })
	s.workers[w.index] = nil
	s.backAt[w.index] = time.Now().Add(time.Duration(s.rng.IntN(400)) * time.Millisecond)
	s.seen.deaths++
}

// up is a random worker that runs; nil: there is none.
func (s *simService) up() *simWorker {
	w := s.workers[s.rng.IntN(simWorkers)]
	if w == nil || s.halted[w.index] {
		return nil
	}
	return w
}

func (s *simService) take(w *simWorker) *simEvent {
	e := &simEvent{id: w.hub.NextID(), channel: simChannel(s.rng), by: w}
	e.data = fmt.Sprint("data of ", e.id)
	if s.rng.IntN(40) == 0 {
		e.data += strings.Repeat("x", 70_000) // travels as a descriptor
	}
	s.events[e.id] = e
	return e
}

func simChannel(rng *rand.Rand) string { return []string{"a", "b"}[rng.IntN(2)] }

func (s *simService) send(e *simEvent) {
	body, err := Append(nil, Event{ID: fmt.Sprint(e.id), Name: "n", Data: e.data})
	if err != nil {
		s.t.Fatal(err)
	}
	e.by.sent = append(e.by.sent, e)
	s.seen.events++
	e.at = time.Now()
	e.sent, e.sureBy = s.seen.events, true
	_ = e.by.hub.Send(e.channel, "n", e.id, body) // who is full is told
}

// step is one act of somebody.
func (s *simService) step() {
	w, i := s.up(), s.rng.IntN(simWorkers)
	switch act := s.rng.IntN(100); {
	case act < 30 && w != nil:
		s.send(s.take(w))
	case act < 38 && w != nil:
		s.taken = append(s.taken, s.take(w))
	case act < 46 && len(s.taken) > 0: // in any order: they cross
		n := s.rng.IntN(len(s.taken))
		e := s.taken[n]
		s.taken = slices.Delete(s.taken, n, n+1)
		s.send(e)
	case act < 75:
		s.clients[s.rng.IntN(simClients)].act(s)
	case act < 79:
		s.halted[i] = !s.halted[i]
		s.k.Stop(i, s.halted[i])
	case act < 82 && w != nil:
		w.proc.Fail(i, sys.ErrBusShort, sys.ErrBusFull)
	case act < 84 && w != nil:
		w.proc.Kill()
	case act < 85 && w != nil:
		w.proc.KillIn(1 + s.rng.IntN(5))
	default:
		time.Sleep(time.Duration(s.rng.IntN(40_000)) * time.Microsecond)
	}
	synctest.Wait()
	s.settle()
}

// settle lets the dead go, and come back.
func (s *simService) settle() {
	for i, w := range s.workers {
		switch {
		case w != nil && w.proc.Dead():
			s.bury(w)
		case w == nil && !time.Now().Before(s.backAt[i]):
			s.halted[i] = false
			s.k.Stop(i, false)
			s.start(i)
		case w != nil:
			s.checkBounds(w)
		}
	}
	synctest.Wait()
}

func (s *simService) checkBounds(w *simWorker) {
	for i, c := range w.bus.Stats().Channels {
		if c.Queued > w.frames {
			s.t.Errorf("%d frames queued for channel %d, want at most %d", c.Queued, i, w.frames)
		}
	}
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	for name, j := range w.hub.journals {
		if n := j.Len(); n > s.journal {
			s.t.Errorf("%d frames in the journal of %s, want at most %d", n, name, s.journal)
		}
	}
}

// run lives a seed to its end.
func (s *simService) run() {
	for i := range simWorkers {
		s.start(i)
		synctest.Wait()
	}
	for range simSteps {
		s.step()
	}
	s.heal()
	for _, c := range s.clients {
		s.seen.add(c.check(s))
	}
	s.end()
}

// heal ends all trouble: everybody is up and connected, and gets a last event.
func (s *simService) heal() {
	for _, e := range s.taken {
		s.send(e)
	}
	s.taken = nil
	for i, w := range s.workers {
		s.halted[i] = false
		s.k.Stop(i, false)
		s.backAt[i] = time.Time{}
		if w != nil {
			w.proc.KillIn(0)
		}
	}
	s.settle()
	for range 10 {
		time.Sleep(300 * time.Millisecond)
		synctest.Wait()
		s.settle()
		for _, c := range s.clients {
			c.catchUp(s)
		}
	}
	for _, channel := range []string{"a", "b"} {
		e := s.take(s.workers[0])
		e.channel = channel
		s.send(e)
	}
	for range 10 {
		time.Sleep(300 * time.Millisecond)
		synctest.Wait()
		for _, c := range s.clients {
			c.catchUp(s)
		}
	}
}

// end drains the service, which takes no time: nobody holds it up.
func (s *simService) end() {
	for _, w := range s.workers {
		s.seen.lost += int(w.hub.Stats().Lost)
		w.hub.Drain(time.Second, time.Second)
		synctest.Wait()
	}
	for i, c := range s.clients {
		if c.read(s, 1000); c.slot != nil {
			s.t.Errorf("client %d is still connected behind a drain", i)
		}
	}
	for _, w := range s.workers {
		if n := w.hub.registry.Len(); n != 0 || len(w.hub.registry.groups) != 0 {
			s.t.Errorf("%d slots are left in the registry", n)
		}
		w.bus.Close()
	}
	if n := s.k.Files(); n != 0 {
		s.t.Errorf("%d descriptors are left open", n)
	}
}

func (s *simSeen) add(o simSeen) {
	s.events += o.events
	s.resets += o.resets
	s.gaps += o.gaps
	s.cuts += o.cuts
	s.deaths += o.deaths
	s.replays += o.replays
	s.lost += o.lost
}

// newSimPage is the page of all services that a test runs: a mapping is for ever.
func newSimPage(t *testing.T) *bus.Page {
	t.Helper()
	page, fd, err := bus.NewPage(simWorkers)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sys.BusClose(fd) })
	return page
}

// TestSimulatedService runs services of several workers from seeds: no client
// misses an event, or gets one twice, without being told.
func TestSimulatedService(t *testing.T) {
	page, seen, runs := newSimPage(t), simSeen{}, 0
	seeds.Each(t, 2000, 150, func(seed uint64) {
		synctest.Test(t, func(t *testing.T) { seen.add(simulate(t, page, seed)) })
		runs++
	})
	t.Logf("%d runs: %+v", runs, seen)
	for _, n := range []int{
		seen.events, seen.resets, seen.gaps, seen.cuts, seen.deaths, seen.replays, seen.lost,
	} {
		if n < runs/10 && runs >= 100 {
			t.Errorf("in %d runs there were only %+v: nothing was seen of some", runs, seen)
			break
		}
	}
}

// TestSimulatedFaults runs the seeds that have found something.
func TestSimulatedFaults(t *testing.T) {
	page := newSimPage(t)
	for _, seed := range []uint64{123, 195, 287, 305, 392, 400} {
		t.Logf("M0_SEED=%d go test -count=1 -run '^TestSimulatedService$' ./sse", seed)
		synctest.Test(t, func(t *testing.T) { simulate(t, page, seed) })
	}
}

func simulate(t *testing.T, page *bus.Page, seed uint64) simSeen {
	rng := rand.New(rand.NewPCG(seed, 11))
	s := &simService{
		t: t, rng: rng, k: fakebus.New(simWorkers, simCapacity), page: page,
		events: map[uint64]*simEvent{}, journal: 3 + rng.IntN(12),
	}
	for i := range simWorkers {
		page.Worker(i).Claim(0)
		page.Worker(i).SetState(bus.Vacant)
	}
	for range simClients {
		s.clients = append(s.clients, newSimClient(rng))
	}
	s.run()
	return s.seen
}
