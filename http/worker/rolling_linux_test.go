// SPDX-License-Identifier: MIT

package worker

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/server"
)

// serveAlone serves HTTP as the only worker of its service.
func serveAlone(in *Inherited, ln net.Listener, stop <-chan os.Signal) int {
	page, err := bus.OpenPage(in.Page)
	check(err)
	line := page.Worker(in.Place)
	line.Claim(os.Getpid())
	share, err := NewShare(page, in.Place, in.Accept)
	check(err)
	srv, err := server.New(server.Config{
		HTTP: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, "served by ", os.Getpid())
		}),
		Accepted: share.Accepted, Closed: share.Closed,
	})
	check(err)
	go func() { _ = srv.Serve(ln) }()
	line.SetState(bus.Ready)
	share.Start(srv.Adopt)
	check(in.Ready())
	<-stop
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	share.Leave()
	check(srv.Shutdown(ctx))
	return 0
}

var address = regexp.MustCompile(`all ready at (127\.0\.0\.1:\d+)\n`)

// TestHangupsLoseNoRequestAtOneWorker sends requests, each on a connection of
// its own, through rolling restarts of the only worker. None may fail, and the
// supervisor must have as many descriptors in the end as in the beginning.
func TestHangupsLoseNoRequestAtOneWorker(t *testing.T) {
	t.Parallel()
	requests, hangups := int64(20_000), 100
	if testing.Short() {
		requests, hangups = 1000, 10
	}
	s := startService(t, "alone")
	s.says(t, "all ready")
	url := "http://" + address.FindStringSubmatch(s.text())[1]
	before := s.descriptors(t)
	var sent, failed atomic.Int64
	var clients sync.WaitGroup
	done := make(chan struct{})
	for range 4 {
		clients.Go(func() {
			c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
			for sent.Load() < requests || isOpen(done) {
				sent.Add(1)
				if resp, err := c.Get(url); err != nil {
					failed.Add(1)
					t.Logf("request %d: %v", sent.Load(), err)
				} else {
					_ = resp.Body.Close()
				}
			}
		})
	}
	for n := range hangups {
		if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		s.until(t, "the end of a restart", func() bool {
			return strings.Count(s.text(), "every worker is replaced") == n+1
		})
	}
	close(done)
	clients.Wait()
	if failed.Load() > 0 {
		t.Errorf("%d of %d requests failed, want none", failed.Load(), sent.Load())
	}
	if after := s.descriptors(t); after != before {
		t.Errorf("%d descriptors after %d restarts, %d before", after, hangups, before)
	}
	if got := len(s.workers()); got != 1 {
		t.Errorf("%d workers in the end, want 1", got)
	}
}

func isOpen(done <-chan struct{}) bool {
	select {
	case <-done:
		return false
	default:
		return true
	}
}

// descriptors counts those of the supervisor.
func (s *service) descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func TestReplacedWorkerThatIsStubbornIsKilled(t *testing.T) {
	t.Parallel()
	s := startService(t, "stubborn")
	s.says(t, "all ready")
	old := s.workers()
	if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	s.says(t, "every worker is replaced")
	for _, pid := range old {
		if !isGone(pid) {
			t.Errorf("worker %d is still there", pid)
		}
	}
	if n := strings.Count(s.text(), "drain outlasted its bound"); n != 2 {
		t.Errorf("%d workers killed, want both old ones", n)
	}
}
