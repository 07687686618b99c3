// SPDX-License-Identifier: MIT

//go:build unix

package worker

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// hangUp orders a rolling restart after d, and stops the service in the end.
func hangUp(d, end time.Duration) func(*stage) {
	return func(st *stage) {
		time.Sleep(d)
		st.orders <- syscall.SIGHUP
		stopAfter(end - d)(st)
	}
}

func wantSound(t *testing.T, st *stage, code int) {
	t.Helper()
	if st.doubled != "" {
		t.Error(st.doubled)
	}
	if code != 0 {
		t.Errorf("exit %d, want 0\n%s", code, st.text())
	}
}

// starts lists index, place and time of every start.
func (st *stage) starts() string {
	var list []string
	for _, s := range st.spawns {
		list = append(list, fmt.Sprintf("%d@%d %v", s.index, s.place, s.at))
	}
	return strings.Join(list, ", ")
}

func TestHangupReplacesOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, code := play(t, Config{Workers: 2}, func(a *actor) {
			a.sleep(time.Second)
			a.report()
			a.serve(2 * time.Second)
		}, hangUp(time.Minute, 2*time.Minute))
		wantSound(t, st, code)
		// Ready after 1 s, then the old one drains for 2 s; its place is the next spare.
		const want = "0@0 0s, 1@1 0s, 0@2 1m0s, 1@0 1m3s"
		if got := st.starts(); got != want {
			t.Errorf("starts: %s\nwant    %s", got, want)
		}
		wantLog(t, st, `msg="worker: rolling restart" why=SIGHUP workers=2`,
			`msg="worker: every worker is replaced" took=6s`)
	})
}

func TestOldWorkerServesUntilTheNewOneIsReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var joined, told time.Duration
		st, code := play(t, Config{Workers: 1}, func(a *actor) {
			if a.life == 1 {
				a.sleep(10 * time.Second)
				joined = time.Since(a.stage.began)
			}
			a.report()
			a.told()
			if a.life == 0 {
				told = time.Since(a.stage.began)
			}
			a.exit(0)
		}, hangUp(time.Minute, 2*time.Minute))
		wantSound(t, st, code)
		if joined != 70*time.Second || told < joined {
			t.Errorf("the old worker was told at %v, the new one ready at %v; want not before",
				told, joined)
		}
	})
}

// Worker 0's duties change hands once they have ended: before the end of the
// drain when the old worker says so, with it when it does not, and never twice
// at a time (see wantSound).
func TestDutiesAreHandedOverNeverDoubled(t *testing.T) {
	for name, c := range map[string]struct {
		drain func(a *actor)
		begin time.Duration // of the new one's duties
	}{
		"given up early": {func(a *actor) { a.sleep(time.Second); a.release(); a.sleep(time.Second) },
			61 * time.Second},
		"with the process": {func(a *actor) { a.sleep(3 * time.Second) }, 63 * time.Second},
		"killed":           {func(a *actor) { a.sleep(time.Hour) }, 66 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Duration(0)
				st, code := play(t, Config{Workers: 2}, func(a *actor) {
					a.report()
					if a.is(0, 0) {
						if !a.hasDuties() {
							t.Error("the first worker 0 has no duties")
						}
						a.told()
						c.drain(a)
						a.exit(0)
						return
					}
					if a.is(0, 1) {
						for !a.hasDuties() {
							a.sleep(100 * time.Millisecond)
						}
						begin = time.Since(a.stage.began)
					}
					a.serve(0)
				}, hangUp(time.Minute, 2*time.Minute))
				wantSound(t, st, code)
				if begin < c.begin || begin > c.begin+100*time.Millisecond {
					t.Errorf("the new worker's duties began at %v, want %v", begin, c.begin)
				}
			})
		})
	}
}

// A worker 0 that dies while its predecessor still drains must wait, too.
func TestRespawnedWorkerZeroWaitsForTheDuties(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, code := play(t, Config{Workers: 1}, func(a *actor) {
			a.report()
			switch a.life {
			case 0:
				a.told()
				a.sleep(4 * time.Second)
				a.exit(0)
			case 1:
				a.sleep(time.Second)
				a.crash(syscall.SIGKILL)
			default:
				a.sleep(time.Second)
				if a.hasDuties() {
					t.Error("worker 0 was respawned with duties that the old one has")
				}
				a.sleep(5 * time.Second)
				if !a.hasDuties() {
					t.Error("nobody has the duties once the old one is gone")
				}
				a.serve(0)
			}
		}, hangUp(time.Minute, 2*time.Minute))
		wantSound(t, st, code)
		if len(st.spawns) != 3 {
			t.Errorf("starts: %s; want 3", st.starts())
		}
	})
}

func TestFailedReloadLeavesTheOldOnesServing(t *testing.T) {
	for name, c := range map[string]struct {
		boot   func(a *actor)
		reason string
	}{
		"configuration": {func(a *actor) { a.exit(78) }, `reason="status 78"`},
		"crash":         {func(a *actor) { a.crash(syscall.SIGSEGV) }, "signal 11"},
		"never ready":   {func(a *actor) { a.sleep(time.Hour) }, "was not ready in time"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st, code := play(t, Config{Workers: 2, Boot: 10 * time.Second}, func(a *actor) {
					if a.life > 0 {
						c.boot(a)
						return
					}
					healthy(a)
				}, hangUp(time.Minute, 2*time.Minute))
				wantSound(t, st, code)
				// The first failure is enough to know: worker 1 is not tried.
				if len(st.spawns) != 3 || st.lives(1) != 1 {
					t.Errorf("starts: %s; want one try, at worker 0", st.starts())
				}
				wantLog(t, st, "the old ones go on serving", c.reason)
				if n := strings.Count(st.text(), "go on serving"); n != 1 {
					t.Errorf("%d lines about the failed reload, want 1", n)
				}
				if strings.Contains(st.text(), "every worker is replaced") {
					t.Error("a reload that failed is logged as done")
				}
			})
		})
	}
}

func TestHangupsAreCountedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, code := play(t, Config{Workers: 2}, healthy, func(st *stage) {
			time.Sleep(time.Minute)
			for range 5 {
				st.orders <- syscall.SIGHUP
				time.Sleep(20 * time.Millisecond)
			}
			stopAfter(time.Minute)(st)
		})
		wantSound(t, st, code)
		// The one that was starting is replaced again, since it may be of before.
		if st.lives(0) != 3 || st.lives(1) != 2 {
			t.Errorf("starts: %s; want 3 and 2", st.starts())
		}
	})
}

func TestWorkerThatDiesWhileItIsReplacedHasASuccessorAlready(t *testing.T) {
	for name, fails := range map[string]bool{"that starts": false, "that fails": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st, code := play(t, Config{Workers: 1}, func(a *actor) {
					switch {
					case a.life == 0:
						a.report()
						a.sleep(61 * time.Second)
						a.crash(syscall.SIGKILL)
					case a.life == 1:
						a.sleep(5 * time.Second)
						if fails {
							a.exit(1)
							return
						}
						a.report()
						a.serve(0)
					default:
						healthy(a)
					}
				}, hangUp(time.Minute, 2*time.Minute))
				wantSound(t, st, code)
				want := "0@0 0s, 0@1 1m0s"
				if fails {
					want += ", 0@0 1m5.1s"
				}
				if got := st.starts(); got != want {
					t.Errorf("starts: %s\nwant    %s", got, want)
				}
			})
		})
	}
}

func TestStopInTheMiddleOfARollingRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, code := play(t, Config{Workers: 3}, func(a *actor) {
			a.sleep(time.Second)
			a.report()
			a.told()
			a.sleep(time.Second)
			select {
			case <-a.signals:
				t.Errorf("%d was told to stop twice", a.pid)
			default:
			}
			a.exit(0)
		}, hangUp(time.Minute, 61*time.Second+500*time.Millisecond))
		wantSound(t, st, code)
		if len(st.spawns) != 4 {
			t.Errorf("starts: %s; want 4: nothing is started once told to stop", st.starts())
		}
	})
}

func TestDrainOfAReplacedWorkerIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, code := play(t, Config{Workers: 1, Drain: 3 * time.Second}, func(a *actor) {
			a.report()
			if a.life == 0 {
				a.serve(time.Hour)
				return
			}
			a.serve(0)
		}, hangUp(time.Minute, 2*time.Minute))
		wantSound(t, st, code)
		wantLog(t, st, "drain outlasted its bound", "took=4s")
	})
}

func TestWithoutASpareNothingIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := Config{Workers: 2, Handed: Handed{Bus: twoPlaces()}}
		st, code := play(t, cfg, healthy, hangUp(time.Minute, 2*time.Minute))
		wantSound(t, st, code)
		if len(st.spawns) != 2 {
			t.Errorf("starts: %s; want 2", st.starts())
		}
		wantLog(t, st, "there is no spare place")
		if strings.Contains(st.text(), "every worker is replaced") {
			t.Error("a reload that did nothing is logged as done")
		}
	})
}
