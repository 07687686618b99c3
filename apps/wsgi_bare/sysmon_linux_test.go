// SPDX-License-Identifier: MIT

package wsgibare

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"m0serve.dev/apps/internal/pyserver"
	"m0serve.dev/apps/internal/smoketest"
)

// Go's sysmon takes the processor of a goroutine that has been in C for long. A busy loop
// looks like one unless it is scheduled now and then: sysmon then wakes every 20 µs.
// Processors are taken rightly as well, where a machine has no time for the server, so what
// counts is that sysmon comes to rest at some time: below 60 sleeps in a fifth of a second.
// It is 20 on a quiet machine, and about 200 without the cure, however coarse its timers are.
func TestTrapBusyLoopKeepsItsProcessor(t *testing.T) {
	s := trap(t, pyserver.Config{})
	pid := 0
	for _, p := range s.p.Workers(t) {
		pid = p
	}
	sysmon := sleeper(t, pid)
	defer s.load(t)()
	const window, most = 200 * time.Millisecond, 60
	least := math.MaxInt
	for end := time.Now().Add(10 * time.Second); least > most; {
		before := slept(t, sysmon)
		time.Sleep(window)
		least = min(least, slept(t, sysmon)-before)
		if time.Now().After(end) {
			t.Fatalf("sysmon woke %d times in %v at least, want at most %d", least, window, most)
		}
	}
}

// Where a loop goes in and out of C often, sysmon does not come to rest: its timers are coarse,
// and those of the threads of Python are what the system makes them.
func TestTrapSysmonIsCoarse(t *testing.T) {
	s := trap(t, pyserver.Config{})
	for _, pid := range s.p.Workers(t) {
		sysmon := filepath.Base(sleeper(t, pid))
		if got := slack(t, sysmon); got != "1000000" {
			t.Errorf("timers of sysmon have a slack of %s ns, want 1000000", got)
		}
		if got, want := slack(t, strconv.Itoa(pid)), slack(t, "self"); got != want {
			t.Errorf("timers of the main thread have a slack of %s ns, want %s as here", got, want)
		}
	}
}

func slack(t *testing.T, thread string) string {
	t.Helper()
	ns, err := os.ReadFile("/proc/" + thread + "/timerslack_ns")
	if err != nil {
		t.Skipf("SKIPPED: this system does not tell the slack of timers: %v", err)
	}
	return strings.TrimSpace(string(ns))
}

// load asks on several connections for a page that takes some time, until stop.
func (s *suite) load(t *testing.T) (stop func()) {
	t.Helper()
	var wait sync.WaitGroup
	var over atomic.Bool
	for range 8 {
		c := s.dial(t)
		wait.Go(func() {
			for !over.Load() {
				c.Send(get("/environ"))
				if _, err := c.Read("GET"); err != nil {
					t.Errorf("load: %v", err)
					return
				}
			}
		})
	}
	return func() {
		over.Store(true)
		wait.Wait()
	}
}

// sleeper finds the thread of Go's sysmon, the only one that waits in nanosleep.
func sleeper(t *testing.T, pid int) (thread string) {
	t.Helper()
	smoketest.Until(t, "sysmon to sleep", func() bool {
		calls, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/syscall", pid))
		for _, file := range calls {
			call, _ := os.ReadFile(file)
			if strings.HasPrefix(string(call), fmt.Sprintf("%d ", syscall.SYS_NANOSLEEP)) {
				thread = filepath.Dir(file)
			}
		}
		return thread != ""
	})
	return thread
}

// slept tells how often a thread has gone to sleep by itself.
func slept(t *testing.T, thread string) int {
	t.Helper()
	status, err := os.ReadFile(filepath.Join(thread, "status"))
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(string(voluntary.FindSubmatch(status)[1]))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

var voluntary = regexp.MustCompile(`(?m)^voluntary_ctxt_switches:\s+(\d+)`)
