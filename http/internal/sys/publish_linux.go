// SPDX-License-Identifier: MIT

package sys

import "golang.org/x/sys/unix"

// PublishPeer returns the effective user of the process that connected to, or
// listens at, the other end of a unix socket, and its process id (SO_PEERCRED,
// unix(7)). The kernel vouches for both as they were at that moment.
func PublishPeer(fd int) (uid, pid int, err error) {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return -1, 0, err
	}
	return int(cred.Uid), int(cred.Pid), nil
}
