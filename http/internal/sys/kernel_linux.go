// SPDX-License-Identifier: MIT

package sys

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// An Event is one entry of epoll_wait: Events, Fd, and the generation in Pad.
type Event = unix.EpollEvent

// HasKernel says whether Linux returns a kernel here.
const HasKernel = true

// Linux returns the kernel this process runs on.
func Linux() (Kernel, error) { return linux{}, nil }

type linux struct{}

func (linux) Now() time.Time { return time.Now() }

func (linux) Used() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t) // only a wrong clock is an error
	return time.Duration(t.Nano())
}

func (linux) Poller() (int, error) { return unix.EpollCreate1(unix.EPOLL_CLOEXEC) }

func (linux) Watch(poller, fd int, generation int32, events uint32) error {
	ev := unix.EpollEvent{Events: events, Fd: int32(fd), Pad: generation}
	return unix.EpollCtl(poller, unix.EPOLL_CTL_ADD, fd, &ev)
}

func (linux) Rewatch(poller, fd int, generation int32, events uint32) error {
	ev := unix.EpollEvent{Events: events, Fd: int32(fd), Pad: generation}
	return unix.EpollCtl(poller, unix.EPOLL_CTL_MOD, fd, &ev)
}

func (linux) Unwatch(poller, fd int) error {
	return unix.EpollCtl(poller, unix.EPOLL_CTL_DEL, fd, nil)
}

func (linux) Wait(poller int, events []Event, ms int) (int, error) {
	if ms != 0 || len(events) == 0 {
		return unix.EpollWait(poller, events, ms)
	}
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(poller),
		uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), 0, 0, 0)
	if errno != 0 {
		return -1, errno
	}
	return int(n), nil
}

func (linux) Accept(fd int) (int, netip.AddrPort, error) {
	nfd, from, err := unix.Accept4(fd, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
	if err != nil {
		return -1, netip.AddrPort{}, err
	}
	return nfd, addrPort(from), nil
}

func addrPort(from unix.Sockaddr) netip.AddrPort {
	switch sa := from.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), uint16(sa.Port))
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(sa.Addr).Unmap(), uint16(sa.Port))
	}
	return netip.AddrPort{}
}

// PeerOf is the address of the other end; zero when it is not an IP address.
func PeerOf(fd int) netip.AddrPort {
	from, err := unix.Getpeername(fd)
	if err != nil {
		return netip.AddrPort{}
	}
	return addrPort(from)
}

func (linux) CloseWrite(fd int) error { return unix.Shutdown(fd, unix.SHUT_WR) }

func (linux) Close(fd int) error { return unix.Close(fd) }

func (linux) Reset(fd int) error {
	// A socket that cannot be told to reset is closed all the same.
	_ = unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	return unix.Close(fd)
}

func (linux) Unsent(fd int) (int, error) { return unix.IoctlGetInt(fd, unix.SIOCOUTQ) }

func (linux) Unread(fd int) (int, error) { return unix.IoctlGetInt(fd, unix.SIOCINQ) }

func (linux) Hold(fd, lowat int, limit time.Duration) {
	// Not TCP, or an old kernel: the stream works without.
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, lowat)
	if limit > 0 {
		ms := int(limit.Milliseconds())
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, ms)
	}
}

func (linux) Notifier() (int, error) {
	return unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
}

func (linux) Notify(fd int) {
	one := [8]byte{1}
	for {
		// EAGAIN means that the counter is full, so the reader is told anyway.
		if _, err := unix.Write(fd, one[:]); err != unix.EINTR {
			return
		}
	}
}

func (linux) Quiet(fd int) {
	var count [8]byte
	for {
		if _, err := unix.Read(fd, count[:]); err != unix.EINTR {
			return
		}
	}
}

func (linux) Readable(fd int, limit time.Duration) bool {
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, int(limit/time.Millisecond))
	return err == nil && n > 0
}

func (linux) Reserve() (int, error) {
	return unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
}

func (linux) Timer() (Timer, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("sys: timerfd_create: %w", err)
	}
	// The file is in Go's netpoller, which is how Wait blocks no thread. Its own
	// Fd method would make it blocking, so the number is kept beside it.
	return &timerfd{fd: fd, file: os.NewFile(uintptr(fd), "timerfd")}, nil
}

type timerfd struct {
	fd   int
	file *os.File
}

// Arm cannot fail: the descriptor is a timer and the value is in range.
func (t *timerfd) Arm(d time.Duration) {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(max(d, 1)))}
	_ = unix.TimerfdSettime(t.fd, 0, &spec, nil)
}

func (t *timerfd) Disarm() {
	_ = unix.TimerfdSettime(t.fd, 0, &unix.ItimerSpec{}, nil)
}

func (t *timerfd) Wait() bool {
	var count [8]byte
	_, err := t.file.Read(count[:])
	return err == nil
}

func (t *timerfd) Close() error { return t.file.Close() }

// TakeListener returns a descriptor of its own for ln and closes ln, so that
// Go's netpoller does not wake for each connection that the loop accepts.
func TakeListener(ln net.Listener) (int, error) {
	sc, isSocket := ln.(syscall.Conn)
	if !isSocket {
		return -1, fmt.Errorf("sys: a %T has no descriptor", ln)
	}
	if u, isUnix := ln.(*net.UnixListener); isUnix {
		u.SetUnlinkOnClose(false) // the socket file lives as long as the server
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return -1, fmt.Errorf("sys: listener: %w", err)
	}
	fd, dupErr := -1, error(nil)
	err = raw.Control(func(own uintptr) {
		fd, dupErr = unix.FcntlInt(own, unix.F_DUPFD_CLOEXEC, 0)
	})
	if err = errors.Join(err, dupErr); err != nil {
		return -1, fmt.Errorf("sys: listener: %w", err)
	}
	if err := PrepareListener(fd); err != nil {
		return -1, errors.Join(err, unix.Close(fd))
	}
	return fd, ln.Close()
}

// PrepareListener makes fd non-blocking and sets what connections inherit.
func PrepareListener(fd int) error {
	if err := unix.SetNonblock(fd, true); err != nil {
		return fmt.Errorf("sys: listener: %w", err)
	}
	// Not TCP: nothing to say.
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	return nil
}

// PrepareConn makes a connected descriptor from elsewhere non-blocking.
func PrepareConn(fd int) error { return unix.SetNonblock(fd, true) }

// ConnOf makes a net.Conn of fd and takes it over.
func ConnOf(fd int) (net.Conn, error) {
	f := os.NewFile(uintptr(fd), "connection")
	c, err := net.FileConn(f) // works on a duplicate
	return c, errors.Join(err, f.Close())
}
