// SPDX-License-Identifier: MIT

//go:build linux

package faults

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"m0serve.dev/apps/internal/smoketest"
)

// TestDescriptorsExhausted is F9 on one process: its table of descriptors is full, once
// so that it can still refuse who comes, and once so that it cannot even do that. It
// does not spin, who is there is served, the log is not flooded, and it accepts again
// when there is room.
func TestDescriptorsExhausted(t *testing.T) {
	p := smoketest.Start(t, hostBinary(t), quiet)
	pid := p.Cmd.Process.Pid
	kept := []net.Conn{dial(t, p), dial(t, p)}
	for _, conn := range kept {
		mustServe(t, conn)
	}
	for range times(1, 10) {
		open := descriptors(t, pid)
		before := limitDescriptors(t, pid, uint64(open+8))
		crowded := fill(t, p, 40)
		for _, conn := range kept {
			mustServe(t, conn)
		}
		isIdle(t, pid)
		for _, conn := range crowded {
			_ = conn.Close()
		}
		comesBack(t, p)

		limitDescriptors(t, pid, 3) // what is open stays so
		var waiting []net.Conn
		for range 5 {
			conn := dial(t, p)
			_, _ = conn.Write([]byte("GET / HTTP/1.1\r\nHost: a\r\n\r\n"))
			waiting = append(waiting, conn)
		}
		for _, conn := range kept {
			mustServe(t, conn)
		}
		isIdle(t, pid)
		limitDescriptors(t, pid, before)
		for _, conn := range waiting {
			if workerOf(conn, patience) != "0" {
				t.Error("a connection that waited for a descriptor was not served")
			}
			_ = conn.Close()
		}
		comesBack(t, p)
	}
	if n := strings.Count(p.Log(), "too many open files"); n < 1 || n > 4*times(1, 10) {
		t.Errorf("it is logged %d times that connections are refused, want now and then", n)
	}
	if state := p.Ended(); state != "" {
		t.Errorf("the service ended: %s", state)
	}
}

func dial(t *testing.T, p *smoketest.Process) net.Conn {
	t.Helper()
	conn, err := net.DialTimeout("tcp", strings.TrimPrefix(p.URL, "http://"), patience)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// serve asks on a connection and reports whether it is answered.
func serve(conn net.Conn) error {
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err := conn.Write([]byte("GET / HTTP/1.1\r\nHost: a\r\n\r\n")); err != nil {
		return err
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err == nil {
		err = resp.Body.Close()
	}
	return err
}

func mustServe(t *testing.T, conn net.Conn) {
	t.Helper()
	if err := serve(conn); err != nil {
		t.Errorf("a connection that was there before is not served: %v", err)
	}
}

// fill opens n connections, of which some have to be served and the others refused, and
// returns the former.
func fill(t *testing.T, p *smoketest.Process, n int) (served []net.Conn) {
	t.Helper()
	refused := 0
	for range n {
		conn, err := net.DialTimeout("tcp", strings.TrimPrefix(p.URL, "http://"), patience)
		if err != nil {
			refused++
			continue
		}
		t.Cleanup(func() { _ = conn.Close() })
		if serve(conn) != nil {
			refused++
			_ = conn.Close()
			continue
		}
		served = append(served, conn)
	}
	if len(served) == 0 || refused < n/2 {
		t.Errorf("vacuous: of %d connections %d are served and %d refused", n, len(served), refused)
	}
	return served
}

// comesBack waits until connections are served again, several in a row.
func comesBack(t *testing.T, p *smoketest.Process) {
	t.Helper()
	until(t, "connections that are served again", func() bool {
		for range 5 {
			conn, err := net.DialTimeout("tcp", strings.TrimPrefix(p.URL, "http://"), patience)
			if err != nil {
				return false
			}
			err = serve(conn)
			_ = conn.Close()
			if err != nil {
				return false
			}
		}
		return true
	})
}

// isIdle fails when a process uses more than a part of a processor while there is
// nothing to do.
func isIdle(t *testing.T, pid int) {
	t.Helper()
	const window, most = time.Second, 300 * time.Millisecond
	before := processorTime(t, pid)
	time.Sleep(window) // a measure, no wait for anything
	if used := processorTime(t, pid) - before; used > most {
		t.Errorf("%v of a processor used in %v with nothing to do, want at most %v", used, window, most)
	}
}

// processorTime is what a process has used so far.
func processorTime(t *testing.T, pid int) time.Duration {
	t.Helper()
	const perTick = 10 * time.Millisecond
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * perTick
}

// descriptors is how many descriptors a process has; the last one is at least as high.
func descriptors(t *testing.T, pid int) int {
	t.Helper()
	all, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// limitDescriptors sets the soft limit of another process, and returns what it was.
func limitDescriptors(t *testing.T, pid int, n uint64) (before uint64) {
	t.Helper()
	return limit(t, pid, syscall.RLIMIT_NOFILE, n)
}

// limit is prlimit(2), which the syscall package has no name for.
func limit(t *testing.T, pid int, what uintptr, n uint64) (before uint64) {
	t.Helper()
	var old, now syscall.Rlimit
	call := func(set, get *syscall.Rlimit) {
		t.Helper()
		_, _, errno := syscall.RawSyscall6(sysPrlimit, uintptr(pid), what,
			uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(get)), 0, 0)
		if errno != 0 {
			t.Fatalf("prlimit: %v", errno)
		}
	}
	call(nil, &old)
	now = syscall.Rlimit{Cur: n, Max: old.Max}
	call(&now, nil)
	return old.Cur
}
