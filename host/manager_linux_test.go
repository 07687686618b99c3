// SPDX-License-Identifier: MIT

package host

import (
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// underManager starts a fleet as a service manager does: with a socket to
// report to, and the listeners at 3 and up.
func underManager(t *testing.T, workers int, listeners ...net.Listener) (*fleet, *net.UnixConn) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	f := startFleetWith(t, "serve", workers, func(cmd *exec.Cmd) {
		cmd.Env = append(cmd.Env, "NOTIFY_SOCKET="+name, "WATCHDOG_USEC=100000")
		if len(listeners) == 0 {
			return
		}
		for _, ln := range listeners {
			file, err := ln.(*net.TCPListener).File()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = file.Close() })
			cmd.ExtraFiles = append(cmd.ExtraFiles, file)
		}
		// The pid is known only to the process itself.
		script := fmt.Sprintf(`LISTEN_PID=$$ LISTEN_FDS=%d exec "$0"`, len(listeners))
		cmd.Args = []string{"sh", "-c", script, cmd.Path}
		if cmd.Path, err = exec.LookPath("sh"); err != nil {
			t.Fatal(err)
		}
	})
	return f, conn
}

// hears waits for a message that opens with text, behind signs of life only.
func hears(t *testing.T, conn *net.UnixConn, text string) {
	t.Helper()
	var buf [512]byte
	for {
		_ = conn.SetReadDeadline(time.Now().Add(patience))
		n, err := conn.Read(buf[:])
		if err != nil {
			t.Fatalf("the manager waited for %q: %v", text, err)
		}
		got := string(buf[:n])
		if strings.HasPrefix(got, text) {
			return
		}
		if got != "WATCHDOG=1" {
			t.Fatalf("the manager heard %q, want %q", got, text)
		}
	}
}

func TestServiceManagerHearsOfTheService(t *testing.T) {
	for _, workers := range []int{1, 2} {
		t.Run(fmt.Sprintf("%d workers", workers), func(t *testing.T) {
			f, manager := underManager(t, workers)
			hears(t, manager, "READY=1\nSTATUS=")
			f.url(t)
			hears(t, manager, "WATCHDOG=1")
			hears(t, manager, "WATCHDOG=1")
			if code := f.stop(t); code != 0 {
				t.Errorf("exit %d, want 0", code)
			}
			hears(t, manager, "STOPPING=1")
		})
	}
}

func TestServiceManagersSocketIsServed(t *testing.T) {
	for _, workers := range []int{1, 2} {
		t.Run(fmt.Sprintf("%d workers", workers), func(t *testing.T) {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			url := "http://" + ln.Addr().String()
			f, _ := underManager(t, workers, ln)
			_ = ln.Close()
			if got := f.url(t); got != url {
				t.Fatalf("serves %s, want the manager's %s", got, url) // nobody answers there
			}
			if resp, err := http.Get(url); err != nil {
				t.Error(err)
			} else {
				_ = resp.Body.Close()
			}
			f.stop(t)
		})
	}
}

func TestSeveralSocketsAreRefused(t *testing.T) {
	var listeners []net.Listener
	for range 2 {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		listeners = append(listeners, ln)
	}
	f, manager := underManager(t, 1, listeners...)
	go func() {
		var buf [512]byte
		if n, _ := manager.Read(buf[:]); strings.HasPrefix(string(buf[:n]), "READY=1") {
			_ = f.cmd.Process.Kill() // it serves, which is the failure
		}
	}()
	if code := f.wait(t); code != 78 || !strings.Contains(f.String(), "LISTEN_FDS") {
		t.Errorf("exit %d, printed %q; want 78 and the name", code, f)
	}
}
