// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"fmt"
	"net"
	"syscall"
	"time"
)

const (
	readBytes  = 256 << 10
	pollEvents = 512
	openWait   = 30 * time.Second // for the next head to come
	againShare = 10               // one in so many streams may be turned away,
	againLeast = 5                // but this many
	tinyBuffer = 8 << 10          // of the receiving side of a stream that stalls
)

// mark ends the data of every event. Nothing else of a stream holds it.
const mark = '~'

// sources are the addresses that streams come from, in turns, so that the ports of
// one do not run out.
var sources = [][4]byte{{127, 0, 0, 2}, {127, 0, 0, 3}}

// bindNoPort leaves the port to connect, see ip(7). Package syscall has no name for it.
const bindNoPort = 24

// A crowd is the streams of one server. It belongs to one thread.
type crowd struct {
	to      syscall.SockaddrInet4
	request []byte
	pub     publisher
	poll    int
	events  []syscall.EpollEvent
	buf     []byte
	streams []stream
	seen    func(i int, p []byte)        // what a stream got
	lost    func(i int, why error) error // a stream ended; nil: that is the end of all
}

// A stream is one connection, by its place in the crowd.
type stream struct {
	fd    int
	count int // events since the last publish
	open  bool
}

func newCrowd(addr, path string, p publisher) (*crowd, error) {
	tcp, err := net.ResolveTCPAddr("tcp4", addr)
	if err != nil {
		return nil, err
	}
	poll, err := syscall.EpollCreate1(0)
	if err != nil {
		return nil, err
	}
	return &crowd{
		to: syscall.SockaddrInet4{Port: tcp.Port, Addr: [4]byte(tcp.IP.To4())}, pub: p, poll: poll,
		request: fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\n\r\n",
			path, addr),
		events: make([]syscall.EpollEvent, pollEvents), buf: make([]byte, readBytes),
	}, nil
}

// dial connects from one of the sources and asks for the stream. A buffer of 0 is
// the system's. Where bind chooses the port it looks at one after the other until one
// is free, ones that wait after their end among them: with 10,000 streams a run that took
// most of the time. So connect does, and a stream that ends leaves nothing behind.
func (c *crowd) dial(i, buffer int) (int, error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	if buffer > 0 {
		err = syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_RCVBUF, buffer)
	}
	if err == nil {
		err = syscall.SetsockoptLinger(fd, syscall.SOL_SOCKET, syscall.SO_LINGER,
			&syscall.Linger{Onoff: 1})
	}
	if err == nil {
		err = syscall.SetsockoptInt(fd, syscall.IPPROTO_IP, bindNoPort, 1)
	}
	if err == nil {
		err = syscall.Bind(fd, &syscall.SockaddrInet4{Addr: sources[i%len(sources)]})
	}
	if err == nil {
		err = syscall.Connect(fd, &c.to)
	}
	if err == nil {
		_, err = syscall.Write(fd, c.request)
	}
	if err == nil {
		err = syscall.SetNonblock(fd, true)
	}
	if err != nil {
		_ = syscall.Close(fd)
		return 0, fmt.Errorf("stream %d: %w", i, err)
	}
	return fd, nil
}

// open opens streams; one is open when its head has come. A server that turns some
// of them away is asked again.
func (c *crowd) open(n, inflight int) (answer, error) {
	start := time.Now()
	var a answer
	flying := 0
	again := func(i int, why error) error {
		if a.Again++; a.Again > max(againLeast, n/againShare) {
			return fmt.Errorf("%d streams were turned away, at last: %w", a.Again, why)
		}
		_ = syscall.Close(c.streams[i].fd)
		return c.connect(i)
	}
	var bad error
	c.seen = func(i int, p []byte) {
		switch {
		case c.streams[i].open:
		case !bytes.HasPrefix(p, []byte("HTTP/1.1 200 ")):
			bad = again(i, fmt.Errorf("stream %d was answered %.40q", i, p))
		default:
			c.streams[i].open = true
			a.Held, flying = a.Held+1, flying-1
		}
	}
	c.lost = func(i int, why error) error {
		if c.streams[i].open { // a hub that gave up what it had begun
			c.streams[i].open = false
			a.Held, flying = a.Held-1, flying+1
		}
		return again(i, why)
	}
	defer func() { c.lost = nil }()
	for a.Held < n && bad == nil {
		for flying < inflight && len(c.streams) < n {
			c.streams = append(c.streams, stream{})
			if err := c.connect(len(c.streams) - 1); err != nil {
				return a, err
			}
			flying++
		}
		some, err := c.wait(openWait)
		if err != nil {
			return a, err
		}
		if !some {
			return a, fmt.Errorf("%d of %d streams opened, then none", a.Held, n)
		}
	}
	a.OpenMs = ms(time.Since(start))
	return a, bad
}

// connect opens the connection of a stream.
func (c *crowd) connect(i int) error {
	fd, err := c.dial(i, 0)
	if err != nil {
		return err
	}
	c.streams[i].fd = fd
	event := syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(i)}
	return syscall.EpollCtl(c.poll, syscall.EPOLL_CTL_ADD, fd, &event)
}

// stall opens streams that nobody reads.
func (c *crowd) stall(n int) error {
	for i := range n {
		if _, err := c.dial(i, tinyBuffer); err != nil {
			return err
		}
	}
	return nil
}

// wait gives what comes within some time to seen, and reports whether any came. A
// stream that ended is given to lost, and an error without it.
func (c *crowd) wait(most time.Duration) (bool, error) {
	n, err := syscall.EpollWait(c.poll, c.events, max(1, int(most/time.Millisecond)))
	if err != nil && err != syscall.EINTR {
		return false, err
	}
	for _, e := range c.events[:max(n, 0)] {
		i := int(e.Fd)
		got, err := syscall.Read(c.streams[i].fd, c.buf)
		if err == syscall.EAGAIN || err == syscall.EINTR {
			continue
		}
		if got > 0 {
			c.seen(i, c.buf[:got])
			continue
		}
		why := fmt.Errorf("the server ended stream %d: %v", i, err)
		if c.lost != nil {
			why = c.lost(i, why)
		}
		if why != nil {
			return true, why
		}
	}
	return n != 0, nil
}

func ms(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }
