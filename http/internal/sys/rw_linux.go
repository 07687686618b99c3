// SPDX-License-Identifier: MIT

//go:build linux

package sys

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// rawMax is how much may be read or written without a word to Go's scheduler. The
// sockets do not block, so that a call takes no longer than its copy does, and
// the two notes to the scheduler around it cost as much as a short copy. Nothing
// of the collector's can go on in the meantime, hence a bound.
const rawMax = 64 << 10

func (linux) Read(fd int, p []byte) (int, error) { return rawIO(unix.SYS_READ, fd, p) }

func (linux) Write(fd int, p []byte) (int, error) { return rawIO(unix.SYS_WRITE, fd, p) }

// rawIO calls the kernel directly in race builds as well: the wrappers of x/sys tell
// the race detector that every read comes after every write, which hides a
// connection used by two owners.
func rawIO(call uintptr, fd int, p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	var n uintptr
	var errno unix.Errno
	if len(p) <= rawMax { // the pointer is only kept in the list of the call itself
		n, _, errno = unix.RawSyscall(call, uintptr(fd),
			uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)))
	} else {
		n, _, errno = unix.Syscall(call, uintptr(fd),
			uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)))
	}
	if errno != 0 {
		return -1, errno
	}
	return int(n), nil
}
