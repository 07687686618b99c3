// SPDX-License-Identifier: MIT

//go:build unix

package diagnosis

import (
	"errors"
	"syscall"
)

func isTaken(err error) bool { return errors.Is(err, syscall.EADDRINUSE) }

func isAbsent(err error) bool { return errors.Is(err, syscall.EADDRNOTAVAIL) }

// fileLimit is how many descriptors a process may have. The Go runtime has
// raised the soft limit to the hard one.
func fileLimit() (uint64, bool) {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return 0, false
	}
	return uint64(limit.Cur), true
}
