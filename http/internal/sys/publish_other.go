// SPDX-License-Identifier: MIT

//go:build !linux && !darwin && !freebsd

package sys

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
)

// HasPublish says whether a unix socket can tell who is at its other end here.
const HasPublish = false

var errNoPublish = fmt.Errorf("sys: no peer of a socket on %s: %w",
	runtime.GOOS, errors.ErrUnsupported)

// PublishPeer is not available here.
func PublishPeer(fd int) (uid, pid int, err error) { return -1, 0, errNoPublish }

// PublishLock is not available here.
func PublishLock(dir *os.File) error { return errNoPublish }

// PublishOwner is not available here.
func PublishOwner(info fs.FileInfo) int { return -1 }
