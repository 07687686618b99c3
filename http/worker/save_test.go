// SPDX-License-Identifier: MIT

//go:build unix

package worker

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// save says after each delay that a file was changed, and stops the service
// after two minutes.
func save(changes chan<- string, after ...time.Duration) func(*stage) {
	return func(st *stage) {
		left := 2 * time.Minute
		for _, d := range after {
			time.Sleep(d)
			changes <- "app.py"
			left -= d
		}
		stopAfter(left)(st)
	}
}

func TestSaveReplacesTheWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		changes := make(chan string)
		st, code := play(t, Config{Workers: 1, Reload: changes}, healthy,
			save(changes, time.Minute))
		wantSound(t, st, code)
		if got, want := st.starts(), "0@0 0s, 0@1 1m0s"; got != want {
			t.Errorf("starts: %s, want %s", got, want)
		}
		wantLog(t, st, "why=app.py")
	})
}

// A save that breaks the program: the old worker serves on, and the next save is
// the next try. It never counts as a crash loop.
func TestBrokenSaveLeavesTheOldWorkerServing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		changes := make(chan string)
		var breaks []time.Duration
		for range 8 {
			breaks = append(breaks, 10*time.Second)
		}
		st, code := play(t, Config{Workers: 2, Reload: changes}, func(a *actor) {
			if a.life > 0 && time.Since(a.stage.began) < 75*time.Second {
				a.exit(1)
				return
			}
			healthy(a)
		}, save(changes, breaks...))
		wantSound(t, st, code)
		if st.lives(0) != 9 || st.lives(1) != 2 {
			t.Errorf("starts: %s; want 9 of worker 0, 2 of worker 1", st.starts())
		}
		if n := strings.Count(st.text(), "the old ones go on serving"); n != 7 {
			t.Errorf("%d lines about 7 broken saves", n)
		}
	})
}

func TestBrokenStartWaitsForASave(t *testing.T) {
	for name, status := range map[string]int{"configuration": 78, "crash": 1} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				changes := make(chan string)
				st, code := play(t, Config{Workers: 2, Reload: changes}, func(a *actor) {
					if a.life < 2 {
						a.exit(status)
						return
					}
					healthy(a)
				}, save(changes, 30*time.Second, 30*time.Second))
				wantSound(t, st, code)
				const want = "0@0 0s, 1@1 0s, 0@0 30s, 1@1 30s, 0@0 1m0s, 1@1 1m0s"
				if got := st.starts(); got != want {
					t.Errorf("starts: %s\nwant    %s", got, want)
				}
				if st.readies != 1 || st.readyAt != time.Minute+100*time.Millisecond {
					t.Errorf("announced %d times, at %v; want once at 1m0.1s", st.readies, st.readyAt)
				}
				wantLog(t, st, "waiting for a change")
			})
		})
	}
}

// A worker that hangs while it starts is ended by the next save, wherever it is.
func TestSaveEndsAWorkerThatIsStillStarting(t *testing.T) {
	for name, first := range map[string]int{"first start": 0, "replacement": 1} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				changes := make(chan string)
				st, code := play(t, Config{Workers: 1, Reload: changes}, func(a *actor) {
					if a.life == first {
						a.sleep(time.Hour)
						return
					}
					healthy(a)
				}, save(changes, 20*time.Second, 10*time.Second))
				wantSound(t, st, code)
				if n := len(st.spawns); n != 3 {
					t.Errorf("starts: %s; want 3", st.starts())
				}
				if strings.Contains(st.text(), "did not start") {
					t.Error("a worker that was ended for something newer is logged as failed")
				}
			})
		})
	}
}
