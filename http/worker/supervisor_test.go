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

func TestStopEndsEveryWorkerCleanly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, code := play(t, Config{Workers: 3}, healthy, stopAfter(time.Minute))
		if code != 0 || len(st.spawns) != 3 {
			t.Errorf("stop of 3 healthy workers: exit %d after %d starts, want 0 after 3\n%s",
				code, len(st.spawns), st.text())
		}
	})
}

func TestReadyIsAnnouncedOnceWhenTheLastWorkerIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, _ := play(t, Config{Workers: 3}, func(a *actor) {
			a.sleep(time.Duration(a.index+1) * time.Second)
			if a.is(0, 0) {
				a.report()
				a.sleep(30 * time.Second)
				a.crash(syscall.SIGSEGV)
				return
			}
			a.report()
			a.serve(0)
		}, stopAfter(time.Minute))
		if st.readies != 1 || st.readyAt != 3*time.Second {
			t.Errorf("announced %d times, last after %v; want once after 3s", st.readies, st.readyAt)
		}
	})
}

func TestNotAnnouncedWhileOneWorkerIsMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, _ := play(t, Config{Workers: 2}, func(a *actor) {
			if a.index == 0 {
				a.report()
			}
			a.serve(0)
		}, stopAfter(time.Minute))
		if st.readies != 0 {
			t.Errorf("announced %d times with worker 1 not ready, want never", st.readies)
		}
	})
}

func TestRespawnAtOnceThenBackOffThenForgiven(t *testing.T) {
	// The uptime of each life of worker 0; the delay before the next is noted.
	lives := []time.Duration{0, 0, 0, 0, 0, 0, 0, 0, 59 * time.Second, 61 * time.Second, 0}
	want := []time.Duration{
		0, 100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond,
		800 * time.Millisecond, 1600 * time.Millisecond, 3200 * time.Millisecond,
		5 * time.Second, 5 * time.Second, 0, 100 * time.Millisecond,
	}
	synctest.Test(t, func(t *testing.T) {
		st, code := play(t, Config{Workers: 2}, func(a *actor) {
			a.report()
			if a.index == 0 && a.life < len(lives) {
				a.sleep(lives[a.life])
				a.crash(syscall.SIGKILL)
				return
			}
			a.serve(0)
		}, stopAfter(10*time.Minute))
		if code != 0 || st.lives(0) != len(lives)+1 || st.lives(1) != 1 {
			t.Fatalf("exit %d, %d lives of worker 0, %d of worker 1; want 0, %d, 1\n%s",
				code, st.lives(0), st.lives(1), len(lives)+1, st.text())
		}
		var starts []time.Duration
		for _, s := range st.spawns {
			if s.index == 0 {
				starts = append(starts, s.at)
			}
		}
		for i, w := range want {
			if got := starts[i+1] - starts[i] - lives[i]; got != w {
				t.Errorf("respawn after death %d took %v, want %v", i+1, got, w)
			}
		}
	})
}

func TestBackoffJitterTakesOffAFifthAtMost(t *testing.T) {
	for n := 1; n < 200; n++ {
		full, least := backoff(n, 0), backoff(n, 0.999999)
		if full > backoffLast || least > full || least < full*4/5 {
			t.Errorf("backoff(%d) = %v to %v, want at most %v and a fifth of it less",
				n, least, full, backoffLast)
		}
	}
}

func TestFiveDeathsBeforeReadyEndTheService(t *testing.T) {
	for name, c := range map[string]struct {
		workers, starts int
		dies            func(a *actor) bool
	}{
		"the only worker":    {1, 5, func(*actor) bool { return true }},
		"every worker":       {4, 0, func(*actor) bool { return true }},
		"one beside healthy": {2, 6, func(a *actor) bool { return a.index == 1 }},
		"after it once served": {1, 6, func(a *actor) bool {
			if a.life == 0 {
				a.report()
				a.sleep(time.Hour)
			}
			return true
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st, code := play(t, Config{Workers: c.workers}, func(a *actor) {
					if c.dies(a) {
						a.exit(3)
						return
					}
					healthy(a)
				}, nil)
				if code != 1 || (c.starts > 0 && len(st.spawns) != c.starts) {
					t.Errorf("exit %d after starts %v; want 1 after %d", code, st.spawns, c.starts)
				}
				if len(st.spawns) > c.workers+5 {
					t.Errorf("%d starts: the loop was not broken", len(st.spawns))
				}
				wantLog(t, st, "giving up", "status 3")
			})
		})
	}
}

func TestDeathsAfterReadyNeverEndTheService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, code := play(t, Config{Workers: 1}, func(a *actor) {
			a.report()
			if a.life < 200 {
				a.crash(syscall.SIGKILL)
				return
			}
			a.serve(0)
		}, stopAfter(time.Hour))
		if code != 0 || len(st.spawns) != 201 {
			t.Errorf("exit %d after %d starts, want 0 after 201", code, len(st.spawns))
		}
	})
}

func TestReadyReportLostInTheDeathStillCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, code := play(t, Config{Workers: 1}, func(a *actor) {
			if a.life < 20 {
				a.reported = true // on the line, but nobody has read it
				a.exit(1)
				return
			}
			healthy(a)
		}, stopAfter(time.Hour))
		if code != 0 || len(st.spawns) != 21 {
			t.Errorf("exit %d after %d starts, want 0 after 21: each had been ready", code, len(st.spawns))
		}
	})
}

func TestConfigurationExitEndsSiblingsAndService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, code := play(t, Config{Workers: 3}, func(a *actor) {
			if a.index == 0 {
				a.sleep(time.Second)
				a.exit(78)
				return
			}
			healthy(a)
		}, nil)
		if code != 78 || len(st.spawns) != 3 {
			t.Errorf("exit %d after starts %v, want 78 after 3", code, st.spawns)
		}
	})
}

func TestConfigurationExitOfASuccessorLeavesSiblingsServing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, code := play(t, Config{Workers: 2}, func(a *actor) {
			if a.index == 0 && a.life == 1 {
				a.exit(78)
				return
			}
			if a.is(0, 0) {
				a.report()
				a.sleep(time.Second)
				a.crash(syscall.SIGKILL)
				return
			}
			healthy(a)
		}, stopAfter(time.Minute))
		if code != 0 || st.lives(1) != 1 || st.lives(0) != 3 {
			t.Errorf("exit %d after starts %v, want 0 with worker 1 untouched", code, st.spawns)
		}
	})
}

func TestNothingIsRespawnedOnceToldToStop(t *testing.T) {
	for name, ending := range map[string]func(a *actor){
		"crash in the drain":   func(a *actor) { a.crash(syscall.SIGSEGV) },
		"failed drain":         func(a *actor) { a.exit(1) },
		"configuration status": func(a *actor) { a.exit(78) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st, code := play(t, Config{Workers: 2}, func(a *actor) {
					a.report()
					a.told()
					if a.index == 0 {
						ending(a)
						return
					}
					a.sleep(2 * time.Second) // long enough for a successor to start
					a.exit(0)
				}, stopAfter(time.Minute))
				if code != 1 || len(st.spawns) != 2 {
					t.Errorf("exit %d after %d starts, want 1 after 2", code, len(st.spawns))
				}
			})
		})
	}
}

func TestStopCancelsADueRespawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, code := play(t, Config{Workers: 1}, func(a *actor) {
			a.report()
			a.crash(syscall.SIGKILL)
		}, stopAfter(4*time.Second)) // in the middle of a back-off
		if code != 0 {
			t.Errorf("stop while a respawn was due: exit %d, want 0\n%s", code, st.text())
		}
	})
}

func TestStopDuringStartIsClean(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, code := play(t, Config{Workers: 2}, func(a *actor) {
			a.told()
			a.crash(syscall.SIGTERM) // the default action: nothing is armed yet
		}, stopAfter(time.Second))
		if code != 0 || len(st.spawns) != 2 {
			t.Errorf("exit %d after %d starts, want 0 after 2\n%s", code, len(st.spawns), st.text())
		}
	})
}

func TestDrainThatOutlastsItsBoundIsKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, code := play(t, Config{Workers: 2, Drain: 5 * time.Second}, func(a *actor) {
			a.report()
			if a.index == 0 {
				a.serve(time.Hour)
				return
			}
			a.serve(5 * time.Second) // the whole bound, but not more
		}, stopAfter(time.Minute))
		took := st.took - time.Minute
		if code != 1 || took != 5*time.Second+killGrace {
			t.Errorf("exit %d, %v after SIGTERM; want 1 after %v", code, took, 5*time.Second+killGrace)
		}
		wantLog(t, st, "drain outlasted its bound", "signal=killed")
		if n := strings.Count(st.text(), "why="); n != 1 {
			t.Errorf("%d workers killed, want the late one alone\n%s", n, st.text())
		}
	})
}

func TestSecondStopSignalEndsAtOnce(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		synctest.Test(t, func(t *testing.T) {
			st, code := play(t, Config{Workers: 2}, func(a *actor) {
				a.report()
				a.serve(4 * time.Second)
			}, func(st *stage) {
				stopAfter(time.Minute)(st)
				time.Sleep(time.Second)
				st.signals <- sig
			})
			if took := st.took - time.Minute; code != 1 || took != time.Second {
				t.Errorf("second signal %v: exit %d after %v, want 1 after 1s\n%s",
					sig, code, took, st.text())
			}
		})
	}
}

func TestOneLogLinePerDeath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, _ := play(t, Config{Workers: 1}, func(a *actor) {
			a.report()
			switch a.life {
			case 0:
				a.sleep(1500 * time.Millisecond)
				a.crash(syscall.SIGKILL)
			case 1:
				a.exit(7)
			default:
				a.serve(0)
			}
		}, stopAfter(time.Minute))
		wantLog(t, st,
			`msg="worker: ended" pid=101 index=0 signal=killed uptime=1.5s`,
			`msg="worker: ended" pid=102 index=0 status=7 uptime=0s`)
		if n := strings.Count(st.text(), "worker: ended"); n != 3 {
			t.Errorf("%d lines for 3 deaths:\n%s", n, st.text())
		}
	})
}

func TestUnknownChildIsOnlyReaped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, code := play(t, Config{Workers: 1}, healthy, func(st *stage) {
			time.Sleep(time.Second)
			st.mu.Lock()
			st.dead = append(st.dead, death{pid: 9999, status: 78 << 8})
			st.mu.Unlock()
			st.children <- syscall.SIGCHLD
			stopAfter(time.Minute)(st)
		})
		if code != 0 || len(st.spawns) != 1 {
			t.Errorf("exit %d after %d starts, want 0 after 1: the child was not ours",
				code, len(st.spawns))
		}
	})
}
