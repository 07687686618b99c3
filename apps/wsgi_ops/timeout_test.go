// SPDX-License-Identifier: MIT

//go:build linux

package wsgiops

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"m0serve.dev/apps/internal/smoketest"
)

// A view that takes longer than --timeout is shown with the line where it is, and its
// worker is replaced, whatever the view does: waiting, computing, or holding the
// interpreter in C, alone in the worker or beside other threads.
func TestTimeout(t *testing.T) {
	t.Parallel()
	for _, threads := range []int{1, 4} {
		for _, view := range []string{"sleep", "spin", "hold"} {
			t.Run(view+"-"+strconv.Itoa(threads), func(t *testing.T) {
				t.Parallel()
				stuck(t, site{args: []string{"--threads", strconv.Itoa(threads)}}, view)
			})
		}
	}
}

// An event loop that a coroutine holds up is the same.
func TestTimeoutOfAnEventLoop(t *testing.T) {
	t.Parallel()
	stuck(t, site{app: asgiApp}, "block")
}

// stuck calls a view for a minute and wants all that --timeout promises.
func stuck(t *testing.T, s site, view string) {
	t.Helper()
	s.args = append(s.args, "--timeout", "1", "--graceful-timeout", "1")
	p := s.start(t)
	old := worker(t, p, 0)
	if got := ask(t, p, "/sleep?s=0.2"); got != "slept "+strconv.Itoa(old) {
		t.Errorf("a view within its time: %q", got)
	}
	c := dial(t, p)
	begin := time.Now()
	c.Send(get("/" + view + "?s=60"))
	logs(t, p, "longer than --timeout", 1)
	if took := time.Since(begin); took < 900*time.Millisecond {
		t.Errorf("too long after %v, want 1 s", took)
	}
	logs(t, p, "in "+view+"\n", 1)
	dump := p.Log()[strings.Index(p.Log(), "thread 0x"):]
	dump, _, _ = strings.Cut(dump, "in <module>\n")
	if strings.Contains(dump, "{") {
		t.Errorf("the log is written into the stacks:\n%s", dump)
	}
	replaced(t, p, old)
	if err := c.Ended(); err != nil {
		t.Error(err)
	}
	if n := strings.Count(p.Log(), "longer than --timeout"); n != 1 {
		t.Errorf("it was said %d times", n)
	}
}

// A coroutine that waits holds nothing up, however long.
func TestTimeoutLeavesCoroutinesThatWait(t *testing.T) {
	t.Parallel()
	p := site{app: asgiApp, args: []string{"--timeout", "0.5"}}.start(t)
	old := worker(t, p, 0)
	if got := ask(t, p, "/sleep?s=1.5"); got != "slept "+strconv.Itoa(old) {
		t.Errorf("a coroutine that waits: %q, want the answer of process %d", got, old)
	}
	if strings.Contains(p.Log(), "longer than --timeout") {
		t.Errorf("a coroutine that waits is taken for one that holds up the loop")
	}
}

// Two slow views on two workers, or on two threads of one, take the time of one.
func TestSlowViewsOverlap(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		pids int
	}{
		{"workers", []string{"--workers", "2"}, 2},
		{"threads", []string{"--blocking-threads", "2"}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := site{args: tt.args}.start(t)
			first, second := dial(t, p), dial(t, p)
			pid := string(answer(t, first, get("/pid")).Body)
			smoketest.Until(t, "a connection to another worker", func() bool {
				if got := string(answer(t, second, get("/pid")).Body); tt.pids == 1 || got != pid {
					return true
				}
				second = dial(t, p)
				return false
			})
			begin := time.Now()
			first.Send(get("/sleep?s=2"))
			other := string(answer(t, second, get("/sleep?s=2")).Body)
			r, err := first.Read("GET")
			if err != nil {
				t.Fatal(err)
			}
			if took := time.Since(begin); took > 3800*time.Millisecond {
				t.Errorf("two views of 2 s took %v", took)
			}
			pids := map[string]bool{string(r.Body): true, other: true}
			if len(pids) != tt.pids {
				t.Errorf("they were answered by %v, want %d processes", pids, tt.pids)
			}
		})
	}
}
