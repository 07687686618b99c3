// SPDX-License-Identifier: MIT

//go:build unix

package main

import (
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"m0serve.dev/apps/internal/postgres"
	"m0serve.dev/apps/internal/smoketest"
	"m0serve.dev/wsgi/pglisten"
)

// TestRestartsOfPostgres: what is committed once it listens again arrives, once.
func TestRestartsOfPostgres(t *testing.T) {
	skipShort(t)
	const (
		restarts, each = 10, 20
		lasts          = 1100 * time.Millisecond // then pauses begin anew
	)
	c := postgres.New(t)
	s := serve(t, c.DSN("postgres"))
	s.connected(t, 0)
	a := s.open(t, "a")
	n := 0
	for i := range restarts {
		c.Restart(t)
		began := time.Now()
		s.connected(t, uint64(i+1))
		t.Logf("restart %d: LISTEN %v after PostgreSQL took connections", i+1, time.Since(began))
		again := time.Now()
		var script strings.Builder
		for range each {
			script.WriteString(postgres.Notify(numbered(n)))
			n++
		}
		c.SQL(t, "postgres", script.String())
		for k := n - each; k < n; k++ {
			next(t, a, "n", fmt.Sprint(k))
		}
		a.Silent(t, time.Until(again.Add(lasts))) // neither twice nor without a pause
	}
	st, _ := s.stats()
	if st.Reconnects != restarts || st.Published != restarts*each || st.LastError == "" {
		t.Errorf("Stats = %+v, want %d reconnects, %d published and the last reason",
			st, restarts, restarts*each)
	}
	const line = "listening again; what was notified in between is lost"
	if got := strings.Count(s.Log(), line); got != restarts {
		t.Errorf("%d log lines tell of a restart, want %d", got, restarts)
	}
}

// A firewall passes connections on until it is told to drop what they send: then
// nothing of them arrives, and nothing is closed. Later connections pass.
type firewall struct {
	ln net.Listener
	to string

	mu    sync.Mutex
	drops *atomic.Bool // of the connections that come now
	conns []net.Conn
}

func newFirewall(t *testing.T, to int) *firewall {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &firewall{ln: ln, to: fmt.Sprintf("127.0.0.1:%d", to), drops: new(atomic.Bool)}
	var all sync.WaitGroup
	all.Go(func() { f.accept(&all) })
	t.Cleanup(func() {
		ln.Close()
		f.mu.Lock()
		for _, c := range f.conns {
			c.Close()
		}
		f.mu.Unlock()
		all.Wait()
	})
	return f
}

func (f *firewall) accept(all *sync.WaitGroup) {
	for {
		client, err := f.ln.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", f.to)
		if err != nil {
			client.Close()
			continue
		}
		f.mu.Lock()
		drops := f.drops
		f.conns = append(f.conns, client, server)
		f.mu.Unlock()
		all.Go(func() { pass(client, server, drops) })
		all.Go(func() { pass(server, client, drops) })
	}
}

// pass copies until one end closes, which the other is told of unless it is
// dropped too.
func pass(dst, src net.Conn, drops *atomic.Bool) {
	buf := make([]byte, 16<<10)
	for {
		n, err := src.Read(buf)
		if drops.Load() {
			if err != nil {
				return
			}
			continue
		}
		if n > 0 {
			_, _ = dst.Write(buf[:n])
		}
		if err != nil {
			dst.Close()
			return
		}
	}
}

func (f *firewall) port() int { return f.ln.Addr().(*net.TCPAddr).Port }

// drop drops what the connections of now send from now on.
func (f *firewall) drop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.drops.Store(true)
	f.drops = new(atomic.Bool)
}

// TestFirewalledLink: a link that is dead without a word is found in the time that
// was set, and made again. The default, 10 s and 10 s, is pglisten's own test.
func TestFirewalledLink(t *testing.T) {
	skipShort(t)
	c := postgres.New(t)
	f := newFirewall(t, c.Port)
	dsn := strings.Replace(c.DSN("postgres"), fmt.Sprint(c.Port), fmt.Sprint(f.port()), 1)
	s := serve(t, dsn, "M0_PG_CHECK_EVERY=1s", "M0_PG_ANSWER_WITHIN=500ms")
	s.connected(t, 0)
	a := s.open(t, "a")
	c.SQL(t, "postgres", postgres.Notify(numbered(1)))
	next(t, a, "n", "1")

	f.drop()
	dropped := time.Now()
	c.SQL(t, "postgres", postgres.Notify(numbered(2))) // lost: the session it goes to is cut off
	st := s.until(t, "a dead link", func(st pglisten.Stats) bool { return st.LastError != "" })
	found := st.LastAt.Sub(dropped)
	if found > 2*time.Second || !strings.Contains(st.LastError, "no answer after 1s of silence") {
		t.Errorf("found after %v: %q; want 1.5s and no answer", found, st.LastError)
	}
	t.Logf("found after %v, of 1.5s that are set", found)
	s.connected(t, 1)
	c.SQL(t, "postgres", postgres.Notify(numbered(3)))
	next(t, a, "n", "3")
	a.Silent(t, settled)
}

// TestTwoServicesShareOnePostgres: each delivers to all its workers, once, and has
// one session.
func TestTwoServicesShareOnePostgres(t *testing.T) {
	skipShort(t)
	const count = 50
	c := postgres.New(t)
	services := []service{
		serve(t, c.DSN("postgres"), "M0_WORKERS=2"), serve(t, c.DSN("postgres"), "M0_WORKERS=2"),
	}
	var streams []*smoketest.Stream
	for _, s := range services {
		s.connected(t, 0)
		s.AwaitAnswer(t, "/door", 1)
		streams = append(streams, smoketest.Spread(t, 2,
			func() *smoketest.Stream { return s.open(t, "a") })...)
	}
	var script strings.Builder
	for i := range count {
		script.WriteString(postgres.Notify(numbered(i)))
	}
	c.SQL(t, "postgres", script.String())
	for _, stream := range streams {
		for i := range count {
			next(t, stream, "n", fmt.Sprint(i))
		}
	}
	for _, stream := range streams {
		stream.Silent(t, settled/10)
	}
	sessions := c.SQL(t, "postgres", "SELECT count(*) FROM pg_stat_activity "+
		"WHERE application_name = 'm0serve --pg-listen'")
	if sessions != "2" {
		t.Errorf("%s sessions for two services of two workers, want 2", sessions)
	}
}

// TestRespawnedWorkerListens: the successor of worker 0 listens, and nobody else.
func TestRespawnedWorkerListens(t *testing.T) {
	skipShort(t)
	c := postgres.New(t)
	s := serve(t, c.DSN("postgres"), "M0_WORKERS=2")
	s.connected(t, 0)
	s.AwaitAnswer(t, "/door", 1)
	var onSibling *smoketest.Stream
	for _, stream := range smoketest.Spread(t, 2, func() *smoketest.Stream { return s.open(t, "a") }) {
		if stream.Worker == "1" {
			onSibling = stream
		}
	}
	c.SQL(t, "postgres", postgres.Notify(numbered(1)))
	next(t, onSibling, "n", "1")
	first := s.Workers(t)[0]
	smoketest.Kill(t, first, syscall.SIGKILL)
	smoketest.Until(t, "a successor", func() bool {
		pid := s.Workers(t)[0]
		return pid != 0 && pid != first
	})
	s.connected(t, 0)
	c.SQL(t, "postgres", postgres.Notify(numbered(2)))
	next(t, onSibling, "n", "2")
	onSibling.Silent(t, settled)
}

// TestPostgresThatIsNotThere: the service serves, shows it, and listens once it can.
func TestPostgresThatIsNotThere(t *testing.T) {
	skipShort(t)
	c := postgres.Stopped(t)
	s := serve(t, c.DSN("postgres"))
	st := s.until(t, "a reason", func(st pglisten.Stats) bool { return st.LastError != "" })
	if st.Connected || st.Since.IsZero() || !strings.Contains(st.LastError, "connection refused") {
		t.Errorf("Stats = %+v, want not connected, since when, and the reason", st)
	}
	a := s.open(t, "a")
	c.Start(t)
	s.connected(t, 0)
	c.SQL(t, "postgres", postgres.Notify(numbered(1)))
	next(t, a, "n", "1")
	s.Signal(t, syscall.SIGTERM)
	if code := s.Wait(t); code != 0 {
		t.Errorf("SIGTERM: exit status %d, want 0\n%s", code, s.Log())
	}
}

// TestBadDSN: what cannot be read is refused before a banner, and not repeated.
func TestBadDSN(t *testing.T) {
	skipShort(t)
	for _, dsn := range []string{"", "mysql://shop:hunter2@db/x", "postgres://shop:hunter2/x@db/x"} {
		log := smoketest.Refused(t, bin, "postgres://user:password@host", "M0_PG_LISTEN="+dsn)
		if strings.Contains(log, "hunter2") {
			t.Errorf("DSN %q: printed %s; want no password", dsn, log)
		}
	}
}
