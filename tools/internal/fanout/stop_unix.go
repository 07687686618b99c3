// SPDX-License-Identifier: MIT

//go:build unix

package fanout

import "syscall"

// stop keeps a process from running, until it is killed.
func stop(pid int) error { return syscall.Kill(pid, syscall.SIGSTOP) }
