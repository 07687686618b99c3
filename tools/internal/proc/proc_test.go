// SPDX-License-Identifier: MIT

//go:build unix

package proc

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestRun(t *testing.T) {
	got, err := Run(t.Context(), Cmd{
		Dir: "/", Env: []string{"M0_X=y"}, Args: []string{"sh", "-c", `echo $M0_X; pwd; echo err >&2`},
	})
	if want := "y\n/\nerr\n"; got != want || err != nil {
		t.Errorf("Run = %q, %v, want %q", got, err, want)
	}
}

func TestRunSaysWhatFailed(t *testing.T) {
	_, err := Run(t.Context(), Cmd{Args: []string{"sh", "-c", "echo the reason; exit 3"}})
	if err == nil || !strings.Contains(err.Error(), "the reason\nsh -c") ||
		!strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("Run(exit 3) = %v, want output, command and status", err)
	}
	if _, err := Run(t.Context(), Cmd{Args: []string{"/no/such/program"}}); err == nil {
		t.Error("Run(no program) = nil, want an error")
	}
}

func TestRunHandsOverLines(t *testing.T) {
	var lines []string
	script := `printf 'a\n\nlast'; head -c 1100000 /dev/zero | tr '\0' x; echo; echo end`
	_, err := Run(t.Context(), Cmd{
		Args: []string{"sh", "-c", script}, OnLine: func(l string) { lines = append(lines, l) },
	})
	if err != nil || len(lines) != 4 {
		t.Fatalf("Run = %d lines, %v, want 4", len(lines), err)
	}
	if lines[0] != "a" || lines[1] != "" || lines[3] != "end" {
		t.Errorf("lines = %q, %q, …, %q, want a, empty, end", lines[0], lines[1], lines[3])
	}
	if n := len(lines[2]); n != lineBytesMax || !strings.HasPrefix(lines[2], "lastxx") {
		t.Errorf("long line = %d bytes, want it cut at %d", n, lineBytesMax)
	}
}

func TestRunEndsTheWholeGroup(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	pids := make(chan int, 1)
	done := make(chan error, 1)
	go func() {
		_, err := Run(ctx, Cmd{
			Args: []string{"sh", "-c", "sleep 60 & echo $!; wait"},
			OnLine: func(l string) {
				pid, _ := strconv.Atoi(l)
				pids <- pid
			},
		})
		done <- err
	}()
	pid := <-pids
	cancel()
	if err := <-done; !errors.Is(err, ErrTimeout) {
		t.Errorf("Run = %v, want ErrTimeout", err)
	}
	gone(t, pid)
}

// gone waits until the process has ended; init may take a moment to reap it.
func gone(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil && syscall.Kill(pid, 0) != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
	}
	t.Errorf("process %d, started by the command, still runs", pid)
}
