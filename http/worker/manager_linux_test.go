// SPDX-License-Identifier: MIT

package worker

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"m0serve.dev/http/bus"
)

// a manager is the socket of a service manager of the kind of systemd.
type manager struct {
	*net.UnixConn
	name  string
	beats int // signs of life
}

func startManager(t *testing.T, name string) *manager {
	t.Helper()
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &manager{UnixConn: conn, name: name}
}

// next is the next message that is not a sign of life.
func (m *manager) next(t *testing.T) string {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		if text := m.read(t); text != "WATCHDOG=1" {
			return text
		}
	}
	t.Fatalf("the manager hears signs of life alone for %v", patience)
	return ""
}

func (m *manager) read(t *testing.T) string {
	t.Helper()
	var buf [512]byte
	if err := m.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	n, err := m.Read(buf[:])
	if err != nil {
		t.Fatalf("the manager hears nothing: %v", err)
	}
	if string(buf[:n]) == "WATCHDOG=1" {
		m.beats++
	}
	return string(buf[:n])
}

func TestServiceManagerIsTold(t *testing.T) {
	for kind, name := range map[string]string{
		"path":     filepath.Join(t.TempDir(), "notify"),
		"abstract": fmt.Sprintf("@m0-notify-test-%d", os.Getpid()),
	} {
		t.Run(kind, func(t *testing.T) {
			m, began := startManager(t, name), time.Now()
			s := startService(t, "serve", "env", "NOTIFY_SOCKET="+name, "WATCHDOG_USEC=200000")
			const ready = "READY=1\nSTATUS=2 workers serve"
			if got := m.next(t); got != ready {
				t.Errorf("at the start: %q, want %q", got, ready)
			}
			if s.hasEnv(t, "NOTIFY_SOCKET", "WATCHDOG_USEC") {
				t.Error("a worker was told of the manager")
			}
			for range 5 {
				if got := m.read(t); got != "WATCHDOG=1" {
					t.Errorf("while it serves: %q, want a sign of life", got)
				}
			}
			// Half of the 200 ms that are asked for.
			if took := time.Since(began); took < time.Duration(m.beats)*100*time.Millisecond {
				t.Errorf("%d signs of life within %v of the start", m.beats, took)
			}
			now := bus.Uptime().Microseconds()
			s.signal(t, syscall.SIGHUP)
			checkReloading(t, m.next(t), now)
			if got := m.next(t); got != ready {
				t.Errorf("after the reload: %q, want %q", got, ready)
			}
			s.signal(t, syscall.SIGTERM)
			if got := m.next(t); got != "STOPPING=1" {
				t.Errorf("at the end: %q, want STOPPING=1", got)
			}
			if code := s.wait(t); code != 0 {
				t.Errorf("exit %d, want 0", code)
			}
		})
	}
}

func checkReloading(t *testing.T, got string, since int64) {
	t.Helper()
	usec, ok := strings.CutPrefix(got, "RELOADING=1\nMONOTONIC_USEC=")
	at, err := strconv.ParseInt(usec, 10, 64)
	if !ok || err != nil || at < since || at > bus.Uptime().Microseconds() {
		t.Errorf("at the reload: %q, want RELOADING=1 and the clock, at least %d", got, since)
	}
}

func TestFailedReloadIsTold(t *testing.T) {
	m := startManager(t, filepath.Join(t.TempDir(), "notify"))
	s := startService(t, "late config", "env", "NOTIFY_SOCKET="+m.name)
	if got := m.next(t); !strings.HasPrefix(got, "READY=1") {
		t.Fatalf("at the start: %q, want READY=1", got)
	}
	s.signal(t, syscall.SIGHUP)
	m.next(t)
	const want = "READY=1\nSTATUS=2 workers serve, the last reload failed"
	if got := m.next(t); got != want {
		t.Errorf("after a reload that failed: %q, want %q", got, want)
	}
	s.says(t, "the old ones go on serving")
	if got := len(s.workers()); got != 2 {
		t.Errorf("%d workers, want the 2 old ones", got)
	}
}

func TestActivatedServiceServesItsManagersSocket(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	file, err := ln.(*net.TCPListener).File()
	must(t, err)
	s := startActivated(t, "serve", file)
	must(t, ln.Close())
	s.says(t, "all ready at "+ln.Addr().String())
	if !strings.Contains(s.text(), `activated "web" of 1`) {
		t.Error("the name of the socket is lost")
	}
	if s.hasEnv(t, "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES") {
		t.Error("a worker was told of the manager's sockets")
	}
	s.signal(t, syscall.SIGTERM)
	if code := s.wait(t); code != 0 {
		t.Errorf("exit %d, want 0", code)
	}
}
