// SPDX-License-Identifier: MIT

//go:build linux && race

package sys

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// The wrappers of x/sys tell the race detector that every read comes after
// every write. That hides a connection used by two owners, so race builds call
// the kernel directly.

func (linux) Read(fd int, p []byte) (int, error) { return rawIO(unix.SYS_READ, fd, p) }

func (linux) Write(fd int, p []byte) (int, error) { return rawIO(unix.SYS_WRITE, fd, p) }

func rawIO(call uintptr, fd int, p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	n, _, errno := unix.Syscall(call, uintptr(fd),
		uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)))
	if errno != 0 {
		return -1, errno
	}
	return int(n), nil
}
