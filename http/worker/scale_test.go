// SPDX-License-Identifier: MIT

//go:build unix

package worker

import (
	"os"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// order sends signals a second apart, after a minute, and stops the service
// after two.
func order(signals ...os.Signal) func(*stage) {
	return func(st *stage) {
		time.Sleep(time.Minute)
		for _, sig := range signals {
			st.orders <- sig
			time.Sleep(time.Second)
		}
		stopAfter(time.Minute - time.Duration(len(signals))*time.Second)(st)
	}
}

func TestWorkersAreAddedWithinTheMaximum(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, code := play(t, Config{Workers: 1, WorkersMax: 3}, healthy,
			order(syscall.SIGTTIN, syscall.SIGTTIN, syscall.SIGTTIN))
		wantSound(t, st, code)
		if got, want := st.starts(), "0@0 0s, 1@1 1m0s, 2@2 1m1s"; got != want {
			t.Errorf("starts: %s\nwant    %s", got, want)
		}
		if st.spawns[2].workers != 3 {
			t.Errorf("the third was told of %d workers, want 3", st.spawns[2].workers)
		}
		wantLog(t, st, `one worker more" workers=3`, `the maximum was reached before" workers=3`)
	})
}

// SIGUSR1 is for the workers, but for those that have not armed themselves: it would
// end them.
func TestUserSignalIsPassedOnToWorkersThatAreReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got [2][]os.Signal
		st, code := play(t, Config{Workers: 2}, func(a *actor) {
			if a.index == 0 {
				a.report()
			}
			for sig := range a.signals {
				got[a.index] = append(got[a.index], sig)
				if sig == syscall.SIGTERM {
					a.exit(0)
					return
				}
			}
		}, order(syscall.SIGUSR1))
		wantSound(t, st, code)
		ready := []os.Signal{syscall.SIGUSR1, syscall.SIGTERM}
		if !slices.Equal(got[0], ready) || !slices.Equal(got[1], ready[1:]) {
			t.Errorf("signals: %v; want %v to who is ready, %v to the other", got, ready, ready[1:])
		}
	})
}

func TestWorkersAreTakenAwayFromTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := map[int]time.Duration{}
		st, code := play(t, Config{Workers: 3}, func(a *actor) {
			a.report()
			a.told()
			a.stage.mu.Lock()
			ended[a.index] = time.Since(a.stage.began)
			a.stage.mu.Unlock()
			a.exit(0)
		}, order(syscall.SIGTTOU, syscall.SIGTTOU, syscall.SIGTTOU))
		wantSound(t, st, code)
		if ended[2] != time.Minute || ended[1] != 61*time.Second || ended[0] != 2*time.Minute {
			t.Errorf("told to leave: %v; want 2 at 1m, 1 at 1m1s, 0 with the service", ended)
		}
		if len(st.spawns) != 3 {
			t.Errorf("starts: %s; want nobody respawned", st.starts())
		}
		wantLog(t, st, `one worker less" workers=1`, "the last worker stays")
	})
}

func TestWorkerTakenAwayComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, code := play(t, Config{Workers: 2}, healthy,
			order(syscall.SIGTTOU, syscall.SIGTTIN, syscall.SIGHUP))
		wantSound(t, st, code)
		const want = "0@0 0s, 1@1 0s, 1@1 1m1s, 0@2 1m2s, 1@0 1m2.11s"
		if got := st.starts(); got != want {
			t.Errorf("starts: %s\nwant    %s", got, want)
		}
	})
}

// What SIGTTIN adds must not be able to end what serves.
func TestAddedWorkerThatDoesNotStartIsWithdrawn(t *testing.T) {
	for name, status := range map[string]int{"configuration": 78, "crash": 3} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st, code := play(t, Config{Workers: 1, WorkersMax: 3}, func(a *actor) {
					if a.index > 0 {
						a.sleep(1500 * time.Millisecond)
						a.exit(status)
						return
					}
					healthy(a)
				}, order(syscall.SIGTTIN, syscall.SIGTTIN))
				wantSound(t, st, code)
				if len(st.spawns) != 3 {
					t.Errorf("starts: %s; want one try each", st.starts())
				}
				wantLog(t, st, "the added worker did not start")
			})
		})
	}
}
