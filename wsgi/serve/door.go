// SPDX-License-Identifier: MIT

//go:build cgo && linux

package serve

import (
	"context"
	"net"
	"syscall"
	"time"
)

// doorTimeout bounds what a publisher may still be told when all else is over. It
// ends ahead of leaveGrace.
const doorTimeout = 200 * time.Millisecond

// serveDoor serves the publish socket in this worker, if there is one.
func (h *host) serveDoor() error {
	if h.publishers != nil {
		go func() { _ = h.door.Serve(h.publishers) }() // until closeDoor
	}
	return h.httpDoor.open(&h.o, h.bus, h.log)
}

// closeDoor is the last thing of a worker: exit handlers of the application publish,
// too.
func (h *host) closeDoor() {
	ctx, cancel := context.WithTimeout(context.Background(), doorTimeout)
	defer cancel()
	closed := make(chan struct{})
	go func() { h.httpDoor.close(ctx); close(closed) }()
	if err := h.door.Shutdown(ctx); err != nil {
		h.log.Warn("m0serve: publish socket", "err", err)
	}
	<-closed
	h.bus.Close() // what waits for a sibling gets its last try
}

// descriptor is that of a listener, in a list.
func descriptor(ln net.Listener) (fds []int) {
	conn, ok := ln.(syscall.Conn)
	if !ok {
		return nil
	}
	if raw, err := conn.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { fds = append(fds, int(fd)) })
	}
	return fds
}
