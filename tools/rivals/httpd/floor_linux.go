// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"fmt"
	"net"
	"syscall"
)

// floorEvents is how many events one wait brings.
const floorEvents = 128

// serveFloor is what no server of this answer can do without, in Go: one epoll set, a
// read for each request, the end of its head, and a write. It looks at nothing else, and
// knows neither time nor limits nor handlers.
func serveFloor(ln net.Listener) error {
	file, err := ln.(*net.TCPListener).File()
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	listener := int(file.Fd())
	poller, err := syscall.EpollCreate1(0)
	if err == nil {
		err = watch(poller, listener)
	}
	answer := fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: %s\r\n"+
		"Date: Thu, 01 Jan 1970 00:00:00 GMT\r\nContent-Length: %d\r\n\r\n%s",
		contentType, len(body), body)
	var in [64 << 10]byte
	var events [floorEvents]syscall.EpollEvent
	for err == nil {
		var n int
		if n, err = syscall.EpollWait(poller, events[:], -1); err == syscall.EINTR {
			err = nil
			continue
		}
		for _, ev := range events[:max(n, 0)] {
			if fd := int(ev.Fd); fd == listener {
				err = acceptFloor(poller, listener)
			} else if !answerFloor(fd, in[:], answer) {
				_ = syscall.Close(fd)
			}
		}
	}
	return err
}

func watch(poller, fd int) error {
	ev := syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(fd)}
	return syscall.EpollCtl(poller, syscall.EPOLL_CTL_ADD, fd, &ev)
}

func acceptFloor(poller, listener int) error {
	fd, _, err := syscall.Accept4(listener, syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC)
	if err != nil {
		return nil // it went away again
	}
	_ = syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1)
	return watch(poller, fd)
}

// answerFloor answers the requests of one read; wrk sends whole ones.
func answerFloor(fd int, in, answer []byte) bool {
	n, err := syscall.Read(fd, in)
	if n <= 0 || err != nil {
		return err == syscall.EAGAIN
	}
	requests := bytes.Count(in[:n], []byte("\r\n\r\n"))
	if requests == 1 {
		_, err = syscall.Write(fd, answer)
	} else {
		_, err = syscall.Write(fd, bytes.Repeat(answer, requests))
	}
	return err == nil
}
