// SPDX-License-Identifier: MIT

//go:build linux

package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"m0serve.dev/apps/internal/smoketest"
)

// TestHandlersThatBlockAreBounded: two block, three wait, and what comes then is
// turned away at once, whatever comes first.
func TestHandlersThatBlockAreBounded(t *testing.T) {
	skipShort(t)
	const bound, queue, asked = 2, 3, 8
	p := smoketest.Start(t, bin, fmt.Sprint("M0_BLOCKING_THREADS=", bound),
		fmt.Sprint("M0_HOSTCHECK_QUEUE=", queue))
	release := filepath.Join(p.Cmd.Dir, releaseFile)
	touch(t, release)
	if status, err := get(p.URL + "/wait?first"); status != http.StatusOK {
		t.Fatalf("the first request = %d, %v", status, err) // from now on /wait is known to block
	}
	if err := os.Remove(release); err != nil {
		t.Fatal(err)
	}
	statuses := make(chan int, asked)
	for i := range asked {
		go func() {
			status, _ := get(fmt.Sprint(p.URL, "/wait?", i))
			statuses <- status
		}()
	}
	for range asked - bound - queue {
		if status := <-statuses; status != http.StatusServiceUnavailable {
			t.Fatalf("the first answer while %d block = %d, want 503", bound, status)
		}
	}
	begun := func() int {
		return strings.Count(readFile(t, filepath.Join(p.Cmd.Dir, begunFile)), "\n") - 1
	}
	until(t, "the handlers that may block", func() bool { return begun() >= bound })
	if n := begun(); n != bound {
		t.Errorf("%d handlers block at once, want %d", n, bound)
	}
	touch(t, release)
	for range bound + queue {
		if status := <-statuses; status != http.StatusOK {
			t.Errorf("a request that blocked or waited = %d, want 200", status)
		}
	}
	if n := begun(); n != bound+queue {
		t.Errorf("%d handlers ran, want %d", n, bound+queue)
	}
	if n := fleet(t, p).Dropped; n != asked-bound-queue {
		t.Errorf("%d requests are counted as dropped, want %d", n, asked-bound-queue)
	}
}

// get asks on a connection of its own.
func get(url string) (status int, err error) {
	client := &http.Client{Timeout: soon, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(url)
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, resp.Body.Close()
}

func touch(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestThreadsAreLoops counts what the kernel knows of them.
func TestThreadsAreLoops(t *testing.T) {
	skipShort(t)
	one := polls(t, smoketest.Start(t, bin))
	if three := polls(t, smoketest.Start(t, bin, "M0_THREADS=3")); three != one+2 {
		t.Errorf("epoll descriptors = %d with M0_THREADS=3 and %d with one, want two more", three, one)
	}
}

func polls(t *testing.T, p *smoketest.Process) (n int) {
	t.Helper()
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", p.Cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if to, err := os.Readlink(fd); err == nil && to == "anon_inode:[eventpoll]" {
			n++
		}
	}
	return n
}
