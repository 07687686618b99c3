// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"net"
	"strconv"
	"syscall"
	"unsafe"
)

const (
	floorRead   = 64 << 10
	floorEvents = 256
)

// A floor is what no server can be below: one thread that waits for requests and
// writes an event to every stream in turn. It drops what a socket does not take.
type floor struct {
	poll, ln int
	streams  []int
	requests map[int][]byte // of connections that are no stream
	buf      []byte
}

func serveFloor(ln net.Listener) error {
	file, err := ln.(*net.TCPListener).File()
	if err != nil {
		return err
	}
	poll, err := syscall.EpollCreate1(0)
	if err != nil {
		return err
	}
	f := &floor{poll: poll, ln: int(file.Fd()), requests: map[int][]byte{},
		buf: make([]byte, floorRead)}
	if err := syscall.SetNonblock(f.ln, true); err != nil {
		return err
	}
	if err := f.watch(f.ln); err != nil {
		return err
	}
	events := make([]syscall.EpollEvent, floorEvents)
	for {
		n, err := syscall.EpollWait(poll, events, -1)
		if err != nil && err != syscall.EINTR {
			return err
		}
		for _, e := range events[:max(n, 0)] {
			if int(e.Fd) == f.ln {
				f.accept()
			} else {
				f.read(int(e.Fd))
			}
		}
	}
}

func (f *floor) watch(fd int) error {
	event := syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(fd)}
	return syscall.EpollCtl(f.poll, syscall.EPOLL_CTL_ADD, fd, &event)
}

func (f *floor) accept() {
	for {
		fd, _, err := syscall.Accept4(f.ln, syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC)
		if err != nil {
			return
		}
		_ = syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1)
		if f.watch(fd) != nil {
			_ = syscall.Close(fd)
		}
	}
}

// read takes what came on a connection, and answers when it is a request.
func (f *floor) read(fd int) {
	n, err := syscall.Read(fd, f.buf)
	if n <= 0 {
		if err != syscall.EAGAIN {
			delete(f.requests, fd)
			_ = syscall.Close(fd)
		}
		return
	}
	request := append(f.requests[fd], f.buf[:n]...)
	f.requests[fd] = request
	head, body, ok := bytes.Cut(request, []byte("\r\n\r\n"))
	if !ok || len(body) < contentLength(head) {
		return
	}
	delete(f.requests, fd)
	switch {
	case bytes.HasPrefix(head, []byte("GET /events ")):
		write(fd, []byte("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"))
		f.streams = append(f.streams, fd)
		return
	case bytes.HasPrefix(head, []byte("POST /pub ")):
		event := eventOf(body)
		for _, s := range f.streams {
			write(s, event)
		}
	}
	write(fd, []byte("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
}

// write does without Go's scheduler, which hands the loop from thread to thread: on a busy
// machine those that just woke get more of the processor than what computes.
func write(fd int, p []byte) {
	_, _, _ = syscall.RawSyscall(syscall.SYS_WRITE, uintptr(fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
}

func contentLength(head []byte) int {
	_, after, _ := bytes.Cut(head, []byte("\r\nContent-Length: "))
	value, _, _ := bytes.Cut(after, []byte("\r\n"))
	n, err := strconv.Atoi(string(value))
	if err != nil {
		return 0
	}
	return n
}
