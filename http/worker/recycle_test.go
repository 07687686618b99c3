// SPDX-License-Identifier: MIT

//go:build unix

package worker

import (
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestWorkerThatAsksIsReplacedFirstAndDrainedThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, code := play(t, Config{Workers: 3}, func(a *actor) {
			a.sleep(time.Second)
			a.report()
			if a.life == 0 && a.index > 0 {
				a.sleep(time.Minute)
				a.say(lineReplace)
				a.say(lineReplace)
			}
			a.serve(2 * time.Second)
		}, stopAfter(5*time.Minute))
		wantSound(t, st, code)
		if st.lives(0) != 1 || st.lives(1) != 2 || st.lives(2) != 2 || len(st.spawns) != 5 {
			t.Fatalf("starts: %s; want 1 and 2 replaced once each", st.starts())
		}
		// One at a time: start 1 s, drain 2 s.
		if first, second := st.spawns[3].at, st.spawns[4].at; second-first != 3*time.Second {
			t.Errorf("replaced at %v and %v, want 3s between them", first, second)
		}
		wantLog(t, st, "asks to be replaced")
	})
}

func TestWorkerWhoseSuccessorFailsGoesOnAndIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, code := play(t, Config{Workers: 1}, func(a *actor) {
			if a.life == 1 || a.life == 2 {
				a.exit(78)
				return
			}
			a.report()
			if a.life == 0 {
				a.sleep(time.Minute)
				a.say(lineReplace)
			}
			a.serve(0)
		}, stopAfter(10*time.Minute))
		wantSound(t, st, code)
		const want = "0@0 0s, 0@1 1m0s, 0@1 2m0s, 0@1 3m0s"
		if got := st.starts(); got != want {
			t.Errorf("starts: %s\nwant    %s", got, want)
		}
	})
}

func TestRequestOfAWorkerThatWasReplacedMeanwhileIsVoid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, code := play(t, Config{Workers: 2}, func(a *actor) {
			a.sleep(time.Second)
			a.report()
			if a.is(1, 0) {
				a.sleep(60 * time.Second)
				a.say(lineReplace) // while worker 0 has its turn, and its own comes
			}
			a.serve(0)
		}, hangUp(time.Minute, 5*time.Minute))
		wantSound(t, st, code)
		if st.lives(1) != 2 {
			t.Errorf("starts: %s; want worker 1 replaced once", st.starts())
		}
	})
}

func TestStuckWorkerIsAbortedKilledAndRespawned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var aborted, killed time.Duration
		st, code := play(t, Config{Workers: 2, StaleAfter: 8 * time.Second}, func(a *actor) {
			a.report()
			if !a.is(1, 0) {
				a.serve(0)
				return
			}
			a.sleep(time.Minute)
			a.fallSilent()
			if sig := <-a.signals; sig != syscall.SIGABRT {
				t.Errorf("a stuck worker got %v first, want SIGABRT", sig)
			}
			aborted = time.Since(a.stage.began)
			<-a.ended
			killed = time.Since(a.stage.began)
		}, stopAfter(2*time.Minute))
		wantSound(t, st, code)
		if aborted < 68*time.Second || aborted > 71*time.Second || killed != aborted+abortGrace {
			t.Errorf("aborted at %v, killed at %v; want 8 s after 1m0s, and %v later",
				aborted, killed, abortGrace)
		}
		if st.lives(1) != 2 || st.lives(0) != 1 {
			t.Errorf("starts: %s; want worker 1 respawned", st.starts())
		}
		if n := strings.Count(st.text(), "its heartbeat has stopped"); n != 1 {
			t.Errorf("%d lines about it, want 1\n%s", n, st.text())
		}
	})
}

func TestNobodyIsStuckUnlessAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, code := play(t, Config{Workers: 1}, func(a *actor) {
			a.report()
			a.fallSilent()
			a.serve(0)
		}, stopAfter(time.Hour))
		wantSound(t, st, code)
		if len(st.spawns) != 1 {
			t.Errorf("starts: %s; want 1", st.starts())
		}
	})
}

// A worker whose successor failed waits for another try; once it is told to
// leave for another reason nobody tries any more.
func TestTakenAwayWorkerIsNotAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, code := play(t, Config{Workers: 2, Drain: time.Hour}, func(a *actor) {
			if a.index == 1 && a.life == 1 {
				a.exit(1)
				return
			}
			a.report()
			if a.is(1, 0) {
				a.sleep(30 * time.Second)
				a.say(lineReplace)
				a.serve(2 * time.Minute) // beyond the time of the next try
				return
			}
			a.serve(0)
		}, order(syscall.SIGTTOU))
		wantSound(t, st, code)
		if len(st.spawns) != 3 {
			t.Errorf("starts: %s; want one try to replace worker 1", st.starts())
		}
	})
}

// A look at the heartbeats that comes late is one after this process itself was
// stopped, with all of its workers.
func TestLateLookProvesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, code := play(t, Config{Workers: 1, StaleAfter: 8 * time.Second}, func(a *actor) {
			a.report()
			a.sleep(time.Minute)
			a.fallSilent()
			a.sleep(21 * time.Second)
			a.beatAgain()
			a.serve(0)
		}, func(st *stage) {
			time.Sleep(time.Minute + time.Millisecond)
			st.mu.Lock()
			st.stall = 20 * time.Second
			st.mu.Unlock()
			st.children <- syscall.SIGCHLD
			stopAfter(time.Minute)(st)
		})
		wantSound(t, st, code)
		if strings.Contains(st.text(), "has stopped") {
			t.Errorf("a worker was taken for stuck when everybody was stopped\n%s", st.text())
		}
	})
}
