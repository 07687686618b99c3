// SPDX-License-Identifier: MIT

//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"m0serve.dev/apps/internal/smoketest"
)

// soon bounds the waits of this smoke: far above what a healthy service takes,
// and low enough that a broken one is told from it before go test gives up and
// leaves its processes behind.
const soon = 8 * time.Second

// until polls ok until it is true.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(soon); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v in vain for: %s", soon, what)
		}
	}
}

// exit waits for the end of the service and gives its exit status.
func exit(t *testing.T, p *smoketest.Process) int {
	t.Helper()
	until(t, "the end of the service", func() bool {
		return syscall.Kill(p.Cmd.Process.Pid, 0) == syscall.ESRCH
	})
	return p.Wait(t)
}

// nobodyLeft waits until no process of the service runs. One that has ended but
// was not waited for yet, by whoever inherited it, does not run.
func nobodyLeft(t *testing.T, p *smoketest.Process) {
	t.Helper()
	until(t, "the end of every process of the service", func() bool {
		return len(running(t, p.Cmd.Process.Pid)) == 0
	})
}

// running lists the processes of a group that have not ended.
func running(t *testing.T, group int) (pids []string) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended meanwhile
		}
		// The command, in parentheses, may hold anything; state, parent and
		// group follow it.
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err == nil && fields[2] == strconv.Itoa(group) && !smoketest.Gone(pid) {
			pids = append(pids, path)
		}
	}
	return pids
}

// silent fails when the log has one of the texts.
func silent(t *testing.T, p *smoketest.Process, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if strings.Contains(p.Log(), text) {
			t.Errorf("the log says %q", text)
		}
	}
}

// says waits for each of the texts: what a process printed last may still be on
// its way when it has ended.
func says(t *testing.T, p *smoketest.Process, texts ...string) {
	t.Helper()
	for _, text := range texts {
		until(t, fmt.Sprintf("%q in the log", text), func() bool {
			return strings.Contains(p.Log(), text)
		})
	}
}

func TestRefusals(t *testing.T) {
	skipShort(t)
	for _, setting := range []string{
		"M0_WORKERS=0", "M0_WORKERS=65", "M0_WORKERS=two", "M0_SPAWN_WORKERS=0",
		"M0_WORKER_SPAWNED=1", "M0_WORKER_INDEX=0", "M0_LISTEN_FD=3", "M0_BUS_FDS=4,5",
		"M0_PORT=http", "M0_THREADS=0", "M0_BLOCKING_THREADS=-1", "M0_DRAIN_S=soon",
	} {
		p := smoketest.Launch(t, bin, setting)
		name, _, _ := strings.Cut(setting, "=")
		if code := exit(t, p); code != 78 {
			t.Errorf("%s: exit %d, want 78", setting, code)
		}
		says(t, p, "host: ", name)
		silent(t, p, "listening")
	}
}

func TestPartsThatCannotBeBuilt(t *testing.T) {
	skipShort(t)
	for _, knob := range []string{"M0_HOSTCHECK_MAKE_RAISES", "M0_HOSTCHECK_PRODUCER_RAISES"} {
		for _, workers := range []string{"1", "2"} {
			p := smoketest.Launch(t, bin, "M0_WORKERS="+workers, knob+"=1")
			if code := exit(t, p); code != 78 {
				t.Errorf("%s at %s workers: exit %d, want 78", knob, workers, code)
			}
			nobodyLeft(t, p)
			says(t, p, "host: the ", knob)
			silent(t, p, "listening", "giving up", "goroutine", "panic")
		}
	}
}

func TestCrashBeforeReadyIsNoEndlessLoop(t *testing.T) {
	skipShort(t)
	p := smoketest.Launch(t, bin, "M0_WORKERS=2", "M0_HOSTCHECK_MAKE_RAISES=crash")
	if code := exit(t, p); code != 1 {
		t.Errorf("exit %d, want 1", code)
	}
	nobodyLeft(t, p)
	says(t, p, "giving up", "status=3")
	silent(t, p, "listening")
	if n := strings.Count(p.Log(), "worker: ended"); n < 5 || n > 7 {
		t.Errorf("%d deaths logged, want 5 and at most the two that were running", n)
	}
}

func TestKilledSupervisorFreesThePort(t *testing.T) {
	skipShort(t)
	p := smoketest.Start(t, bin, "M0_WORKERS=2")
	if n := len(p.Workers(t)); n != 2 {
		t.Fatalf("%d workers, want 2", n)
	}
	began := time.Now()
	p.Signal(t, syscall.SIGKILL)
	nobodyLeft(t, p)
	until(t, "the port to be free", func() bool {
		ln, err := net.Listen("tcp", strings.TrimPrefix(p.URL, "http://"))
		if err != nil {
			return false
		}
		return ln.Close() == nil
	})
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("nobody left and the port free after %v, want at most 2s", took)
	}
}

func TestStepThatDoesNotEndIsLeftBehind(t *testing.T) {
	skipShort(t)
	for _, workers := range []string{"1", "2"} {
		t.Run(workers, func(t *testing.T) {
			t.Parallel()
			p := smoketest.Start(t, bin, "M0_WORKERS="+workers, "M0_HOSTCHECK_STEP_MS=60000")
			began := time.Now()
			p.Signal(t, syscall.SIGTERM)
			code := exit(t, p)
			took := time.Since(began)
			if code != 0 || took < 5*time.Second || took > 8*time.Second {
				t.Errorf("exit %d, %v after SIGTERM; want 0 after 5s", code, took)
			}
			nobodyLeft(t, p)
			says(t, p, "host: abandoned a producer step still running 5 s after the drain;"+
				" exiting without it")
		})
	}
}

func TestNobodyWaitsAtTheDoorDuringADrain(t *testing.T) {
	skipShort(t)
	for _, workers := range []string{"1", "2"} {
		p := smoketest.Start(t, bin, "M0_WORKERS="+workers, "M0_DRAIN_S=60",
			"M0_HOSTCHECK_STEP_MS=60000")
		p.Signal(t, syscall.SIGTERM)
		until(t, "a refused connection", func() bool {
			conn, err := net.Dial("tcp", strings.TrimPrefix(p.URL, "http://"))
			if err == nil {
				conn.Close()
			}
			return errors.Is(err, syscall.ECONNREFUSED)
		})
		if len(running(t, p.Cmd.Process.Pid)) == 0 {
			t.Errorf("vacuous at %s workers: the service had ended", workers)
		}
	}
}

func TestLongPeriodLeavesAtOnce(t *testing.T) {
	skipShort(t)
	for _, workers := range []string{"1", "2"} {
		p := smoketest.Start(t, bin, "M0_WORKERS="+workers, "M0_HOSTCHECK_PERIOD_MS=60000")
		began := time.Now()
		p.Signal(t, syscall.SIGTERM)
		if code := exit(t, p); code != 0 {
			t.Errorf("exit %d at %s workers, want 0", code, workers)
		}
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("left %v after SIGTERM at %s workers, want at once", took, workers)
		}
		silent(t, p, "abandoned")
	}
}

func TestDrainThatOutlastsItsBoundIsKilled(t *testing.T) {
	skipShort(t)
	p := smoketest.Start(t, bin, "M0_WORKERS=2", "M0_DRAIN_S=1")
	stopped := p.Workers(t)[1]
	smoketest.Stop(t, stopped)
	began := time.Now()
	p.Signal(t, syscall.SIGTERM)
	code := exit(t, p)
	if took := time.Since(began); code != 1 || took < time.Second || took > 6*time.Second {
		t.Errorf("exit %d, %v after SIGTERM; want 1 soon after the drain of 1s", code, took)
	}
	nobodyLeft(t, p)
	says(t, p, "drain outlasted its bound", fmt.Sprintf("pid=%d index=1 signal=killed", stopped))
}

func TestSecondSignalEndsAtOnce(t *testing.T) {
	skipShort(t)
	for _, workers := range []string{"1", "2"} {
		p := smoketest.Start(t, bin, "M0_WORKERS="+workers,
			"M0_DRAIN_S=60", "M0_HOSTCHECK_STEP_MS=60000")
		p.Signal(t, syscall.SIGTERM)
		p.Signal(t, syscall.SIGINT)
		if code := exit(t, p); code != 1 {
			t.Errorf("exit %d at %s workers after a second signal, want 1", code, workers)
		}
		nobodyLeft(t, p)
	}
}

// TestSignalToTheGroupIsOneWish signals as timeout(1) does, and a terminal: the
// service, and then everybody in its group.
func TestSignalToTheGroupIsOneWish(t *testing.T) {
	skipShort(t)
	for _, workers := range []string{"1", "2"} {
		for !signalTwice(t, workers) {
			t.Log("this process was held up between the two signals: once more")
		}
	}
}

// signalTwice reports whether its two signals were as close as those of timeout(1).
func signalTwice(t *testing.T, workers string) (near bool) {
	t.Helper()
	p := smoketest.Start(t, bin, "M0_WORKERS="+workers)
	s := smoketest.Open(t, p.URL+"/events", "")
	began := time.Now()
	p.Signal(t, syscall.SIGTERM)
	_ = syscall.Kill(-p.Cmd.Process.Pid, syscall.SIGTERM) // which may be gone already
	took := time.Since(began)
	code := exit(t, p)
	if took > 20*time.Millisecond {
		return false
	}
	if code != 0 {
		t.Errorf("exit %d at %s workers, want 0", code, workers)
	}
	if !s.Ended(t) {
		t.Errorf("a held stream ended cleanly at %s workers, want it cut", workers)
	}
	return true
}

func TestKilledWorkerIsReplacedAtItsIndex(t *testing.T) {
	skipShort(t)
	p := smoketest.Start(t, bin, "M0_WORKERS=2")
	before := p.Workers(t)
	smoketest.Kill(t, before[1], syscall.SIGKILL)
	until(t, "a new worker 1", func() bool {
		now := p.Workers(t)
		return now[1] != 0 && now[1] != before[1] && now[0] == before[0]
	})
	says(t, p, fmt.Sprintf("pid=%d index=1 signal=killed", before[1]))
	p.Signal(t, syscall.SIGTERM)
	if code := exit(t, p); code != 0 {
		t.Errorf("exit %d, want 0", code)
	}
	if n := strings.Count(p.Log(), "listening"); n != 1 {
		t.Errorf("%d banners, want 1", n)
	}
}
