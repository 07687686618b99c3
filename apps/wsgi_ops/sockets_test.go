// SPDX-License-Identifier: MIT

//go:build linux

package wsgiops

import (
	"bufio"
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

	"m0serve.dev/apps/internal/rawhttp"
	"m0serve.dev/apps/internal/smoketest"
)

// askAt returns the body of the answer to a GET at any kind of address.
func askAt(t *testing.T, network, address, path string) string {
	t.Helper()
	conn, err := net.DialTimeout(network, address, rawhttp.Patience)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(rawhttp.Patience)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(conn, get(path, "Connection: close"))
	r, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("GET %s at %s: %v", path, address, err)
	}
	defer r.Body.Close()
	text := new(strings.Builder)
	if _, err := bufio.NewReader(r.Body).WriteTo(text); err != nil || r.StatusCode != 200 {
		t.Fatalf("GET %s at %s: %s, %v", path, address, r.Status, err)
	}
	return text.String()
}

// hello wants the application at an address.
func hello(t *testing.T, network, address string) {
	t.Helper()
	if got := askAt(t, network, address, "/hello"); got != "hello" {
		t.Errorf("GET /hello at %s = %q, want hello", address, got)
	}
}

// A socket that nobody listens at any more is replaced, by one that is gone when the
// service is; reloads leave it alone.
func TestUnixSocket(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "app.sock")
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	stale.SetUnlinkOnClose(false)
	_ = stale.Close()
	p := site{bind: "unix:" + path, args: []string{"--umask", "017", "--workers", "2"}}.start(t)
	hello(t, "unix", path)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o760 {
		t.Errorf("mode %v, %v of the socket with --umask 017, want 0760", info.Mode(), err)
	}
	p.Signal(t, syscall.SIGHUP)
	logs(t, p, "every worker is replaced", 1)
	hello(t, "unix", path)
	stop(t, p, syscall.SIGTERM, 0, stopSoon)
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("the socket is left behind: %v", err)
	}
}

// A socket at which somebody listens, and a file that is none, are left alone. The file
// is a wrong setting, as is a path that is too long; what may come yet is a failure.
func TestUnixSocketOfAnother(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	live, file := filepath.Join(dir, "live.sock"), filepath.Join(dir, "file")
	first := site{bind: "unix:" + live}.start(t)
	write(t, file, "precious")
	for _, c := range []struct {
		path string
		want int
		cure string
	}{
		{live, 1, "address already in use"},
		{file, 78, "choose another path"},
		{dir, 78, "choose another path"},
		{filepath.Join(dir, "none", "app.sock"), 1, "make its directory first"},
		{filepath.Join(dir, strings.Repeat("a", 108)), 78, "choose a shorter path"},
	} {
		p := site{bind: "unix:" + c.path}.launch(t)
		status, log := p.Wait(t), p.Log()
		if status != c.want || !strings.Contains(log, c.path) || !strings.Contains(log, c.cure) {
			t.Errorf("%s: exit status %d, want %d, its name and %q\n%s",
				c.path, status, c.want, c.cure, log)
		}
	}
	hello(t, "unix", live)
	if text, err := os.ReadFile(file); string(text) != "precious" {
		t.Errorf("the file holds %q, %v", text, err)
	}
	stop(t, first, syscall.SIGTERM, 0, stopSoon)
}

func TestAbstractSocket(t *testing.T) {
	t.Parallel()
	name := "@m0-ops-" + strconv.Itoa(os.Getpid())
	p := site{bind: "unix:" + name}.start(t)
	hello(t, "unix", name)
	second := site{bind: "unix:" + name}.launch(t)
	if status := second.Wait(t); status != 1 {
		t.Errorf("a second service at %s: exit status %d, want 1", name, status)
	}
	stop(t, p, syscall.SIGTERM, 0, stopSoon)
}

// opened is a listener's file for a service that inherits it, and its address.
func opened(t *testing.T) (*os.File, string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	file, err := ln.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	return file, ln.Addr().String()
}

func TestInheritedSocket(t *testing.T) {
	t.Parallel()
	for _, s := range []site{
		{bind: "fd://3"}, {bind: "-", args: []string{"--fd", "3"}},
	} {
		file, address := opened(t)
		s.files = []*os.File{file}
		p := s.start(t)
		if want := "http://" + address; p.URL != want {
			t.Errorf("the banner says %s, want %s", p.URL, want)
		}
		hello(t, "tcp", address)
		p.Signal(t, syscall.SIGHUP)
		logs(t, p, "every worker is replaced", 1)
		hello(t, "tcp", address)
		stop(t, p, syscall.SIGTERM, 0, stopSoon)
	}
}

// A descriptor that is no listener is refused as what it is: a wrong setting.
func TestInheritedDescriptorOfAnotherKind(t *testing.T) {
	t.Parallel()
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, fd := range []string{"3", "77"} {
		p := site{bind: "fd://" + fd, files: []*os.File{file}}.launch(t)
		if status := p.Wait(t); status != 78 || !strings.Contains(p.Log(), "fd://"+fd) {
			t.Errorf("fd://%s: exit status %d, want 78 and its name\n%s", fd, status, p.Log())
		}
	}
}

// activate is a launcher that does what a service manager does between fork and exec.
var activate = []string{"/bin/sh", "-c", `LISTEN_PID=$$ exec "$@"`, "sh"}

// A socket that a service manager opened is served, without being asked for, and
// neither the application nor its children see who opened it.
func TestSocketActivation(t *testing.T) {
	t.Parallel()
	file, address := opened(t)
	p := site{bind: "-", under: activate, files: []*os.File{file},
		env: []string{"LISTEN_FDS=1", "LISTEN_FDNAMES=web"}}.start(t)
	hello(t, "tcp", address)
	for _, name := range []string{"LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"} {
		if got := ask(t, p, "/variable?name="+name); got != "null" {
			t.Errorf("the application sees %s=%s", name, got)
		}
	}
	p.Signal(t, syscall.SIGHUP)
	logs(t, p, "every worker is replaced", 1)
	hello(t, "tcp", address)
	stop(t, p, syscall.SIGTERM, 0, stopSoon)
}

// A socket that is meant for another process is not taken.
func TestSocketActivationOfAnotherProcess(t *testing.T) {
	t.Parallel()
	file, address := opened(t)
	p := site{files: []*os.File{file},
		env: []string{"LISTEN_FDS=1", "LISTEN_PID=1"}}.start(t)
	if p.URL == "http://"+address {
		t.Error("the socket of process 1 is served")
	}
	ask(t, p, "/hello")
}

// A manager is a service manager at the other end of NOTIFY_SOCKET.
type manager struct {
	conn *net.UnixConn
	path string
}

func newManager(t *testing.T) *manager {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &manager{conn, path}
}

// hears waits for a message that opens with what, leaving others out, and returns it.
func (m *manager) hears(t *testing.T, what string) string {
	t.Helper()
	if err := m.conn.SetReadDeadline(time.Now().Add(smoketest.Patience)); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 4096)
	for {
		n, err := m.conn.Read(buf)
		if err != nil {
			t.Fatalf("waiting for %s: %v", what, err)
		}
		if text := string(buf[:n]); strings.HasPrefix(text, what) {
			return text
		}
	}
}

// Type=notify-reload: ready once it listens, around a reload, that it stops, and that
// it lives; the application does not see whom to tell.
func TestServiceManagerIsTold(t *testing.T) {
	t.Parallel()
	m := newManager(t)
	p := site{args: []string{"--workers", "2"},
		env: []string{"NOTIFY_SOCKET=" + m.path, "WATCHDOG_USEC=200000"}}.launch(t)
	if got := m.hears(t, "READY=1"); !strings.Contains(got, "STATUS=2 workers serve") {
		t.Errorf("ready: %q, want a status of 2 workers", got)
	}
	p.Listening(t, listening)
	for _, name := range []string{"NOTIFY_SOCKET", "WATCHDOG_USEC"} {
		if got := ask(t, p, "/variable?name="+name); got != "null" {
			t.Errorf("the application sees %s=%s", name, got)
		}
	}
	m.hears(t, "WATCHDOG=1")
	p.Signal(t, syscall.SIGHUP)
	if got := m.hears(t, "RELOADING=1"); !strings.Contains(got, "MONOTONIC_USEC=") {
		t.Errorf("reloading: %q, want its moment", got)
	}
	m.hears(t, "READY=1")
	p.Signal(t, syscall.SIGTERM)
	m.hears(t, "STOPPING=1")
	left(t, p, nil, time.Now(), 0, stopSoon)
}
