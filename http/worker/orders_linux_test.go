// SPDX-License-Identifier: MIT

package worker

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"m0serve.dev/http/bus"
)

// beatAndAsk makes a worker whose heart beats, or the first at place 1 one that
// asks to be replaced as soon as it serves.
func beatAndAsk(in *Inherited, role string) {
	page, err := bus.OpenPage(in.Page)
	check(err)
	page.Worker(in.Place).Claim(os.Getpid())
	share, err := NewShare(page, in.Place, in.Accept)
	check(err)
	page.Worker(in.Place).SetState(bus.Ready)
	share.Start(func(int) error { return nil })
	if role == "asking" && in.Place == 1 {
		NewRecycler(RecycleConfig{Requests: 1, Ask: func() error {
			check(in.Ready())
			return in.Replace()
		}}).Count()
	}
}

func (s *service) signal(t *testing.T, sig syscall.Signal) {
	t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
}

// TestIgnoredHangupStaysIgnored: under nohup a hangup replaces nobody, and that is told.
func TestIgnoredHangupStaysIgnored(t *testing.T) {
	t.Parallel()
	s := startService(t, "serve", "sh", "-c", `trap "" HUP; exec "$0"`)
	s.says(t, "SIGHUP was ignored at the start")
	s.says(t, "all ready")
	s.signal(t, syscall.SIGHUP)
	s.signal(t, syscall.SIGTTIN) // behind it in the same queue
	s.says(t, "one worker more")
	if strings.Contains(s.text(), "rolling restart") {
		t.Error("a hangup that was ignored at the start replaces the workers")
	}
	s.signal(t, syscall.SIGTERM)
	if code := s.wait(t); code != 0 {
		t.Errorf("exit %d, want 0", code)
	}
}

func TestSignalsAddAndTakeAwayWorkers(t *testing.T) {
	t.Parallel()
	s := startService(t, "serve")
	s.says(t, "all ready")
	s.signal(t, syscall.SIGTTIN)
	s.says(t, "worker 2 of 3 pid")
	s.until(t, "a third worker", func() bool { return len(s.workers()) == 3 })
	s.signal(t, syscall.SIGTTIN)
	s.says(t, "the maximum was reached")
	for n := range 2 {
		s.signal(t, syscall.SIGTTOU)
		s.until(t, "one worker less", func() bool { return len(s.workers()) == 2-n })
	}
	s.signal(t, syscall.SIGTTOU)
	s.says(t, "the last worker stays")
	if got := len(s.workers()); got != 1 {
		t.Errorf("%d workers, want 1", got)
	}
	s.signal(t, syscall.SIGTERM)
	if code := s.wait(t); code != 0 || strings.Contains(s.text(), "level=ERROR") {
		t.Errorf("exit %d, or an error was logged; want 0", code)
	}
}

func TestWorkerThatAsksOverItsLifeLineIsReplaced(t *testing.T) {
	t.Parallel()
	s := startService(t, "asking")
	s.says(t, "all ready")
	s.says(t, `msg="worker: asks to be replaced"`)
	s.says(t, `msg="worker: replaced" index=1`)
	s.until(t, "the end of the old one", func() bool {
		return strings.Contains(s.text(), "worker: ended") && len(s.workers()) == 2
	})
	if n := strings.Count(s.text(), "worker: ended"); n != 1 || strings.Contains(s.text(), "ERROR") {
		t.Errorf("%d workers ended, or an error was logged; want 1 and none", n)
	}
}

func TestStoppedWorkerIsTakenForStuck(t *testing.T) {
	t.Parallel()
	s := startService(t, "beating")
	s.says(t, "all ready")
	victim := s.workers()[0]
	if err := syscall.Kill(victim, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	s.says(t, fmt.Sprintf(`msg="worker: stuck, its heartbeat has stopped" pid=%d`, victim))
	s.until(t, "the end of the stuck worker and its successor", func() bool {
		return isGone(victim) && len(s.workers()) == 2
	})
	s.says(t, fmt.Sprintf("pid=%d index=", victim))
	if n := strings.Count(s.text(), "its heartbeat has stopped"); n != 1 {
		t.Errorf("%d workers taken for stuck, want 1", n)
	}
}

// hasEnv reports whether some worker was started with a name of the manager's.
func (s *service) hasEnv(t *testing.T, names ...string) bool {
	t.Helper()
	for _, pid := range s.workers() {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if bytes.Contains(text, []byte(name+"=")) {
				return true
			}
		}
	}
	return false
}
