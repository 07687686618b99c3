// SPDX-License-Identifier: MIT

package worker

import (
	"os"
	"syscall"
	"testing"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/internal/sys"
)

// BenchmarkHandOver is one connection passed to a sibling: choose, count, send,
// and close the own copy.
func BenchmarkHandOver(b *testing.B) {
	page, pageFD, err := bus.NewPage(2)
	if err != nil {
		b.Fatal(err)
	}
	defer syscall.Close(pageFD)
	channels, err := bus.NewChannels(2)
	if err != nil {
		b.Fatal(err)
	}
	defer channels.Close()
	share, err := NewShare(page, 0, []int{channels.Read[0], channels.Write[1]})
	if err != nil {
		b.Fatal(err)
	}
	defer share.file.Close()
	page.Worker(0).AddConnections(1 << 30)
	sibling := page.Worker(1)
	sibling.Claim(os.Getpid())
	sibling.SetState(bus.Ready)
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer syscall.Close(fds[0])
	defer syscall.Close(fds[1])
	for b.Loop() {
		b.StopTimer()
		sibling.Beat(bus.Uptime())
		conn, err := syscall.Dup(fds[1])
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		if share.Accepted(conn) {
			b.Fatal("the connection was kept")
		}
		b.StopTimer()
		if fd, err := recvConn(channels.Read[1]); err == nil {
			_ = sys.BusClose(fd)
		}
		b.StartTimer()
	}
}

// BenchmarkKept is the cost of sharing for a connection that stays.
func BenchmarkKept(b *testing.B) {
	page, pageFD, err := bus.NewPage(4)
	if err != nil {
		b.Fatal(err)
	}
	defer syscall.Close(pageFD)
	channels, err := bus.NewChannels(4)
	if err != nil {
		b.Fatal(err)
	}
	defer channels.Close()
	share, err := NewShare(page, 0, append([]int{channels.Read[0]}, channels.Write[1:]...))
	if err != nil {
		b.Fatal(err)
	}
	defer share.file.Close()
	for b.Loop() {
		share.Accepted(-1)
		share.Closed()
	}
}
