// SPDX-License-Identifier: MIT

//go:build darwin || freebsd

package sys

import "golang.org/x/sys/unix"

// PublishPeer returns the effective user of the other end of a unix socket
// (LOCAL_PEERCRED, unix(4)). The process id is not known here.
func PublishPeer(fd int) (uid, pid int, err error) {
	cred, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return -1, 0, err
	}
	return int(cred.Uid), 0, nil
}
