// SPDX-License-Identifier: MIT

package wsgibare

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"m0serve.dev/apps/internal/pyserver"
	"m0serve.dev/apps/internal/smoketest"
)

// Go's sysmon wakes every 20 µs while a loop goes in and out of C: its timers are coarse, and
// those of the threads of Python are what the system makes them.
func TestTrapSysmonIsCoarse(t *testing.T) {
	s := trap(t, pyserver.Config{})
	for _, pid := range s.p.Workers(t) {
		sysmon := filepath.Base(sleeper(t, pid))
		if got := slack(t, sysmon); got != "5000000" {
			t.Errorf("timers of sysmon have a slack of %s ns, want 5000000", got)
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
