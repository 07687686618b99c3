// SPDX-License-Identifier: MIT

//go:build unix

package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"m0serve.dev/apps/internal/smoketest"
)

// stateOf are the fields of /proc/PID/stat from the process's state on.
func stateOf(t *testing.T, pid int) []string {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
}

// cpuTicks is the processor time of a process so far, in hundredths of a second.
func cpuTicks(t *testing.T, pid int) (ticks int) {
	t.Helper()
	for _, f := range stateOf(t, pid)[11:13] { // utime, stime
		n, err := strconv.Atoi(f)
		if err != nil {
			t.Fatalf("process %d: processor time %q: %v", pid, f, err)
		}
		ticks += n
	}
	return ticks
}

// TestSmokeDropBoxIsBounded: while nobody watches drops wait, and a full box says so.
func TestSmokeDropBoxIsBounded(t *testing.T) {
	p := start(t, "M0_WORKERS=2", quick)
	for i := range boxWords {
		if _, status := post(t, p, `{"hue":11}`); status != http.StatusAccepted {
			t.Fatalf("drop %d = %d, want 202", i, status)
		}
	}
	resp, err := client.Post(p.URL+"/drops", "", strings.NewReader(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
		t.Errorf("drop %d = %d %v; want 503 with a time to wait", boxWords, resp.StatusCode, resp.Header)
	}
	f := next(t, open(t, p))
	if len(f.Blobs) != blobsMax {
		t.Errorf("%d blobs of %d drops, want as many as the board holds, %d",
			len(f.Blobs), boxWords, blobsMax)
	}
	if _, status := post(t, p, `{}`); status != http.StatusAccepted {
		t.Errorf("a drop behind the first step = %d, want 202", status)
	}
}

func TestSmokeBadDropsAreRefused(t *testing.T) {
	p := start(t)
	for _, c := range []struct {
		doc    string
		status int
	}{
		{`{"x":0,"y":1,"vx":-1,"vy":1,"hue":359,"size":0}`, 202},
		{`{}`, 202},
		{``, 400}, {`drop`, 400}, {`{"x":"a"}`, 400}, {`{"x":0.5}{}`, 400},
		{`{"x":1.01}`, 400}, {`{"y":-0.1}`, 400}, {`{"vx":2}`, 400}, {`{"vy":-2}`, 400},
		{`{"hue":360}`, 400}, {`{"hue":-1}`, 400}, {`{"hue":0.5}`, 400}, {`{"size":1.5}`, 400},
		{`{"x":1e999}`, 400}, {`{"x":NaN}`, 400},
		{`{"x":0.5,"note":"` + strings.Repeat("n", 2*dropBytes) + `"}`, 413},
	} {
		if _, status := post(t, p, c.doc); status != c.status {
			t.Errorf("POST /drops %.40q = %d, want %d", c.doc, status, c.status)
		}
	}
}

// TestSmokeOneProcess: without workers all is the same.
func TestSmokeOneProcess(t *testing.T) {
	p := start(t, quick)
	for range 2 {
		s := open(t, p)
		first := next(t, s)
		if f := next(t, s); f.Step != first.Step+1 || f.Viewers != 1 {
			t.Errorf("behind step %d came %d with %d viewers, want the next with 1",
				first.Step, f.Step, f.Viewers)
		}
		s.Close()
		st := untilStats(t, p, "a rest", func(s stats) bool { return s.Resting && s.Viewers == 0 })
		if len(st.Workers) != 1 || st.Workers[0].PID != p.Cmd.Process.Pid {
			t.Errorf("workers %+v, want one, process %d", st.Workers, p.Cmd.Process.Pid)
		}
	}
	resp, err := client.Head(p.URL + "/events")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	untilStats(t, p, "no viewer of a HEAD", func(s stats) bool { return s.Resting && s.Viewers == 0 })
}

// TestSmokeStoppedWorker: a worker that takes nothing loses steps, which are counted
// for it; its siblings lose none, and it goes on with the newest.
func TestSmokeStoppedWorker(t *testing.T) {
	dir, err := os.MkdirTemp("", "blobs")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "publish.sock")
	p := start(t, "M0_WORKERS=2", quick, "M0_PUBLISH_SOCKET="+socket)
	streams := onBoth(t, p)
	stopped := p.Workers(t)[1]
	smoketest.Stop(t, stopped)
	refused := func() (n [2]uint64) {
		for _, w := range mustStats(t, p).Workers {
			n[w.Index] += w.Refused
		}
		return n
	}
	fill(t, socket, func() bool { return refused() != [2]uint64{} })
	mine := of(streams, "0")[0]
	last := next(t, mine)
	before := refused()
	if before[0] != 0 || before[1] == 0 {
		t.Errorf("refused by worker: %v; want some by worker 1, which is stopped", before)
	}
	for by := mustStats(t, p).Steps + 40; last.Step < by; {
		f := next(t, mine)
		if f.Step != last.Step+1 {
			t.Fatalf("on worker 0: step %d behind %d while worker 1 was stopped", f.Step, last.Step)
		}
		last = f
	}
	if after := refused(); after[0] != 0 || after[1] < before[1]+20 { // some are small enough
		t.Errorf("refused by worker: %v, and %v 40 steps before; want these counted", after, before)
	}
	smoketest.Kill(t, stopped, syscall.SIGCONT)
	for _, s := range of(streams, "1") {
		s.Until(t, "what came behind the stop", func(e smoketest.Event) bool {
			return e.Name == "step" && parse(t, e).Step > last.Step
		})
	}
}

// fill publishes to nobody until it is enough: more waits for a worker that takes
// nothing than its channel holds.
func fill(t *testing.T, socket string, enough func() bool) {
	t.Helper()
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(2 * smoketest.Patience))
	const messages, bytes = 900, 4 << 10
	payload := binary.BigEndian.AppendUint16(nil, messages)
	for range messages {
		payload = append(payload, "\x00\x00\x06\x00\x00\x00\x00\x00\x00\x10\x00nobody"...)
		payload = append(payload, make([]byte, bytes)...)
	}
	request := binary.BigEndian.AppendUint32([]byte("m0p1"), uint32(len(payload)))
	request = append(request, payload...)
	answer := make([]byte, 8)
	for i := 0; !enough(); i++ {
		if i == 16 {
			t.Fatalf("%d bytes fit into the channel of a worker that is stopped", i*len(request))
		}
		if _, err := conn.Write(request); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(conn, answer); err != nil {
			t.Fatalf("publish: %v", err)
		}
		rest := int64(binary.BigEndian.Uint32(answer[4:]))
		if _, err := io.CopyN(io.Discard, conn, rest); err != nil {
			t.Fatalf("publish: %v", err)
		}
	}
}

// TestSmokeRollingRestart: the board outlives the processes, one producer follows the
// other, and no viewer is counted twice.
func TestSmokeRollingRestart(t *testing.T) {
	p := start(t, "M0_WORKERS=2", quick)
	old := p.Workers(t)
	s := open(t, p)
	last := next(t, s)
	p.Signal(t, syscall.SIGHUP)
	replaced := func() bool {
		now := p.Workers(t)
		return len(now) == 2 && now[0] != old[0] && now[1] != old[1]
	}
	for more, anew := 50, false; more > 0; {
		e, ok := s.Read(t)
		if !ok {
			s = smoketest.Open(t, p.URL+"/events", "") // perhaps with one that leaves, too
			anew = true
			continue
		}
		if e.Name != "step" {
			continue
		}
		f := parse(t, e)
		if anew && f.id <= last.id {
			continue // its worker was a little behind the one before
		}
		anew = false
		if f.Step <= last.Step || f.id <= last.id {
			t.Fatalf("step %d (id %d) behind %d (id %d)", f.Step, f.id, last.Step, last.id)
		}
		if last = f; replaced() {
			more--
		}
	}
	untilStats(t, p, "one viewer", func(st stats) bool { return st.Viewers == 1 && !st.Resting })
	s.Close()
	untilStats(t, p, "a rest", func(st stats) bool { return st.Viewers == 0 && st.Resting })
	next(t, open(t, p))
}

func TestSmokeRefusesAWrongPeriod(t *testing.T) {
	for _, workers := range []string{"1", "2"} {
		for _, period := range []string{"soon", "0", "10001"} {
			smoketest.Refused(t, bin, "M0_BLOBS_PERIOD_MS=", "M0_WORKERS="+workers,
				"M0_BLOBS_PERIOD_MS="+period)
		}
	}
}

// TestSmokePage: all that the page loads is there, and its policy allows no more.
func TestSmokePage(t *testing.T) {
	p := start(t)
	p.CheckPage(t, 6)
}
