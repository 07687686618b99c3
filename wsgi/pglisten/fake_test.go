// SPDX-License-Identifier: MIT

package pglisten

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"m0serve.dev/http/sse"
)

// secret is the password of every test; no line may have it.
const secret = "hunter2"

// fake is a PostgreSQL at the other end of a pipe, on the time of a bubble.
type fake struct {
	t *testing.T

	mu      sync.Mutex
	dials   []time.Time
	refuse  string // what a session is refused with
	standby bool
	silent  bool // what is sent to it is read, nothing is answered
	asked   []string
	during  func(sql string) []string // payloads notified before sql is answered
	conn    net.Conn                  // the server's end of the last session
	back    *pgproto3.Backend
	startup map[string]string
}

func (f *fake) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// dial is the DialFunc of a listener.
func (f *fake) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	f.set(func() { f.dials = append(f.dials, time.Now()) })
	go f.serve(server)
	return client, nil
}

func (f *fake) serve(conn net.Conn) {
	defer conn.Close()
	back := pgproto3.NewBackend(conn, conn)
	start, err := back.ReceiveStartupMessage()
	if err != nil {
		return
	}
	f.mu.Lock()
	f.conn, f.back = conn, back
	f.startup = start.(*pgproto3.StartupMessage).Parameters
	refuse := f.refuse
	f.mu.Unlock()
	if refuse != "" {
		back.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: "28P01", Message: refuse})
		_ = back.Flush()
		return
	}
	back.Send(&pgproto3.AuthenticationOk{})
	back.Send(&pgproto3.BackendKeyData{ProcessID: 7, SecretKey: []byte("1234")})
	back.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	if back.Flush() != nil {
		return
	}
	for f.answer(back) {
	}
}

// answer answers one query, and reports whether there may be another.
func (f *fake) answer(back *pgproto3.Backend) bool {
	m, err := back.Receive()
	q, ok := m.(*pgproto3.Query)
	if err != nil || !ok {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, q.String)
	if f.silent {
		return true
	}
	if f.during != nil {
		for _, payload := range f.during(q.String) {
			back.Send(&pgproto3.NotificationResponse{PID: 9, Channel: Channel, Payload: payload})
		}
	}
	switch {
	case strings.Contains(q.String, "pg_is_in_recovery"):
		value := map[bool]string{true: "t", false: "f"}[f.standby]
		back.Send(&pgproto3.RowDescription{Fields: []pgproto3.FieldDescription{{Name: []byte("x")}}})
		back.Send(&pgproto3.DataRow{Values: [][]byte{[]byte(value)}})
		back.Send(&pgproto3.CommandComplete{CommandTag: []byte("SELECT 1")})
	case q.String == "":
		back.Send(&pgproto3.EmptyQueryResponse{})
	default:
		back.Send(&pgproto3.CommandComplete{CommandTag: []byte("LISTEN")})
	}
	back.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	return back.Flush() == nil
}

// notify sends a payload to whoever listens.
func (f *fake) notify(payloads ...string) {
	f.t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range payloads {
		f.back.Send(&pgproto3.NotificationResponse{PID: 9, Channel: Channel, Payload: p})
	}
	if err := f.back.Flush(); err != nil {
		f.t.Fatalf("notify: %v", err)
	}
}

// drop ends the session without a word.
func (f *fake) drop() { f.set(func() { f.conn.Close() }) }

// heard is what a listener published and logged.
type heard struct {
	mu     sync.Mutex
	events []string // channel, name and data with bars between
	lines  []string
	fail   error
}

func (h *heard) publish(channel string, e sse.Event) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.fail != nil {
		return h.fail
	}
	h.events = append(h.events, fmt.Sprintf("%s|%s|%s|%v", channel, e.Name, e.Data, e.Empty))
	return nil
}

// Write takes a log line.
func (h *heard) Write(line []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lines = append(h.lines, string(line))
	return len(line), nil
}

// with returns the log lines that have text.
func (h *heard) with(text string) (lines []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, line := range h.lines {
		if strings.Contains(line, text) {
			lines = append(lines, line)
		}
	}
	return lines
}

func (h *heard) got() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.events, " ")
}

// inBubble runs test with a fake and a listener on fake time. Nothing of either may
// be left when Run has returned, and no log line may have the password.
func inBubble(t *testing.T, change func(*Config, *fake),
	test func(t *testing.T, l *Listener, f *fake, h *heard)) {
	t.Helper()
	clearVariables(t)
	synctest.Test(t, func(t *testing.T) {
		dsn, err := ParseDSN("postgres://shop:" + secret + "@db.example:5432/shop?sslmode=disable")
		if err != nil {
			t.Fatal(err)
		}
		f, h := &fake{t: t}, &heard{}
		dsn.link.DialFunc = f.dial
		dsn.link.LookupFunc = func(context.Context, string) ([]string, error) {
			return []string{"192.0.2.1"}, nil
		}
		cfg := Config{DSN: dsn, Publish: h.publish, Log: slog.New(slog.NewTextHandler(h, nil))}
		if change != nil {
			change(&cfg, f)
		}
		l := New(cfg)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); l.Run(ctx) }()
		synctest.Wait()
		test(t, l, f, h)
		cancel()
		<-done
		if s := l.Stats(); s.Connected {
			t.Errorf("after Run: Connected")
		}
		for _, line := range append(h.with(secret), l.Stats().LastError) {
			if strings.Contains(line, secret) {
				t.Errorf("the password is in %q", line)
			}
		}
	})
}

// clearVariables keeps the environment of the test out of ParseDSN.
func clearVariables(t testing.TB) {
	t.Helper()
	for _, name := range []string{"PGHOST", "PGPORT", "PGDATABASE", "PGUSER", "PGPASSWORD",
		"PGSSLMODE", "PGAPPNAME", "PGSERVICE", "PGOPTIONS", "PGCONNECT_TIMEOUT",
		"PGTARGETSESSIONATTRS"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", t.TempDir())
}
