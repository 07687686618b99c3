// SPDX-License-Identifier: MIT

package sys

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// A BusKernel is every system call of a bus that is open, so that the real bus
// can run over false channels from a seed. Its methods are the functions of the
// same name.
type BusKernel interface {
	Check(fd int) error
	Send(fd int, data []byte, pass int) error
	Recv(fd int, buf []byte) (n, pass int, err error)
	Writable(fd int, limit time.Duration) bool
	Sealed(body []byte) (int, error)
	ReadSealed(fd, n int) ([]byte, error)
	Close(fd int) error
	// Reader waits for what comes in at fd, which stays its owner's.
	Reader(fd int) (BusReader, error)
}

// A BusReader waits at the reading end of a channel.
type BusReader interface {
	// Read calls try, and again whenever there may be something to read, until
	// it returns true. The error is os.ErrDeadlineExceeded or os.ErrClosed.
	Read(try func(fd uintptr) (done bool)) error
	SetReadDeadline(due time.Time) error
	Close() error
}

// SystemBus is the BusKernel of this system.
type SystemBus struct{}

// Check is BusCheck.
func (SystemBus) Check(fd int) error { return BusCheck(fd) }

// Send is BusSend.
func (SystemBus) Send(fd int, data []byte, pass int) error { return BusSend(fd, data, pass) }

// Recv is BusRecv.
func (SystemBus) Recv(fd int, buf []byte) (n, pass int, err error) { return BusRecv(fd, buf) }

// Writable is BusWritable.
func (SystemBus) Writable(fd int, limit time.Duration) bool { return BusWritable(fd, limit) }

// Sealed is BusSealed.
func (SystemBus) Sealed(body []byte) (int, error) { return BusSealed(body) }

// ReadSealed is BusReadSealed.
func (SystemBus) ReadSealed(fd, n int) ([]byte, error) { return BusReadSealed(fd, n) }

// Close is BusClose.
func (SystemBus) Close(fd int) error { return BusClose(fd) }

// Reader waits in the runtime's poller, over a duplicate of fd, so that a silent
// channel costs neither a thread nor a wake-up.
func (SystemBus) Reader(fd int) (BusReader, error) {
	dup, err := BusDup(fd)
	if err != nil {
		return nil, err
	}
	r := &pollReader{file: os.NewFile(uintptr(dup), "bus")}
	// A descriptor that the poller does not take has no deadlines.
	err = r.file.SetReadDeadline(time.Time{})
	if err == nil {
		r.conn, err = r.file.SyscallConn()
	}
	if err != nil {
		return nil, errors.Join(err, r.file.Close())
	}
	return r, nil
}

type pollReader struct {
	file *os.File
	conn syscall.RawConn
}

func (r *pollReader) Read(try func(fd uintptr) bool) error { return r.conn.Read(try) }

func (r *pollReader) SetReadDeadline(due time.Time) error { return r.file.SetReadDeadline(due) }

func (r *pollReader) Close() error { return r.file.Close() }
