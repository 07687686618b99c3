// SPDX-License-Identifier: MIT

//go:build unix

package doctor

import (
	"os/exec"
	"syscall"
)

// endWithChildren makes the command's bound hold for what it starts, too.
func endWithChildren(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
