// SPDX-License-Identifier: MIT

//go:build unix

package smoketest

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

const envVictim = "M0_SMOKETEST_VICTIM"

// TestKilledTestLeavesNoService kills a test with SIGKILL while it runs a
// service of two processes. All of them hold the write end of a pipe, which
// ends when nobody is left.
func TestKilledTestLeavesNoService(t *testing.T) {
	if os.Getenv(envVictim) != "" {
		t.Skip("this is the victim")
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	test := exec.Command(os.Args[0], "-test.run=^TestVictim$")
	test.Env = append(os.Environ(), envVictim+"=1")
	test.ExtraFiles = []*os.File{w}
	if err := test.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if err := r.SetReadDeadline(time.Now().Add(Patience)); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(r)
	if line, err := lines.ReadString('\n'); line != "up\n" {
		t.Errorf("the service said %q, %v; want up", line, err)
	}
	soon := time.Now().Add(Patience / 2)
	if err := errors.Join(test.Process.Kill(), r.SetReadDeadline(soon)); err != nil {
		t.Fatal(err)
	}
	_ = test.Wait() // killed
	if rest, err := io.ReadAll(lines); err != nil {
		t.Errorf("the service outlives its test: read %q, %v; want the end", rest, err)
	}
}

// TestVictim is the test that is killed.
func TestVictim(t *testing.T) {
	if os.Getenv(envVictim) == "" {
		t.Skip("a part of TestKilledTestLeavesNoService")
	}
	pipe := os.NewFile(3, "pipe")
	cmd := exec.Command("/bin/sh", "-c", "sleep 20 & wait")
	cmd.ExtraFiles = []*os.File{pipe}
	service := Run(t, cmd)
	if _, err := io.WriteString(pipe, "up\n"); err != nil { // and watched
		t.Fatal(err)
	}
	service.Wait(t)
}

// TestReleasedGuardLeavesTheGroupAlone: what a guard was armed for may be any
// process's number once the test is over.
func TestReleasedGuardLeavesTheGroupAlone(t *testing.T) {
	cmd := exec.Command("/bin/sleep", "30")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	g := newGuard(t)
	g.watch(cmd.Process.Pid)
	g.release()
	if err := cmd.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("signal 0 to the process behind a released guard: %v, want it to run", err)
	}
	_ = cmd.Process.Kill()
	if err := cmd.Wait(); err == nil || err.Error() != "signal: killed" {
		t.Errorf("Wait = %v, want killed by this test", err)
	}
}
