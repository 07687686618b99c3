// SPDX-License-Identifier: MIT

package sys

import (
	"bytes"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Why a datagram was not taken. Values, not wrapped errors: the send path of
// the bus meets them a hundred thousand times a second when a peer is stopped.
var (
	// ErrBusFull says that the channel has no room: wait until it is writable.
	ErrBusFull = errors.New("sys: channel is full")
	// ErrBusShort says that the kernel is short of memory or of descriptors in
	// flight: the channel may well be writable, so only time helps.
	ErrBusShort = errors.New("sys: kernel is short of buffers or descriptors")
	// ErrBusEmpty says that no datagram waits.
	ErrBusEmpty = errors.New("sys: channel is empty")
	// ErrBusCut says that a datagram or its descriptor did not fit and is lost.
	ErrBusCut = errors.New("sys: datagram arrived cut")
)

// busOOBBytes holds the control message of one passed descriptor, and of a
// few more, so that an unexpected one is seen and closed.
const busOOBBytes = 64

// Seals of a frame body: nobody can change what was sent.
const busFrameSeals = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE

// Seals of a shared page: its words change, its size never does, so that no
// process can turn another one's access into SIGBUS.
const busPageSeals = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW

// BusPair makes one channel: a pair of connected SOCK_DGRAM sockets, closed on
// exec. What is written to the second end is read from the first.
func BusPair() (read, write int, err error) {
	const kind = unix.SOCK_DGRAM | unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK
	fds, err := unix.Socketpair(unix.AF_UNIX, kind, 0)
	if err != nil {
		return -1, -1, fmt.Errorf("socketpair: %w", err)
	}
	return fds[0], fds[1], nil
}

// BusSendBuffer asks for a send buffer of so many bytes, past the system's
// limit where the process may, and returns what the kernel gave.
func BusSendBuffer(fd, bytes int) int {
	err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, bytes)
	if err != nil {
		// Less room is not an error: the caller reads what there is.
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, bytes)
	}
	got, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF)
	if err != nil {
		return 0
	}
	return got
}

// BusCheck says why fd cannot be an end of a channel.
func BusCheck(fd int) error {
	domain, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil {
		return err
	}
	kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil {
		return err
	}
	if domain != unix.AF_UNIX || kind != unix.SOCK_DGRAM {
		return errors.New("not a unix datagram socket")
	}
	return nil
}

// BusDup returns a second descriptor for the same socket, non-blocking and
// closed on exec, so that an owner that closes its own never closes fd.
func BusDup(fd int) (int, error) {
	dup, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	if err := unix.SetNonblock(dup, true); err != nil {
		return -1, errors.Join(err, unix.Close(dup))
	}
	return dup, nil
}

// BusClose closes a descriptor.
func BusClose(fd int) error { return unix.Close(fd) }

// busRawMax is the longest datagram that is sent without a word to Go's scheduler, which
// costs a tenth of what the call does. No call here waits for anything but its own copy.
const busRawMax = 16 << 10

// BusSend sends one datagram, with the descriptor pass when it is not -1. It
// never waits, whatever mode the socket is in: the mode is shared with every
// process that inherited it.
func BusSend(fd int, data []byte, pass int) error {
	const flags = unix.MSG_DONTWAIT | unix.MSG_NOSIGNAL
	for {
		var err error
		if pass < 0 && len(data) > 0 && len(data) <= busRawMax {
			// sendto spares the kernel the list of what sendmsg may be given.
			_, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd),
				uintptr(unsafe.Pointer(&data[0])), uintptr(len(data)), flags, 0, 0)
			if errno == 0 {
				return nil
			}
			err = errno
		} else {
			_, err = unix.SendmsgN(fd, data, busOOB(pass), nil, flags)
		}
		switch err {
		case nil:
			return nil
		case unix.EINTR:
			continue
		case unix.EAGAIN:
			return ErrBusFull
		case unix.ENOBUFS, unix.ENOMEM, unix.ETOOMANYREFS:
			return ErrBusShort
		}
		return err
	}
}

// busOOB is the control message that passes a descriptor; nil for -1.
func busOOB(pass int) []byte {
	if pass < 0 {
		return nil
	}
	return unix.UnixRights(pass)
}

// BusRecv receives one datagram into buf, which is not empty, without waiting. pass is
// the descriptor that came with it, or -1; the caller closes it.
func BusRecv(fd int, buf []byte) (n, pass int, err error) {
	var oob [busOOBBytes]byte
	const flags = unix.MSG_DONTWAIT | unix.MSG_CMSG_CLOEXEC
	iov := unix.Iovec{Base: &buf[0]}
	iov.SetLen(len(buf))
	msg := unix.Msghdr{Iov: &iov}
	msg.SetIovlen(1)
	got, errno := uintptr(0), unix.EINTR
	for errno == unix.EINTR {
		msg.Control = &oob[0]
		msg.SetControllen(len(oob))
		got, _, errno = unix.RawSyscall(unix.SYS_RECVMSG, uintptr(fd),
			uintptr(unsafe.Pointer(&msg)), flags)
	}
	switch errno {
	case 0:
	case unix.EAGAIN:
		return 0, -1, ErrBusEmpty
	default:
		return 0, -1, errno
	}
	n, pass = int(got), -1
	if msg.Controllen > 0 {
		pass = busRights(bytes.Clone(oob[:msg.Controllen])) // oob stays off the heap
	}
	if msg.Flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0 {
		return n, pass, ErrBusCut
	}
	return n, pass, nil
}

// busRights returns the first descriptor of a control message and closes any
// other: a peer may not fill this process's table.
func busRights(oob []byte) int {
	pass := -1
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return pass
	}
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			continue
		}
		for _, fd := range fds {
			if pass < 0 {
				pass = fd
				continue
			}
			_ = unix.Close(fd)
		}
	}
	return pass
}

// BusWritable waits until fd takes a datagram, or for so long.
func BusWritable(fd int, limit time.Duration) bool {
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
	n, err := unix.Poll(poll, int(limit.Milliseconds()))
	return err == nil && n > 0
}

// BusSealed puts body into an anonymous file that nobody can change.
func BusSealed(body []byte) (int, error) {
	fd, err := busMemfd("m0-frame")
	if err != nil {
		return -1, err
	}
	for rest := body; len(rest) > 0; {
		n, err := unix.Write(fd, rest)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return -1, errors.Join(fmt.Errorf("write: %w", err), unix.Close(fd))
		}
		rest = rest[n:]
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, busFrameSeals); err != nil {
		return -1, errors.Join(fmt.Errorf("seal: %w", err), unix.Close(fd))
	}
	return fd, nil
}

// BusReadSealed reads a body of exactly n bytes from a sealed file.
func BusReadSealed(fd, n int) ([]byte, error) {
	if err := busSealedSize(fd, busFrameSeals, int64(n)); err != nil {
		return nil, err
	}
	body := make([]byte, n)
	for at := 0; at < n; {
		m, err := unix.Pread(fd, body[at:], int64(at))
		switch {
		case err == unix.EINTR:
		case err != nil:
			return nil, err
		case m == 0:
			return nil, errors.New("sealed file is shorter than its size")
		}
		at += max(m, 0)
	}
	return body, nil
}

// BusShared makes a zeroed shared page of so many words and maps it. The
// mapping lives as long as the process.
func BusShared(words int) ([]atomic.Uint64, int, error) {
	fd, err := busMemfd("m0-page")
	if err != nil {
		return nil, -1, err
	}
	if err := unix.Ftruncate(fd, int64(words)*8); err != nil {
		return nil, -1, errors.Join(fmt.Errorf("ftruncate: %w", err), unix.Close(fd))
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, busPageSeals); err != nil {
		return nil, -1, errors.Join(fmt.Errorf("seal: %w", err), unix.Close(fd))
	}
	page, err := BusMap(fd, words)
	if err != nil {
		return nil, -1, errors.Join(err, unix.Close(fd))
	}
	return page, fd, nil
}

// BusMap maps the words of a page made by BusShared; so many at most.
func BusMap(fd, wordsMax int) ([]atomic.Uint64, error) {
	if err := busSealedSize(fd, busPageSeals, -1); err != nil {
		return nil, err
	}
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return nil, err
	}
	if stat.Size == 0 || stat.Size%8 != 0 || stat.Size > int64(wordsMax)*8 {
		return nil, fmt.Errorf("%d bytes, want a multiple of 8 up to %d", stat.Size, wordsMax*8)
	}
	mem, err := unix.Mmap(fd, 0, int(stat.Size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mmap: %w", err)
	}
	// A mapping is page-aligned, so every word is aligned for atomics.
	return unsafe.Slice((*atomic.Uint64)(unsafe.Pointer(&mem[0])), len(mem)/8), nil
}

// Uptime is the monotonic clock of the system, the same in every process.
func Uptime() time.Duration {
	var now unix.Timespec
	// CLOCK_MONOTONIC cannot fail on any kernel that runs Go.
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	return time.Duration(now.Nano())
}

// busSealedSize checks that fd carries the seals and, unless bytes is -1, has
// exactly that size.
func busSealedSize(fd, seals int, bytes int64) error {
	got, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	if err != nil || got&seals != seals {
		return errors.New("not a sealed memory file")
	}
	if bytes < 0 {
		return nil
	}
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return err
	}
	if stat.Size != bytes {
		return fmt.Errorf("sealed file of %d bytes, announced %d", stat.Size, bytes)
	}
	return nil
}

// busMemfd makes an anonymous file that can be sealed. Kernels before 6.3 do
// not know the flag that forbids executing it.
func busMemfd(name string) (int, error) {
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate(name, flags|unix.MFD_NOEXEC_SEAL)
	if err == unix.EINVAL {
		fd, err = unix.MemfdCreate(name, flags)
	}
	if err != nil {
		return -1, fmt.Errorf("memfd_create: %w", err)
	}
	return fd, nil
}
