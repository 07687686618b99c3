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

// Read and Write are recvfrom and sendto, which spare the kernel what read and write do
// for files: 2 to 5 % of the call.

func (linux) Read(fd int, p []byte) (int, error) { return rawIO(unix.SYS_RECVFROM, fd, p) }

func (linux) Write(fd int, p []byte) (int, error) { return rawIO(unix.SYS_SENDTO, fd, p) }

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
		n, _, errno = unix.RawSyscall6(call, uintptr(fd),
			uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)), 0, 0, 0)
	} else {
		n, _, errno = unix.Syscall6(call, uintptr(fd),
			uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)), 0, 0, 0)
	}
	if errno != 0 {
		return -1, errno
	}
	return int(n), nil
}
