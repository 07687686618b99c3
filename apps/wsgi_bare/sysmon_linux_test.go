// SPDX-License-Identifier: MIT

package wsgibare

import (
	"fmt"
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
func TestTrapBusyLoopKeepsItsProcessor(t *testing.T) {
	s := trap(t, pyserver.Config{})
	pid := 0
	for _, p := range s.p.Workers(t) {
		pid = p
	}
	const busy = 2 * time.Second
	sysmon := sleeper(t, pid)
	before := slept(t, sysmon)
	served := load(t, s, busy)
	times := slept(t, sysmon) - before
	if served < 1000 {
		t.Skipf("SKIPPED: %d requests in %v: the machine is too busy to show anything", served, busy)
	}
	t.Logf("%d sleeps of sysmon, %d requests", times, served)
	if perSecond := times / int(busy.Seconds()); perSecond > 1500 {
		t.Errorf("sysmon woke %d times a second beside %d requests, want at most 1500", perSecond, served)
	}
}

// load asks on several connections for a page that takes some time, and returns the number of
// answers.
func load(t *testing.T, s *suite, d time.Duration) (served int64) {
	t.Helper()
	var wait sync.WaitGroup
	var count atomic.Int64
	end := time.Now().Add(d)
	for range 8 {
		c := s.dial(t)
		wait.Go(func() {
			for time.Now().Before(end) {
				c.Send(get("/environ"))
				if _, err := c.Read("GET"); err != nil {
					t.Errorf("load: %v", err)
					return
				}
				count.Add(1)
			}
		})
	}
	wait.Wait()
	return count.Load()
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
