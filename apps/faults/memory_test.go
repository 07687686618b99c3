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

	"m0serve.dev/apps/internal/smoketest"
)

// memory is what a process has of its address space, and how much of that is resident.
func memory(t *testing.T, pid int) (space, resident uint64) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		t.Fatalf("process %d, which nobody killed: %v", pid, err)
	}
	if _, err := fmt.Sscan(string(text), &space, &resident); err != nil {
		t.Fatal(err)
	}
	page := uint64(os.Getpagesize())
	return space * page, resident * page
}

// view asks for a path on a connection, and tells the status and who answered.
func view(conn net.Conn, path string) (status, pid int) {
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", path); err != nil {
		return 0, 0
	}
	return answerTo(conn)
}

// answerTo reads the answer to what was asked.
func answerTo(conn net.Conn) (status, pid int) {
	_ = conn.SetDeadline(time.Now().Add(patience))
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, 0
	}
	_ = resp.Body.Close()
	pid, _ = strconv.Atoi(resp.Header.Get("X-Worker"))
	return resp.StatusCode, pid
}

// connectTo opens a connection to one worker of wild.py. Those that come to the other are
// kept meanwhile: a connection goes to who has fewer.
func connectTo(t *testing.T, p *smoketest.Process, pid int) (conn net.Conn) {
	t.Helper()
	var others []net.Conn
	defer func() {
		for _, other := range others {
			_ = other.Close()
		}
	}()
	until(t, fmt.Sprintf("a connection to worker %d", pid), func() bool {
		conn = dial(t, p)
		if _, who := view(conn, "/word"); who == pid {
			return true
		}
		others = append(others, conn)
		return false
	})
	return conn
}

// TestMemoryOfAWorker is F14 by a limit of the kernel on one worker's address space. A
// view that asks for more than there is gets its MemoryError, which is a 500, and the
// worker serves on. When a view leaves nothing for anybody in its process, that one
// serves on behind it or is replaced. The sibling's requests and streams notice nothing.
func TestMemoryOfAWorker(t *testing.T) {
	p := startWild(t, 2)
	ls := listen(t, p.URL+"/events", 6)
	w := newWriter(t, p, ls.Events)
	w.run()
	ls.first(t)
	for range times(1, 20) {
		workers := p.Workers(t)
		victim, sibling := workers[0], workers[1]
		poor, well := connectTo(t, p, victim), connectTo(t, p, sibling)
		space, _ := memory(t, victim)
		limit(t, victim, syscall.RLIMIT_AS, space+128<<20)
		if status, _ := view(poor, "/asks"); status != http.StatusInternalServerError {
			t.Errorf("a view that asks for too much is answered %d, want 500", status)
		}
		if status, pid := view(connectTo(t, p, victim), "/word"); status != 200 || pid != victim {
			t.Errorf("behind a MemoryError: %d of process %d, want 200 of %d", status, pid, victim)
		}
		hoard(t, p, victim, well, sibling)
	}
	if n := strings.Count(p.Log(), "MemoryError: wild asks"); n != times(1, 20) {
		t.Errorf("the MemoryError is logged %d times, want once for each", n)
	}
	if v := ls.verdict(t, w, 20, 0); v.Told > 0 {
		t.Errorf("%d events in journals were missed, and told of: want 0", v.Told)
	}
}

// hoard lets a view of the victim take all that there is, and asks the sibling until the
// victim, or its successor, serves again.
func hoard(t *testing.T, p *smoketest.Process, victim int, well net.Conn, sibling int) {
	t.Helper()
	before := strings.Count(p.Log(), "wild hoards")
	conn := connectTo(t, p, victim)
	if _, err := conn.Write([]byte("GET /hoards HTTP/1.1\r\nHost: a\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	asked := 0
	sound := func() {
		asked++
		if status, pid := view(well, "/word"); status != 200 || pid != sibling {
			t.Fatalf("the sibling's answer is %d of process %d, want 200 of %d", status, pid, sibling)
		}
	}
	until(t, "no memory", func() bool {
		sound()
		return strings.Count(p.Log(), "wild hoards") > before || smoketest.Gone(victim)
	})
	// The view ends by itself, or with its process.
	status, _ := answerTo(conn)
	if status != http.StatusOK {
		until(t, "the end of a worker without memory", func() bool { return smoketest.Gone(victim) })
	}
	sound()
	if smoketest.Gone(victim) {
		says(t, p, 1, fmt.Sprintf(`"pid":%d,"index":0`, victim))
		until(t, "a successor", func() bool {
			pid := p.Workers(t)[0]
			return pid != 0 && pid != victim
		})
	} else {
		limit(t, victim, syscall.RLIMIT_AS, 1<<63-1)
	}
	_ = connectTo(t, p, p.Workers(t)[0])
	t.Logf("asked the sibling %d times; without memory process %d ended: %v", asked, victim,
		smoketest.Gone(victim))
}
