// SPDX-License-Identifier: MIT

//go:build unix

package smoketest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// Workers gives the pids of the running workers of the service by their index,
// read from what they were started with. One process that serves by itself has
// none.
func (p *Process) Workers(t *testing.T) map[int]int {
	t.Helper()
	pids := make(map[int]int)
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended meanwhile
		}
		pid, parent, state := parseStat(string(stat))
		if parent != p.Cmd.Process.Pid || state == "Z" {
			continue
		}
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil {
			continue
		}
		for _, v := range bytes.Split(env, []byte{0}) {
			if s, ok := strings.CutPrefix(string(v), "M0_WORKER_INDEX="); ok {
				if index, err := strconv.Atoi(s); err == nil {
					pids[index] = pid
				}
			}
		}
	}
	return pids
}

// Gone reports that a process has ended, waited for or not. Its first thread may end
// ahead of the others, which until then hold what it has open: it counts as alive.
func Gone(pid int) bool {
	dir := fmt.Sprintf("/proc/%d", pid)
	stat, err := os.ReadFile(dir + "/stat")
	if err != nil {
		return errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH)
	}
	_, _, state := parseStat(string(stat))
	threads, err := os.ReadDir(dir + "/task")
	return state == "Z" && (err != nil || len(threads) <= 1)
}

// Stop stops a process by SIGSTOP and returns once each of its threads stands. It goes on
// with SIGCONT, at the latest when the test ends.
func Stop(t *testing.T, pid int) {
	t.Helper()
	Kill(t, pid, syscall.SIGSTOP)
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) }) // it may be gone
	Until(t, "every thread to stand", func() bool {
		stats, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		for _, name := range stats {
			stat, err := os.ReadFile(name)
			if _, _, state := parseStat(string(stat)); err != nil || state != "T" {
				return false
			}
		}
		return len(stats) > 0
	})
}

// AwaitAnswer waits until the worker at index answers on path. A worker that was
// replaced has a process long before it serves, and until then its siblings get
// everything.
func (p *Process) AwaitAnswer(t *testing.T, path string, index int) {
	t.Helper()
	client := Client()
	Until(t, fmt.Sprintf("an answer of worker %d", index), func() bool {
		resp, err := client.Get(p.URL + path)
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.Header.Get("X-Worker") == strconv.Itoa(index)
	})
}

// parseStat reads pid, parent and state of a /proc/PID/stat line; the command
// between its parentheses may hold anything.
func parseStat(stat string) (pid, parent int, state string) {
	open, end := strings.IndexByte(stat, '('), strings.LastIndexByte(stat, ')')
	if open < 0 || end < open {
		return 0, 0, ""
	}
	pid, _ = strconv.Atoi(strings.TrimSpace(stat[:open]))
	fields := strings.Fields(stat[end+1:])
	if len(fields) < 2 {
		return 0, 0, ""
	}
	parent, _ = strconv.Atoi(fields[1])
	return pid, parent, fields[0]
}

// Spread opens streams with open until workers 0 to n-1, which all serve, each
// hold at least two, and returns them. A run that cannot spread them proves
// nothing and fails.
func Spread(t *testing.T, n int, open func() *Stream) []*Stream {
	t.Helper()
	var streams []*Stream
	held := make(map[string]int)
	for range 64 {
		s := open()
		streams = append(streams, s)
		held[s.Worker]++
		if len(held) == n && atLeast(held, 2) {
			return streams
		}
	}
	t.Fatalf("64 streams sit on workers %v: want two on each of %d", held, n)
	return nil
}

func atLeast(held map[string]int, least int) bool {
	for _, n := range held {
		if n < least {
			return false
		}
	}
	return true
}
