// SPDX-License-Identifier: MIT

//go:build !linux

package sys

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"runtime"
)

// An Event has the shape of an epoll entry; see the Linux file.
type Event struct {
	Events uint32
	Fd     int32
	Pad    int32
}

// HasKernel says whether Linux returns a kernel here.
const HasKernel = false

var errNoKernel = fmt.Errorf("sys: no epoll on %s: %w", runtime.GOOS, errors.ErrUnsupported)

// Linux is not available here.
func Linux() (Kernel, error) { return nil, errNoKernel }

// PeerOf is not available here.
func PeerOf(fd int) netip.AddrPort { return netip.AddrPort{} }

// TakeListener is not available here.
func TakeListener(ln net.Listener) (int, error) { return -1, errNoKernel }

// PrepareListener is not available here.
func PrepareListener(fd int) error { return errNoKernel }

// PrepareConn is not available here.
func PrepareConn(fd int) error { return errNoKernel }

// ConnOf is not available here.
func ConnOf(fd int) (net.Conn, error) { return nil, errNoKernel }
