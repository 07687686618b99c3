// SPDX-License-Identifier: MIT

package sqlite

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// childEnv names the role of a test binary that was started as another process.
const childEnv = "M0_SQLITE_TEST_CHILD"

func TestMain(m *testing.M) {
	if role := os.Getenv(childEnv); role != "" {
		os.Exit(runChild(role, os.Stdin, os.Stdout))
	}
	os.Exit(m.Run())
}

// child is a process that answers each line it is sent with one line.
type child struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

func startChild(t *testing.T, role string) *child {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childEnv+"="+role)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{t: t, cmd: cmd, in: in, out: bufio.NewScanner(out)}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Process.Kill() // this child only; it may have ended already
		_ = cmd.Wait()
	})
	if got := c.receive(); got != "ready" {
		t.Fatalf("child %s said %q, want ready", role, got)
	}
	return c
}

func (c *child) send(format string, args ...any) {
	c.t.Helper()
	if _, err := fmt.Fprintf(c.in, format+"\n", args...); err != nil {
		c.t.Fatal(err)
	}
}

func (c *child) receive() string {
	c.t.Helper()
	if !c.out.Scan() {
		c.t.Fatalf("child ended: %v", c.out.Err())
	}
	return c.out.Text()
}

// startAt is a moment near enough to be tight and far enough to be reached by every child.
func startAt() int64 { return time.Now().Add(3 * time.Millisecond).UnixNano() }

// spinUntil returns at the given moment, to the microsecond.
func spinUntil(ns int64) {
	for time.Now().UnixNano() < ns {
	}
}

// tempFile is the path of a database that does not exist yet.
func tempFile(t testing.TB) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "test.db")
}

// open opens a file and closes it with the test.
func open(t testing.TB, path string, o Options) *Conn {
	t.Helper()
	c, err := Open(path, o)
	if err != nil {
		t.Fatalf("Open(%q, %+v): %v", path, o, err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return c
}

// openPool opens a pool and closes it with the test.
func openPool(t testing.TB, path string, o PoolOptions) *Pool {
	t.Helper()
	p, err := OpenPool(path, o)
	if err != nil {
		t.Fatalf("OpenPool(%q, %+v): %v", path, o, err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return p
}

func mustExec(t testing.TB, src Source, sql string, args ...any) {
	t.Helper()
	if _, err := Exec(context.Background(), src, sql, args...); err != nil {
		t.Fatalf("Exec(%q): %v", sql, err)
	}
}

func mustOne[T any](t testing.TB, src Source, sql string, args ...any) T {
	t.Helper()
	v, err := One[T](context.Background(), src, sql, args...)
	if err != nil {
		t.Fatalf("One(%q): %v", sql, err)
	}
	return v
}

// wantText fails unless err is there and its text holds every part.
func wantText(t testing.TB, call string, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: no error, want one with %q", call, parts)
		return
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%s: error %q, want one with %q", call, err, part)
		}
	}
}

// eventually waits for a condition that other goroutines bring about.
func eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for !done() {
		if time.Now().After(deadline) {
			t.Fatalf("not reached in time: %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}
