// SPDX-License-Identifier: MIT

//go:build !linux

package sys

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"
)

// The errors of the bus's channels; see the Linux file.
var (
	ErrBusFull  = errors.New("sys: channel is full")
	ErrBusShort = errors.New("sys: kernel is short of buffers or descriptors")
	ErrBusEmpty = errors.New("sys: channel is empty")
	ErrBusCut   = errors.New("sys: datagram arrived cut")
)

var errNoBus = fmt.Errorf("no channels between processes on %s: %w",
	runtime.GOOS, errors.ErrUnsupported)

var started = time.Now()

// BusPair is not available here.
func BusPair() (read, write int, err error) { return -1, -1, errNoBus }

// BusSendBuffer is not available here.
func BusSendBuffer(fd, bytes int) int { return 0 }

// BusCheck is not available here.
func BusCheck(fd int) error { return errNoBus }

// BusDup is not available here.
func BusDup(fd int) (int, error) { return -1, errNoBus }

// BusClose is not available here.
func BusClose(fd int) error { return errNoBus }

// BusSend is not available here.
func BusSend(fd int, data []byte, pass int) error { return errNoBus }

// BusRecv is not available here.
func BusRecv(fd int, buf []byte) (n, pass int, err error) { return 0, -1, errNoBus }

// BusWritable is not available here.
func BusWritable(fd int, limit time.Duration) bool { return false }

// BusSealed is not available here.
func BusSealed(body []byte) (int, error) { return -1, errNoBus }

// BusReadSealed is not available here.
func BusReadSealed(fd, n int) ([]byte, error) { return nil, errNoBus }

// BusShared is not available here.
func BusShared(words int) ([]atomic.Uint64, int, error) { return nil, -1, errNoBus }

// BusMap is not available here.
func BusMap(fd, wordsMax int) ([]atomic.Uint64, error) { return nil, errNoBus }

// Uptime is a monotonic clock; here it is this process's own, which is enough
// for the one process that there is.
func Uptime() time.Duration { return time.Since(started) }
