// SPDX-License-Identifier: MIT

package worker

import (
	"errors"
	"fmt"
	"net"
	"syscall"

	"m0serve.dev/http/internal/sys"
)

// CloseFD closes a descriptor that was made to be handed down.
func CloseFD(fd int) error { return sys.BusClose(fd) }

// ListenerFD returns a descriptor of ln's socket for Handed. It stays open, and
// with it the socket, when ln is closed; see CloseFD.
func ListenerFD(ln net.Listener) (int, error) {
	conn, ok := ln.(syscall.Conn)
	if !ok {
		return -1, fmt.Errorf("worker: a %T has no descriptor to hand down", ln)
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return -1, fmt.Errorf("worker: listener: %w", err)
	}
	var dup int
	var errDup error
	err = raw.Control(func(fd uintptr) { dup, errDup = sys.BusDup(int(fd)) })
	if err := errors.Join(err, errDup); err != nil {
		return -1, fmt.Errorf("worker: listener: %w", err)
	}
	return dup, nil
}
