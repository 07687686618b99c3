// SPDX-License-Identifier: MIT

//go:build linux

package faults

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	_ "m0serve.dev/apps/internal/answer" // what host_check is made of: its changes are seen
	"m0serve.dev/apps/internal/pyserver"
	"m0serve.dev/apps/internal/smoketest"
	_ "m0serve.dev/host"
)

// patience bounds every wait: generous, since a run that is slow proves as much.
const patience = 60 * time.Second

// envProve asks for the long run.
const envProve = "M0_PROVE"

var (
	servers  pyserver.Builder
	jumping  = pyserver.Builder{Flags: overlayFlags} // with a wall clock of the test's
	programs sync.Map                                // name → func() (string, error)
)

func TestMain(m *testing.M) {
	code := m.Run()
	programs.Range(func(_, build any) bool {
		if bin, err := build.(func() (string, error))(); err == nil {
			_ = os.RemoveAll(filepath.Dir(bin))
		}
		return true
	})
	removeOverlay()
	servers.Clean()
	jumping.Clean()
	os.Exit(code)
}

// times is a count for a run of seconds, and one for the long run.
func times(ci, long int) int {
	if os.Getenv(envProve) != "" {
		return long
	}
	return ci
}

// random is a source of what a fault leaves to chance. Its seed is in the log, and
// M0_SEED repeats it.
func random(t *testing.T) *rand.Rand {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("M0_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("M0_SEED=%q: %v", text, err)
		}
	}
	t.Logf("M0_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 1))
}

// skipShort leaves out what runs real binaries.
func skipShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIPPED: -short: faults on the real binary")
	}
}

// hostBinary builds host_check once for all tests.
func hostBinary(t *testing.T) string {
	t.Helper()
	return built(t, "host_check")
}

// built builds an application once for all tests that want it with the same flags.
func built(t *testing.T, name string, flags ...string) string {
	t.Helper()
	skipShort(t)
	build, _ := programs.LoadOrStore(fmt.Sprint(name, flags), sync.OnceValues(
		func() (string, error) { return buildProgram(name, flags) }))
	bin, err := build.(func() (string, error))()
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

func buildProgram(name string, flags []string) (bin string, err error) {
	dir, err := os.MkdirTemp("", "faults-")
	if err != nil {
		return "", err
	}
	bin = filepath.Join(dir, name)
	args := append(append([]string{"build"}, flags...), "-o", bin, "../"+name)
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		_ = os.RemoveAll(dir)
		return "", fmt.Errorf("go build: %v\n%s", err, out)
	}
	return bin, nil
}

// quiet keeps the producer of host_check from publishing beside the test.
const quiet = "M0_HOSTCHECK_PERIOD_MS=3600000"

// startHost serves host_check with two workers.
func startHost(t *testing.T, env ...string) *smoketest.Process {
	t.Helper()
	return smoketest.Start(t, hostBinary(t), append([]string{"M0_WORKERS=2", quiet}, env...)...)
}

// until polls ok until it is true.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v in vain for: %s", patience, what)
		}
	}
}

// says waits until the log has text so many times at least.
func says(t *testing.T, p *smoketest.Process, least int, text string) {
	t.Helper()
	until(t, fmt.Sprintf("%q in the log, %d times", text, least), func() bool {
		return strings.Count(p.Log(), text) >= least
	})
}

// exit waits for the end of the service and gives its exit status.
func exit(t *testing.T, p *smoketest.Process) int {
	t.Helper()
	until(t, "the end of the service", func() bool { return p.Ended() != "" })
	return p.Wait(t)
}

// sameWorkers wants the workers to be the processes that they were.
func sameWorkers(t *testing.T, p *smoketest.Process, before map[int]int) {
	t.Helper()
	if now := p.Workers(t); !maps.Equal(now, before) {
		t.Errorf("workers %v, want %v as before", now, before)
	}
}

// A fleet is what one worker of host_check says about all of them.
type fleet struct {
	Worker int
	Fleet  []struct {
		Index, PID, Connections int
		State                   string
		Drops                   uint64
	}
}

// ask asks once; a worker that is stopped or dies meanwhile does not answer.
func ask(p *smoketest.Process) (f fleet, ok bool) {
	client := &http.Client{Timeout: time.Second,
		Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(p.URL + "/stats")
	if err != nil {
		return f, false
	}
	defer resp.Body.Close()
	return f, json.NewDecoder(resp.Body).Decode(&f) == nil
}

// serves waits until two workers are ready, and another process than old at the index.
func serves(t *testing.T, p *smoketest.Process, index, old int) {
	t.Helper()
	until(t, fmt.Sprintf("worker %d to serve again", index), func() bool {
		f, ok := ask(p)
		if !ok || len(f.Fleet) != 2 {
			return false
		}
		w := f.Fleet[index]
		return w.State == "ready" && w.PID != old && w.PID != 0
	})
}

// workerOf reads the answer to a GET that was sent, and tells who gave it, "" when
// nobody did within limit.
func workerOf(conn net.Conn, limit time.Duration) string {
	_ = conn.SetDeadline(time.Now().Add(limit))
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return ""
	}
	_ = resp.Body.Close()
	return resp.Header.Get("X-Worker")
}
