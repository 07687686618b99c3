// SPDX-License-Identifier: MIT

//go:build linux || darwin || freebsd

package sys

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// HasPublish says whether a unix socket can tell who is at its other end here.
const HasPublish = true

// PublishLock waits until no other process has locked the directory. The lock
// ends when dir is closed.
func PublishLock(dir *os.File) error {
	for {
		err := unix.Flock(int(dir.Fd()), unix.LOCK_EX)
		if err != unix.EINTR {
			return err
		}
	}
}

// PublishOwner is the user that owns a file.
func PublishOwner(info fs.FileInfo) int {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Uid)
	}
	return -1
}
