// SPDX-License-Identifier: MIT

//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"m0serve.dev/apps/internal/browser"
	"m0serve.dev/apps/internal/smoketest"
)

var bin string

func TestMain(m *testing.M) { smoketest.Main(m, &bin, main) }

// bothArms runs test on a service of each arm.
func bothArms(t *testing.T, test func(*testing.T, *smoketest.Process), env ...string) {
	t.Helper()
	for _, arm := range []string{"0", "1"} {
		t.Run(map[string]string{"0": "producer", "1": "loop"}[arm], func(t *testing.T) {
			t.Parallel()
			test(t, smoketest.Start(t, bin, append([]string{"M0_SIM_ON_LOOP=" + arm}, env...)...))
		})
	}
}

// A made step is one event as clients read it.
type made struct {
	N     uint64
	At    int64 // when it was made, in ms
	PID   int
	Hares float64
	Foxes float64
	id    uint64
}

// open opens a stream and checks the history that it begins with.
func open(t *testing.T, p *smoketest.Process) *smoketest.Stream {
	t.Helper()
	s := smoketest.Open(t, p.URL+"/events", "")
	e := s.Next(t)
	var past struct {
		First  uint64
		Period int
		States []state
	}
	if err := json.Unmarshal([]byte(e.Data), &past); err != nil || e.Name != "history" || e.ID != "" ||
		past.Period != 250 || len(past.States) != 0 && len(past.States) < 200 {
		t.Fatalf("a stream begins with %+v, %v; want the last minute, without an id", e, err)
	}
	return s
}

func parse(t *testing.T, e smoketest.Event) made {
	t.Helper()
	m := made{id: e.Number()}
	if err := json.Unmarshal([]byte(e.Data), &m); err != nil || e.Name != "step" || m.id == 0 {
		t.Fatalf("event %+v, %v; want a step with an id", e, err)
	}
	return m
}

// TestSmokeStepsOfOneProducer: at two workers every stream gets every step once, and
// all come from worker 0, one period after the other.
func TestSmokeStepsOfOneProducer(t *testing.T) {
	bothArms(t, func(t *testing.T, p *smoketest.Process) {
		streams := smoketest.Spread(t, 2, func() *smoketest.Stream { return open(t, p) })
		var gaps []int64
		for _, s := range streams {
			last := parse(t, s.Next(t))
			for range 9 {
				m := parse(t, s.Next(t))
				if m.N != last.N+1 || m.id <= last.id {
					t.Fatalf("on worker %s: step %d (id %d) behind %d (id %d), want every step once",
						s.Worker, m.N, m.id, last.N, last.id)
				}
				if want := p.Workers(t)[0]; m.PID != want {
					t.Fatalf("step %d is of process %d, want worker 0, %d", m.N, m.PID, want)
				}
				gaps = append(gaps, m.At-last.At)
				last = m
			}
		}
		slices.Sort(gaps)
		if middle := gaps[len(gaps)/2]; middle < 125 || middle > 500 {
			t.Errorf("steps are %d ms apart in the middle, want about 250: %v", middle, gaps)
		}
	}, "M0_WORKERS=2")
}

// TestSmokeStallIsNotMadeUpFor: whoever missed steps makes none of them later. A step
// is due one period behind the step before at the earliest, however busy the machine
// is; only the first ones behind the stall may be closer.
func TestSmokeStallIsNotMadeUpFor(t *testing.T) {
	bothArms(t, func(t *testing.T, p *smoketest.Process) {
		s := open(t, p)
		before := parse(t, s.Next(t))
		if err := syscall.Kill(p.Cmd.Process.Pid, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second) // the stall
		if err := syscall.Kill(p.Cmd.Process.Pid, syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		m := parse(t, s.Next(t))
		for m.At < before.At+2000 { // made ahead of the stall
			before, m = m, parse(t, s.Next(t))
		}
		first := m
		if first.N != before.N+1 {
			t.Errorf("behind step %d and a stall came %d, want the next", before.N, first.N)
		}
		for range 8 {
			m = parse(t, s.Next(t))
		}
		if took, least := m.At-first.At, int64(6*250); took < least {
			t.Errorf("8 steps behind a stall took %d ms, want at least %d: they were made up for",
				took, least)
		}
	})
}

// TestSmokeHandover: in a rolling restart one process steps behind the other, from
// where it was, and a client that comes back has every step once.
func TestSmokeHandover(t *testing.T) {
	bothArms(t, func(t *testing.T, p *smoketest.Process) {
		old := p.Workers(t)
		s := open(t, p)
		last := parse(t, s.Next(t))
		p.Signal(t, syscall.SIGHUP)
		makers := []int{last.PID}
		for more := 6; more > 0; {
			e, ok := s.Read(t)
			if !ok {
				s = smoketest.Open(t, p.URL+"/events", fmt.Sprint(last.id))
				continue
			}
			if e.Name == "" {
				continue
			}
			m := parse(t, e)
			if m.N != last.N+1 || m.id <= last.id {
				t.Fatalf("step %d (id %d) behind %d (id %d), want every step once",
					m.N, m.id, last.N, last.id)
			}
			if want := (state{last.Hares, last.Foxes}).next(); math.Abs(m.Hares-want.hares) > 1e-3 {
				t.Fatalf("step %d has %v hares, want %v: the state was lost", m.N, m.Hares, want.hares)
			}
			if last = m; !slices.Contains(makers, m.PID) {
				makers = append(makers, m.PID)
			} else if makers[len(makers)-1] != m.PID {
				t.Fatalf("process %d steps again behind %v", m.PID, makers)
			}
			if now := p.Workers(t); len(now) == 2 && now[0] != old[0] && now[1] != old[1] {
				more--
			}
		}
		if len(makers) != 2 || makers[0] != old[0] || makers[1] != p.Workers(t)[0] {
			t.Errorf("steps were made by %v, want worker 0 (%d) and its successor (%d)",
				makers, old[0], p.Workers(t)[0])
		}
	}, "M0_WORKERS=2")
}

// TestSmokeArmsAreAlike: who looks from outside cannot tell which arm it is.
func TestSmokeArmsAreAlike(t *testing.T) {
	var seen [2]string
	var at atomic.Int32
	t.Run("arms", func(t *testing.T) {
		bothArms(t, func(t *testing.T, p *smoketest.Process) {
			text := ""
			for _, path := range []string{"/", "/page.js", "/page.css"} {
				body, _ := p.Get(t, path)
				text += body
			}
			s := open(t, p)
			m := parse(t, s.Next(t))
			for m.N < keptSteps+5 {
				m = parse(t, s.Next(t))
			}
			m.At, m.PID, m.id = 0, 0, 0
			seen[at.Add(1)-1] = text + fmt.Sprintf("%+v", m)
			var st stats
			loop := strings.HasSuffix(t.Name(), "loop")
			doc, _ := p.Get(t, "/stats")
			if err := json.Unmarshal([]byte(doc), &st); err != nil || st.OnLoop != loop {
				t.Errorf("figures %+v, %v; want on_loop %v", st, err, loop)
			}
		})
	})
	if testing.Short() {
		t.Skip("SKIPPED: -short: the arms are real services")
	}
	if seen[0] == "" || seen[0] != seen[1] {
		t.Errorf("the arms differ:\n%s\n%s", seen[0], seen[1])
	}
}

func TestSmokeRefusesAWrongArm(t *testing.T) {
	for _, workers := range []string{"1", "2"} {
		smoketest.Refused(t, bin, `M0_SIM_ON_LOOP="tick"`, "M0_WORKERS="+workers,
			"M0_SIM_ON_LOOP=tick")
	}
}

func TestBrowserDrawsTheLastMinute(t *testing.T) {
	bothArms(t, func(t *testing.T, p *smoketest.Process) {
		b := browser.Start(t)
		one, two := b.Open(t, p.URL), b.Open(t, p.URL)
		for _, tab := range []*browser.Tab{one, two} {
			tab.Until(t, "document.getElementById('live').textContent === 'live'")
			tab.Until(t, "window.sim.states.size > 200")
			frames := browser.Eval[int](t, tab, "window.sim.frames")
			tab.Until(t, fmt.Sprintf("window.sim.frames > %d", frames+20))
		}
		for _, dark := range []bool{true, false} {
			one.Screenshot(t, "sim", 1280, 900, dark)
			one.Screenshot(t, "sim", 390, 844, dark)
		}
	}, "M0_WORKERS=2")
}

// TestBrowserHeadKeepsItsHeight: nothing moves on a phone when the connection goes and comes.
func TestBrowserHeadKeepsItsHeight(t *testing.T) {
	tab := browser.Start(t).Open(t, smoketest.Start(t, bin).URL)
	tab.Size(t, 390, 844)
	tab.Until(t, "innerWidth === 390")
	high := func(word string) float64 {
		return browser.Eval[float64](t, tab, "live.textContent = '"+word+"', "+
			"document.querySelector('header').offsetHeight")
	}
	if with, without := high("live"), high("reconnecting"); with != without {
		t.Errorf("the head has %g pixels without a connection, want %g as with one", without, with)
	}
}
