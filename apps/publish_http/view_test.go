// SPDX-License-Identifier: MIT

//go:build linux

package publishhttp

import (
	"fmt"
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

// TestViewPublishesToItself: the only thread of the only worker publishes through the
// door and waits for the answer, again and again, while others do the same.
func TestViewPublishesToItself(t *testing.T) {
	s := start(t, launch{workers: 1})
	alone := http.Client{Timeout: 3 * time.Second}
	resp, err := alone.Get(s.URL + "/publish?channel=b&data=x")
	if err != nil {
		t.Fatalf("a view that publishes to itself: %v", err)
	}
	_ = resp.Body.Close()
	streams := s.streams(1, "a")
	const views, times = 8, 25
	done := make(chan string, views)
	for v := range views {
		go func() {
			resp, err := http.Get(fmt.Sprintf("%s/publish?channel=a&data=%d&times=%d", s.URL, v, times))
			if err != nil {
				done <- err.Error()
				return
			}
			_ = resp.Body.Close()
			done <- resp.Status
		}()
	}
	next := map[string]int{} // of each view's own
	for range views * times {
		var v, n int
		e := streams[0].Next(t)
		if _, err := fmt.Sscan(e.Data, &v, &n); err != nil || n != next[fmt.Sprint(v)] {
			t.Fatalf("event %+v, want number %d of view %d", e, next[fmt.Sprint(v)], v)
		}
		next[fmt.Sprint(v)]++
	}
	for range views {
		select {
		case got := <-done:
			if got != "200 OK" {
				t.Errorf("a view that publishes to itself: %s", got)
			}
		case <-time.After(10 * time.Second):
			t.Fatal("a view that publishes to itself does not come back")
		}
	}
}

// TestDoorNeedsNoPython: a view that holds the GIL delays no publisher.
func TestDoorNeedsNoPython(t *testing.T) {
	s := start(t, launch{workers: 1})
	streams := s.streams(1, "a")
	const hold = 2 * time.Second
	let := make(chan time.Time, 1)
	began := time.Now()
	go func() {
		if resp, err := http.Get(fmt.Sprintf("%s/lock?ms=%d", s.URL, hold.Milliseconds())); err == nil {
			_ = resp.Body.Close()
		}
		let <- time.Now()
	}()
	blocked := make(chan struct{})
	go func() { // a view does not come through from here on
		defer close(blocked)
		for began := time.Now(); time.Since(began) < 100*time.Millisecond; {
			began = time.Now()
			resp, err := (&http.Client{Timeout: 100 * time.Millisecond}).Get(s.URL + "/names")
			if err != nil {
				return
			}
			_ = resp.Body.Close()
		}
	}()
	<-blocked
	var longest time.Duration
	n := 0
	for ; time.Since(began) < hold*3/4; n++ {
		at := time.Now()
		s.publish("while the GIL is held", items(item("a", fmt.Sprint(n))), 200, "Published")
		want(t, streams, fmt.Sprint(n))
		longest = max(longest, time.Since(at))
	}
	if n < 10 {
		t.Errorf("%d publishes while the GIL was held, want more", n)
	}
	if longest > hold/4 {
		t.Errorf("a publish took %v to its stream while the GIL was held", longest)
	}
	if at := <-let; at.Sub(began) < hold {
		t.Errorf("vacuous: the GIL was held for %v, want %v", at.Sub(began), hold)
	}
	t.Logf("%d publishes, the longest took %v", n, longest)
}

// TestWorkerKilledWhilePublishing: what was answered is published, with whichever
// worker; a publisher that loses its connection finds the other at once.
func TestWorkerKilledWhilePublishing(t *testing.T) {
	s := start(t, launch{})
	streams := s.streams(2, "a")
	pids := s.Workers(t)
	var survivor *smoketest.Stream
	victim := 0
	for _, st := range streams {
		switch {
		case victim == 0:
			_, _ = fmt.Sscan(st.Worker, &victim)
		case st.Worker != streams[0].Worker:
			survivor = st
		}
	}
	if pids[victim] == 0 && victim == 0 || survivor == nil {
		t.Fatalf("workers %v, streams %v", pids, streams)
	}
	const n = 400
	answered := make([]bool, n)
	c := s.dial()
	lost := 0
	for i := range n {
		if i == n/4 {
			if err := syscall.Kill(victim, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
		c.Send(post(items(item("a", fmt.Sprint(i))), bearer(key)))
		r, err := c.Read("POST")
		if answered[i] = err == nil && strings.HasPrefix(r.Status, "200 "); !answered[i] {
			lost++
			_ = c.Close()
			c = s.dial()
		}
		if i%10 == 0 { // another connection each time: half of them are the victim's
			_ = c.Close()
			c = s.dial()
		}
	}
	if lost > 20 {
		t.Errorf("%d of %d publishes were not answered", lost, n)
	}
	seen := map[string]int{}
	for i := 0; i < n; i++ {
		if !answered[i] {
			continue
		}
		for e := survivor.Next(t); e.Data != fmt.Sprint(i); e = survivor.Next(t) {
			var at int
			if _, err := fmt.Sscan(e.Data, &at); err != nil || at >= n || answered[at] {
				t.Fatalf("event %+v, want %d", e, i)
			}
		}
		if seen[fmt.Sprint(i)]++; seen[fmt.Sprint(i)] > 1 {
			t.Errorf("%d came twice", i)
		}
	}
	t.Logf("%d of %d were lost with their connection", lost, n)
}

// TestDrain: a view that is still at work when the service is told to stop publishes to
// the end; an idle publisher that keeps its connection holds up nothing, and the port
// is free afterwards.
func TestDrain(t *testing.T) {
	s := start(t, launch{workers: 1, threads: 2})
	idle := s.dial()
	idle.Send(post(items(), bearer(key)))
	s.read(idle, "a publisher that stays", 200, "Published")
	gate := filepath.Join(t.TempDir(), "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	answer := make(chan string, 1)
	go func() {
		resp, err := http.Get(s.URL + "/late?channel=a&gate=" + gate)
		if err != nil {
			answer <- err.Error()
			return
		}
		defer resp.Body.Close()
		answer <- resp.Status
	}()
	w, err := os.OpenFile(gate, os.O_WRONLY, 0) // until the view reads
	if err != nil {
		t.Fatal(err)
	}
	s.Signal(t, syscall.SIGTERM)
	smoketest.Until(t, "the drain to begin", func() bool {
		resp, err := http.Get(s.URL + "/names")
		if err == nil {
			_ = resp.Body.Close()
		}
		return err != nil
	})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got := <-answer; got != "200 OK" {
		t.Errorf("a view that publishes during the drain: %s", got)
	}
	began := time.Now()
	if status := s.Wait(t); status != 0 {
		t.Errorf("the service left with %d, want 0", status)
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("the service took %v to end behind its last view", took)
	}
	if err := idle.Ended(); err != nil {
		t.Errorf("the idle publisher: %v", err)
	}
	s.isFree()
}

// isFree wants that nobody listens where the door was.
func (s *site) isFree() {
	s.t.Helper()
	if c, err := net.Dial("tcp", strings.TrimPrefix(s.door, "http://")); err == nil {
		_ = c.Close()
		s.t.Errorf("somebody listens at %s, where the door was", s.door)
	}
}

// TestForkedChild: a child of the application that outlives the service does not keep
// the door's port.
func TestForkedChild(t *testing.T) {
	s := start(t, launch{workers: 1})
	child, err := strconv.Atoi(s.ask("/fork"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(child, syscall.SIGKILL) })
	s.Signal(t, syscall.SIGTERM)
	if status := s.Wait(t); status != 0 {
		t.Errorf("the service left with %d, want 0", status)
	}
	if err := syscall.Kill(child, 0); err != nil {
		t.Fatalf("vacuous: the child is gone: %v", err)
	}
	s.isFree()
}
