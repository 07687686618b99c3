// SPDX-License-Identifier: MIT

//go:build unix

package main

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"sync"
	"syscall"
	"testing"
	"time"

	"m0serve.dev/apps/internal/smoketest"
)

var bin string

func TestMain(m *testing.M) { smoketest.Main(m, &bin, main) }

// TestHelpIsNoMistake: who asks for help gets it with 0, and a wrong flag is 78.
func TestHelpIsNoMistake(t *testing.T) {
	for arg, want := range map[string]int{"--help": 0, "--nosuch": 78} {
		var log bytes.Buffer
		code := run([]string{arg}, &log)
		if code != want || !bytes.Contains(log.Bytes(), []byte("-std")) {
			t.Errorf("echo_check %s = exit %d, %q; want %d and the flags", arg, code, &log, want)
		}
	}
}

// eachMode runs test against the server in both its ways to serve.
func eachMode(t *testing.T, test func(t *testing.T, k *checker)) {
	t.Run("native", func(t *testing.T) { test(t, start(t, "native")) })
	t.Run("std", func(t *testing.T) { test(t, start(t, "std", "-std")) })
}

// start runs the binary on a free port until the end of the test, and makes
// sure that handler is what it serves.
func start(t *testing.T, handler string, args ...string) *checker {
	t.Helper()
	cmd := exec.Command(bin, args...)
	cmd.Env = append(os.Environ(), "M0_PORT=0")
	log := new(lockedBuffer)
	cmd.Stderr = log
	smoketest.StartInGroup(t, cmd)
	t.Cleanup(func() { stop(t, cmd, log) })
	banner := regexp.MustCompile(`listening on (http://\S+)\n`)
	var url string
	smoketest.Until(t, "the listening banner", func() bool {
		if m := banner.FindStringSubmatch(log.String()); m != nil {
			url = m[1]
		}
		return url != ""
	})
	client := &http.Client{
		Timeout:   patience,
		Transport: &http.Transport{MaxIdleConnsPerHost: 64},
	}
	resp, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if got := resp.Header.Get("X-Handler"); got != handler {
		t.Fatalf("echo_check %v serves the %q handler, want %q", args, got, handler)
	}
	return &checker{url: url, client: client}
}

// stop ends the server as an operator would; it has to end clean.
func stop(t *testing.T, cmd *exec.Cmd, log *lockedBuffer) {
	_ = cmd.Process.Signal(syscall.SIGTERM)
	killer := time.AfterFunc(smoketest.Patience, func() { _ = cmd.Process.Kill() })
	defer killer.Stop()
	if err := cmd.Wait(); err != nil {
		t.Errorf("echo_check ended with %v", err)
	}
	if t.Failed() {
		t.Logf("log of echo_check:\n%s", log.String())
	}
}

// A lockedBuffer is written by a process and read by a test.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// runAll works on n jobs, width at a time, and returns what each found.
func runAll(n, width int, job func(i int) faults) []faults {
	found := make([]faults, n)
	slots := make(chan struct{}, width)
	var wg sync.WaitGroup
	for i := range n {
		slots <- struct{}{}
		wg.Go(func() {
			found[i] = job(i)
			<-slots
		})
	}
	wg.Wait()
	return found
}

func report(t *testing.T, name string, found faults) {
	t.Run(name, func(t *testing.T) {
		for _, text := range found {
			t.Error(text)
		}
	})
}

// TestCorpusHTTP1 plays every case of corpus/http1.
func TestCorpusHTTP1(t *testing.T) {
	if testing.Short() {
		t.Skip("a smoke: real binary, real sockets")
	}
	cases := http1Corpus(t)
	if len(cases) < 290 {
		t.Errorf("%d cases, want at least 290", len(cases))
	}
	eachMode(t, func(t *testing.T, k *checker) {
		found := runAll(len(cases), 32, func(i int) faults { return k.check(cases[i]) })
		for i, c := range cases {
			report(t, c.ID, found[i])
		}
	})
}
