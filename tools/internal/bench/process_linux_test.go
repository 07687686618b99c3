// SPDX-License-Identifier: MIT

package bench

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestStopEndsTheFamily starts a server with a worker of its own, which counts to
// its memory and ends with it.
func TestStopEndsTheFamily(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("M0_BENCH_PLAY", "parent")
	s, err := Start(t.Context(), self, "-test.run=^TestServer$")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	_, text, _ := strings.Cut(s.Addr, ":")
	child, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("Addr = %q, want the child's id in it", s.Addr)
	}
	if got := family(s.cmd.Process.Pid); len(got) != 2 || got[1] != child {
		t.Errorf("family = %v, want the server and %d", got, child)
	}
	if all, largest := s.Memory(); largest.Pss <= 0 || all.RSS <= largest.RSS {
		t.Errorf("Memory = %+v, %+v, want the sum above the larger of two", all, largest)
	}
	s.Stop()
	for end := time.Now().Add(5 * time.Second); isAlive(child); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the child %d still runs after Stop", child)
		}
	}
}

// isAlive reports whether a process runs; init may take a moment to reap it.
func isAlive(pid int) bool {
	word := afterName(readText("/proc/" + strconv.Itoa(pid) + "/stat"))
	return syscall.Kill(pid, 0) == nil && len(word) > 0 && word[0] != "Z"
}
