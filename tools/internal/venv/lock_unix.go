// SPDX-License-Identifier: MIT

//go:build unix

package venv

import (
	"os"
	"syscall"
)

// lock waits until no other process holds the file. It ends with the file.
func lock(f *os.File) error {
	for {
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != syscall.EINTR {
			return err
		}
	}
}
