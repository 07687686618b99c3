// SPDX-License-Identifier: MIT

//go:build unix

package client

import "syscall"

const canPeek = true

// readNow reads from a socket that does not block: -1 when nothing is there, 0
// for its end or an error.
func readNow(fd uintptr, b []byte) int {
	for {
		n, err := syscall.Read(int(fd), b)
		switch err {
		case nil:
			return n
		case syscall.EAGAIN:
			return -1
		case syscall.EINTR:
			continue
		}
		return 0
	}
}
