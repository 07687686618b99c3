// SPDX-License-Identifier: MIT

//go:build linux

package pgsite

import (
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"m0serve.dev/apps/internal/postgres"
	"m0serve.dev/apps/internal/pyserver"
	"m0serve.dev/apps/internal/rawhttp"
	"m0serve.dev/apps/internal/smoketest"
)

// TestKilledWorkerIsFollowed: the successor of worker 0 listens, and from then on
// everything arrives, once, on its sibling and on its own streams.
func TestKilledWorkerIsFollowed(t *testing.T) {
	pyserver.M0serveAlone(t)
	c := postgres.New(t)
	s := start(t, c)
	stays := []*rawhttp.Conn{s.stream(t, 1), s.stream(t, 1)}
	for round := range 3 {
		first := s.Workers(t)[0]
		before := c.SQL(t, "postgres", "SELECT pid FROM pg_stat_activity WHERE "+postgres.Listening)
		kill9(t, first)
		smoketest.Until(t, "a successor", func() bool {
			pid := s.Workers(t)[0]
			return pid != 0 && pid != first
		})
		s.listening(t, 1)
		after := c.SQL(t, "postgres", "SELECT pid FROM pg_stat_activity WHERE "+postgres.Listening)
		if after == before || strings.Contains(after, "\n") {
			t.Errorf("sessions %q before the end of worker 0 and %q after, want another one",
				before, after)
		}
		streams := append([]*rawhttp.Conn{s.stream(t, 0)}, stays...)
		for n := range 10 {
			c.SQL(t, "postgres", numbered(100*round+n))
			wantNext(t, streams, "n", strconv.Itoa(100*round+n))
		}
		silent(t, streams)
	}
}

// TestPostgresRestarts: what is committed once it is listened to again arrives, once.
func TestPostgresRestarts(t *testing.T) {
	pyserver.M0serveAlone(t)
	c := postgres.New(t)
	s := start(t, c)
	streams := s.streams(t)
	for round := range 3 {
		c.Stop(t)
		s.listening(t, 0)
		if got := s.ask(t, "/worker"); got == "" {
			t.Error("nobody answers while PostgreSQL is away")
		}
		c.Start(t)
		s.listening(t, 1)
		c.SQL(t, "postgres", numbered(round))
		wantNext(t, streams, "n", strconv.Itoa(round))
		silent(t, streams)
		s.wantFigures(t, map[string]int{"m0_postgres_reconnects_total": round + 1,
			"m0_postgres_published_total": round + 1})
	}
}

// TestPostgresThatIsNotThere: the service serves, the metrics say so, and it is
// listened to once it is there.
func TestPostgresThatIsNotThere(t *testing.T) {
	pyserver.M0serveAlone(t)
	c := postgres.Stopped(t)
	s := launch(t, c.DSN("postgres"))
	s.listening(t, 0)
	streams := s.streams(t)
	s.ask(t, "/publish", "channel", "a", "data", "without", "event", "n")
	wantNext(t, streams, "n", "without")
	smoketest.Until(t, "the reason in the log", func() bool {
		return strings.Contains(s.Log(), "connection refused")
	})
	c.Start(t)
	s.listening(t, 1)
	c.SQL(t, "postgres", numbered(1))
	wantNext(t, streams, "n", "1")
}

// TestRefusals: 78 ahead of the banner, what to do, and no part of the secret.
func TestRefusals(t *testing.T) {
	pyserver.M0serveAlone(t)
	const good = "postgres://shop:hunter2@127.0.0.1/x"
	for name, tt := range map[string]struct {
		args, env, want []string
	}{
		"no realtime":             {args: []string{"--pg-listen", good}, want: []string{"--realtime"}},
		"no realtime, variable":   {env: []string{"M0_PG_LISTEN=" + good}, want: []string{"--realtime"}},
		"another database":        {args: []string{"--realtime", "--pg-listen", "mysql://shop:hunter2@db/x"}},
		"a password with a slash": {args: []string{"--realtime", "--pg-listen", "postgres://shop:hunter2/x@db/x"}},
		"a port that is none":     {args: []string{"--realtime", "--pg-listen", "postgres://shop:hunter2@db:0x/x"}},
		"words": {args: []string{"--realtime"},
			env: []string{"M0_PG_LISTEN=host=db password='hunter2"}},
		"an option that is unknown": {args: []string{"--realtime"},
			env: []string{"M0_PG_LISTEN=" + good + "?sslmode=perhaps"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := servers.Launch(t, config(tt.env, tt.args...))
			code := p.Wait(t)
			log := p.Log()
			if code != 78 || strings.Contains(log, "listening on") ||
				!strings.Contains(log, "--pg-listen") {
				t.Errorf("exit status %d, want 78 without a banner and the option's name\n%s", code, log)
			}
			for _, want := range tt.want {
				if !strings.Contains(log, want) {
					t.Errorf("the output is %q, want %s in it", log, want)
				}
			}
			wantNoPassword(t, "the output", log)
		})
	}
}

// TestStopEndsTheListenInOrder: PostgreSQL is told, before the requests have ended.
func TestStopEndsTheListenInOrder(t *testing.T) {
	pyserver.M0serveAlone(t)
	c := postgres.New(t)
	c.SQL(t, "postgres", "ALTER SYSTEM SET log_min_messages = debug1;")
	c.SQL(t, "postgres", "ALTER SYSTEM SET log_disconnections = on;")
	c.SQL(t, "postgres", "SELECT pg_reload_conf();")
	s := start(t, c)
	busy := s.dial(t, 0)
	send(busy, target("/sleep", "s", "2"))
	smoketest.Until(t, "a view that sleeps", func() bool {
		return strings.Contains(s.Log(), "SITE sleeps")
	})
	began := time.Now()
	s.Signal(t, syscall.SIGTERM)
	smoketest.Until(t, "the end of the session", func() bool { return c.Sessions(t) == 0 })
	if err := busy.Silent(time.Millisecond); err != nil {
		t.Errorf("%v after %v: the session outlives the requests", err, time.Since(began))
	}
	if r, err := busy.Read("GET"); err != nil || string(r.Body) != "slept" {
		t.Errorf("%v, %v; want the answer of the view that slept", r, err)
	}
	if code := s.Wait(t); code != 0 {
		t.Errorf("exit status %d, want 0\n%s", code, s.Log())
	}
	if log := c.Server.Log(); strings.Contains(log, "unexpected EOF") ||
		!strings.Contains(log, "disconnection: ") {
		t.Errorf("PostgreSQL says\n%s\nwant a session that it was told of the end of", log)
	}
}

// TestPasswordIsShownNowhere, whichever way the DSN is given: in no log, no figure,
// and nowhere that the application or a child of it can read.
func TestPasswordIsShownNowhere(t *testing.T) {
	pyserver.M0serveAlone(t)
	c := postgres.New(t)
	c.SQL(t, "postgres", "CREATE ROLE shop LOGIN PASSWORD 'other'")
	dsn := strings.Replace(c.DSN("postgres"), "postgres@", "shop:hunter2@", 1)
	for name, cfg := range map[string]pyserver.Config{
		"flag":     config(nil, "--pg-listen", dsn),
		"variable": config([]string{"M0_PG_LISTEN=" + dsn}),
		"-e":       config(nil, "--env", "M0_PG_LISTEN="+dsn),
	} {
		t.Run(name, func(t *testing.T) {
			c.SQL(t, "postgres", "ALTER ROLE shop PASSWORD 'other'")
			admin := "127.0.0.1:" + strconv.Itoa(smoketest.FreePort(t))
			cfg.Args = append([]string{"--realtime", "--metrics", admin, "--log-level", "debug",
				"--access-logfile", "-"}, cfg.Args...)
			s := &site{servers.Start(t, cfg), "http://" + admin}
			smoketest.Until(t, "a refusal", func() bool {
				return strings.Contains(s.Log(), "password authentication failed")
			})
			c.SQL(t, "postgres", "ALTER ROLE shop PASSWORD 'hunter2'")
			s.listening(t, 1)
			told := s.ask(t, "/told")
			if !strings.Contains(told, "child of fork: ") {
				t.Errorf("/told = %q, which shows nothing", told)
			}
			wantNoPassword(t, "what the application can read", told)
			figures, err := get(t, s.admin+"/metrics")
			if err != nil {
				t.Fatal(err)
			}
			wantNoPassword(t, "/metrics", figures)
			s.Signal(t, syscall.SIGTERM)
			if code := s.Wait(t); code != 0 {
				t.Errorf("exit status %d, want 0", code)
			}
			wantNoPassword(t, "the log", s.Log())
		})
	}
}
