// SPDX-License-Identifier: MIT

//go:build unix

package smoketest

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// guardScript reads the number of a process group, and kills the group when its
// input ends before a second line.
const guardScript = `read -r group && { read -r _ || kill -s KILL -- "-$group"; }`

// A guard ends a service whose test was killed: then no cleanup runs, and the
// service is in a group of its own, which no terminal reaches. It is a shell at
// the other end of a pipe, so nothing that ends this process gets around it, and
// unlike the kernel's parent-death signal it reaches the whole group, on every
// Unix.
type guard struct {
	shell *exec.Cmd
	pipe  *os.File // the write end
	armed bool
}

func newGuard(t *testing.T) *guard {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	g := &guard{shell: exec.Command("/bin/sh", "-c", guardScript), pipe: w}
	g.shell.Stdin = r
	g.shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := g.shell.Start(); err != nil {
		t.Fatal(err)
	}
	_ = r.Close()
	return g
}

// watch arms the guard for the process group of a service.
func (g *guard) watch(group int) {
	_, err := fmt.Fprintln(g.pipe, group)
	g.armed = err == nil
}

// release ends the guard and leaves the service alone.
func (g *guard) release() {
	if g.armed {
		_, _ = fmt.Fprintln(g.pipe, "over")
	}
	_ = g.pipe.Close()
	_ = g.shell.Wait()
}

// StartInGroup starts cmd in a process group of its own. Ending the group is the
// test's part; should this process be killed before, a guard does it.
func StartInGroup(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	g := newGuard(t)
	t.Cleanup(g.release) // behind the cleanups of the test, which end the group
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	g.watch(cmd.Process.Pid)
}
