// SPDX-License-Identifier: MIT

package systemd

import (
	"errors"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"m0serve.dev/http/config"
)

// handOver puts the files behind each other at descriptors that start with the
// one returned, as a manager does at 3.
func handOver(t *testing.T, files ...*os.File) (first int) {
	t.Helper()
	const base = 900
	for i, f := range files {
		must(t, syscall.Dup3(int(f.Fd()), base+i, 0))
		t.Cleanup(func() { _ = syscall.Close(base + i) })
	}
	return base
}

func listenerFile(t *testing.T, network, address string) *os.File {
	t.Helper()
	ln, err := net.Listen(network, address)
	must(t, err)
	t.Cleanup(func() { _ = ln.Close() })
	file, err := ln.(interface{ File() (*os.File, error) }).File()
	must(t, err)
	t.Cleanup(func() { _ = file.Close() })
	return file
}

func setActivation(t *testing.T, pid int, count, names string) {
	t.Setenv(envListenPID, strconv.Itoa(pid))
	t.Setenv(envListenFDs, count)
	t.Setenv(envListenNames, names)
}

func TestActivatedListenersAreAdopted(t *testing.T) {
	first := handOver(t, listenerFile(t, "tcp", "127.0.0.1:0"),
		listenerFile(t, "unix", t.TempDir()+"/socket"))
	setActivation(t, os.Getpid(), "2", "web:admin")
	all, err := adoptSockets(first)
	if err != nil || len(all) != 2 || all[0].Name != "web" || all[1].Name != "admin" {
		t.Fatalf("adoptSockets = %v, %v; want web and admin", all, err)
	}
	for _, a := range all {
		conn, err := net.Dial(a.Listener.Addr().Network(), a.Listener.Addr().String())
		if err != nil {
			t.Errorf("%s does not listen: %v", a.Name, err)
			continue
		}
		_ = conn.Close()
		_ = a.Listener.Close()
	}
	for i := range 2 {
		if err := syscall.Close(first + i); err != syscall.EBADF {
			t.Errorf("descriptor %d is still open beside its listener", first+i)
		}
	}
	for _, name := range []string{envListenPID, envListenFDs, envListenNames} {
		if v, ok := os.LookupEnv(name); ok {
			t.Errorf("%s=%s is left to children", name, v)
		}
	}
}

func TestActivationOfAnotherProcessIsNotOurs(t *testing.T) {
	first := handOver(t, listenerFile(t, "tcp", "127.0.0.1:0"))
	setActivation(t, os.Getppid(), "1", "web")
	all, err := adoptSockets(first)
	if all != nil || err != nil {
		t.Errorf("adoptSockets = %v, %v; want nothing", all, err)
	}
	if _, ok := os.LookupEnv(envListenFDs); ok {
		t.Error("the names are left to children")
	}
	if err := syscall.Close(first); err != nil {
		t.Errorf("the descriptor was closed: %v", err)
	}
}

func TestActivationThatIsNoListenerIsRefused(t *testing.T) {
	plain, err := os.CreateTemp(t.TempDir(), "plain")
	must(t, err)
	defer plain.Close()
	for _, odd := range []*os.File{plain, deafSocket(t)} {
		first := handOver(t, listenerFile(t, "tcp", "127.0.0.1:0"), odd)
		setActivation(t, os.Getpid(), "2", "web:odd")
		_, err := adoptSockets(first)
		if err == nil || !strings.Contains(err.Error(), `socket "odd" (descriptor 901)`) {
			t.Errorf("adoptSockets of %s = %v, want it refused by name", odd.Name(), err)
		}
	}
	first := handOver(t, listenerFile(t, "tcp", "127.0.0.1:0"), plain)
	for _, count := range []string{"3", "65", "-1", "many", ""} {
		setActivation(t, os.Getpid(), count, "web")
		_, err := adoptSockets(first)
		var wrong *config.Error
		if !errors.As(err, &wrong) || wrong.Var != envListenFDs {
			t.Errorf("adoptSockets of %q = %v, want it refused by name", count, err)
		}
	}
}

// deafSocket is bound, and nobody listens.
func deafSocket(t *testing.T) *os.File {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	must(t, err)
	file := os.NewFile(uintptr(fd), "deaf socket")
	t.Cleanup(func() { _ = file.Close() })
	must(t, syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	return file
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
