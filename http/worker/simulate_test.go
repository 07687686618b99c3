// SPDX-License-Identifier: MIT

//go:build unix

package worker

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"m0serve.dev/http/internal/seeds"
)

// TestSimulatedServices runs whole lives of services whose workers do whatever
// a seed says, and checks what must hold in each. A failure names its seed.
func TestSimulatedServices(t *testing.T) {
	seeds.Each(t, 10_000, 500, func(seed uint64) {
		synctest.Test(t, func(t *testing.T) { simulate(t, seed) })
	})
}

// simulate lets one service live. A stop comes within two minutes of its time.
func simulate(t *testing.T, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 0))
	cfg := Config{Workers: 1 + rnd.IntN(4), Drain: time.Duration(rnd.IntN(3000)) * time.Millisecond}
	tame := rnd.IntN(3) > 0 // most services have mostly healthy workers
	stopAt := time.Duration(rnd.IntN(120_000)) * time.Millisecond
	again := time.Duration(-1)
	if rnd.IntN(4) == 0 {
		again = time.Duration(rnd.IntN(3000)) * time.Millisecond
	}
	orders := []os.Signal{syscall.SIGHUP, syscall.SIGHUP, syscall.SIGTTIN, syscall.SIGTTOU}
	hangups := rnd.IntN(8)
	cfg.WorkersMax = cfg.Workers + rnd.IntN(3)
	if rnd.IntN(2) == 0 {
		cfg.StaleAfter = 10 * time.Second
	}
	st, code := play(t, cfg, func(a *actor) {
		live(a, rand.New(rand.NewPCG(seed, uint64(a.pid))), tame)
	}, func(st *stage) {
		went := time.Duration(0)
		for range hangups {
			d := time.Duration(rnd.IntN(30_000)) * time.Millisecond
			if went+d < stopAt {
				time.Sleep(d)
				went += d
				st.orders <- orders[rnd.IntN(len(orders))]
			}
		}
		time.Sleep(stopAt - went)
		st.signals <- syscall.SIGTERM
		if again >= 0 {
			time.Sleep(again)
			st.signals <- syscall.SIGINT
		}
	})
	fail := func(format string, args ...any) {
		t.Errorf("seed %d: %s\nstarts %v\n%s", seed, fmt.Sprintf(format, args...), st.spawns, st.text())
	}
	if code != 0 && code != 1 && code != 78 {
		fail("exit %d, want 0, 1 or 78", code)
	}
	if bound := stopAt + cfg.drain() + killGrace; st.took > bound {
		fail("the service ended after %v, want at most %v", st.took, bound)
	}
	if st.readies > 1 || st.stops != 1 {
		fail("announced %d times, told of the stop %d times; want at most once, once",
			st.readies, st.stops)
	}
	if deaths := strings.Count(st.text(), "worker: ended"); deaths != len(st.spawns) {
		fail("%d lines for %d processes, all of which died", deaths, len(st.spawns))
	}
	if st.doubled != "" {
		fail("%s", st.doubled)
	}
	for _, s := range st.spawns {
		if s.at > stopAt {
			fail("worker %d started at %v, after the stop at %v", s.index, s.at, stopAt)
		}
	}
}

// live is one random life.
func live(a *actor, rnd *rand.Rand, tame bool) {
	ms := func(most int) time.Duration { return time.Duration(rnd.IntN(most)) * time.Millisecond }
	a.sleep(ms(500))
	wild := 12
	if tame {
		wild = 60
	}
	switch rnd.IntN(wild) {
	case 0:
		a.exit(rnd.IntN(3))
	case 1:
		a.crash(syscall.SIGSEGV)
	case 2:
		a.exit(78)
	case 3:
		a.reported = true // and dies before anybody reads it
		a.exit(1)
	case 4:
		a.told() // never ready
		a.crash(syscall.SIGTERM)
	case 5:
		a.report()
		a.told()
		a.sleep(time.Hour) // never drained
	case 6:
		a.report()
		a.sleep(ms(90_000))
		a.crash(syscall.SIGKILL)
	case 7:
		a.report()
		a.sleep(ms(90_000))
		a.exit(rnd.IntN(2))
	case 8:
		a.report()
		a.sleep(ms(60_000))
		a.say(lineReplace)
		a.serve(ms(4000))
	case 9:
		a.report()
		a.sleep(ms(60_000))
		a.fallSilent()
		a.told()
		a.crash(syscall.SIGABRT)
	default:
		a.report()
		a.serve(ms(4000))
	}
}
