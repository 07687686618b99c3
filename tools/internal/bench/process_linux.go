// SPDX-License-Identifier: MIT

package bench

import (
	"os/exec"
	"syscall"
	"time"
)

// dieWithParent lets the kernel end the server when the tools are killed, and keeps
// the terminal's signals from it.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// endGroup ends what is left of the group of a server that dieWithParent gave one.
func endGroup(pid int) {
	if pid > 1 {
		_ = syscall.Kill(-pid, syscall.SIGKILL)
	}
}

// endedCPU returns the time of the commands that have ended and were waited for.
// A server that runs is not in it.
func endedCPU() time.Duration {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_CHILDREN, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
