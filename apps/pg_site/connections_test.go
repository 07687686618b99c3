// SPDX-License-Identifier: MIT

//go:build linux

package pgsite

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"m0serve.dev/apps/internal/postgres"
	"m0serve.dev/apps/internal/pyserver"
	"m0serve.dev/apps/internal/pyvenv"
	"m0serve.dev/apps/internal/rawhttp"
	"m0serve.dev/apps/internal/smoketest"
)

const (
	crowd        = 2000 // streams that are held
	crowdThreads = 2    // of Python, of one worker
	crowdOpeners = 4    // clients that open them
	// Descriptors of a worker that are no streams and come and go: connections to the
	// database, of the metrics and of requests.
	fewDescriptors = 16
)

// djangoSite is the project of site_django.py on one worker.
func djangoSite(t *testing.T, c *postgres.Cluster) *site {
	t.Helper()
	pyvenv.Find(t)
	s := &site{Process: servers.Start(t, pyserver.Config{Dir: ".", App: "site_django:app",
		Workers: 1, Threads: crowdThreads,
		Env:  []string{fmt.Sprint("SITE_PG_PORT=", c.Port), "M0_PG_LISTEN=" + c.DSN("postgres")},
		Args: []string{"--realtime"}})}
	return s
}

// TestHeldStreamIsDoneForDjango: Django hears of the end of a view whose answer is held
// when the view is over, and closes its connection.
func TestHeldStreamIsDoneForDjango(t *testing.T) {
	pyserver.M0serveAlone(t)
	c := postgres.New(t)
	s := djangoSite(t, c)
	for n := range 3 {
		if _, _, err := s.hold(); err != nil {
			t.Fatal(err)
		}
		if _, _, done := s.process(t); done != n+1 {
			t.Fatalf("Django is done with %d streams when %d are held, want all", done, n+1)
		}
	}
	smoketest.Until(t, "Django to close its last connection", func() bool {
		return c.SQL(t, "postgres", ofSite) == "0"
	})
}

// TestHeldStreamsHoldNothingOfDjango: two thousand streams of views that have asked the
// database hold no connection to it, no thread of Python, and one descriptor each.
func TestHeldStreamsHoldNothingOfDjango(t *testing.T) {
	pyserver.M0serveAlone(t)
	c := postgres.New(t)
	s := djangoSite(t, c)
	pid, threads, _ := s.process(t)
	before := descriptors(t, pid)
	streams := s.crowd(t)
	smoketest.Until(t, "Django to close its last connection", func() bool {
		return c.SQL(t, "postgres", ofSite) == "0"
	})
	if _, n, done := s.process(t); n != threads || done != crowd {
		t.Errorf("%d threads of Python, which is done with %d of %d streams; want %d, all",
			n, done, crowd, threads)
	}
	if n := descriptors(t, pid) - before; n < crowd-fewDescriptors || n > crowd+fewDescriptors {
		t.Errorf("%d descriptors more with %d streams more, want one each, and at most %d besides",
			n, crowd, fewDescriptors)
	}
	s.ask(t, "/publish", "text", "hello")
	for i, stream := range streams {
		if got, err := nextEvent(stream); err != nil || !strings.Contains(got, "data: hello\n") {
			t.Fatalf("stream %d got %q, %v; want what was committed", i, got, err)
		}
		stream.Close()
	}
	smoketest.Until(t, "the descriptors of streams to be closed", func() bool {
		return descriptors(t, pid) <= before+fewDescriptors
	})
}

// process is the worker, its threads of Python, and the streams that Django is done with.
func (s *site) process(t *testing.T) (pid, threads, done int) {
	t.Helper()
	if _, err := fmt.Sscan(s.ask(t, "/process"), &pid, &threads, &done); err != nil {
		t.Fatal(err)
	}
	return pid, threads, done
}

// ofSite asks for the connections that Django has.
const ofSite = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'site'"

// crowd opens the streams, each of which has asked the database by a connection of its
// own. PostgreSQL takes thirty.
func (s *site) crowd(t *testing.T) []*rawhttp.Conn {
	t.Helper()
	all := make([]*rawhttp.Conn, crowd)
	var clients sync.WaitGroup
	for k := range crowdOpeners {
		clients.Go(func() {
			for i := k; i < crowd && !t.Failed(); i += crowdOpeners {
				conn, first, err := s.hold()
				if err != nil || !strings.HasPrefix(first, "data: ") {
					t.Errorf("stream %d begins with %q, %v; want what the database says", i, first, err)
				}
				all[i] = conn
			}
		})
	}
	clients.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return all
}

// hold opens a stream and reads its first piece.
func (s *site) hold() (c *rawhttp.Conn, first string, err error) {
	if c, err = rawhttp.Dial(s.URL); err != nil {
		return nil, "", err
	}
	send(c, "/stream")
	if _, err = c.ReadHead("GET"); err != nil {
		return c, "", err
	}
	first, err = c.Piece()
	return c, first, err
}

// nextEvent is the next piece of a stream that is no heartbeat.
func nextEvent(c *rawhttp.Conn) (got string, err error) {
	for err == nil && (got == "" || strings.HasPrefix(got, ":")) {
		got, err = c.Piece()
	}
	return got, err
}

// descriptors is how many a process has.
func descriptors(t *testing.T, pid int) int {
	t.Helper()
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}
