// SPDX-License-Identifier: MIT

// Command wsecho sends WebSocket messages of 64 bytes to a server that sends them
// back, the next on a connection when the last has come, and reports how many came
// and how long they took. One thread drives all connections, so that the load
// costs as little as it can. With -idle it opens that many, has one message each sent
// back, and reports what the server says at /memory that they take. It is for Linux
// only.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"time"
)

const (
	messageBytes = 64
	replyBytes   = 2 + messageBytes // of a server: no mask
	latencyMax   = 1 << 20          // microseconds; longer ones count as this
)

// A result is what a run has to say, for programs.
type result struct {
	Messages int64   `json:"messages"`
	Rate     float64 `json:"rate"`
	P50      float64 `json:"p50_ms"`
	P99      float64 `json:"p99_ms"`
}

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "the server")
	path := flag.String("path", "/", "where it takes WebSockets")
	conns := flag.Int("conns", 32, "connections")
	seconds := flag.Int("seconds", 2, "length of the run")
	idle := flag.Int("idle", 0, "connections that are only held, to see what they take")
	flag.Parse()
	if *idle > 0 {
		report(hold(*addr, *path, *idle))
		return
	}
	report(run(*addr, *path, *conns, time.Duration(*seconds)*time.Second))
}

// report prints a result.
func report[T any](r T, err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "wsecho:", err)
		os.Exit(1)
	}
	if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
		os.Exit(1)
	}
}

// A talk is one connection.
type talk struct {
	file *os.File // keeps fd open
	fd   int
	sent time.Time
	buf  [replyBytes]byte
	n    int // bytes of the reply so far
}

func run(addr, path string, conns int, length time.Duration) (result, error) {
	poll, err := syscall.EpollCreate1(0)
	if err != nil {
		return result{}, err
	}
	talks := make([]*talk, conns)
	for i := range talks {
		if talks[i], err = open(addr, path); err != nil {
			return result{}, err
		}
		event := syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(i)}
		if err := syscall.EpollCtl(poll, syscall.EPOLL_CTL_ADD, talks[i].fd, &event); err != nil {
			return result{}, err
		}
	}
	for _, t := range talks {
		if err := t.send(time.Now()); err != nil {
			return result{}, err
		}
	}
	return drive(poll, talks, length)
}

// open connects and switches to WebSocket; the descriptor does not block.
func open(addr, path string) (*talk, error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	defer c.Close() // the talk has a descriptor of its own
	if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return nil, err
	}
	_, err = fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\n"+
		"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"+
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", path, addr)
	if err != nil {
		return nil, err
	}
	var head []byte
	for one := make([]byte, 1); !bytes.HasSuffix(head, []byte("\r\n\r\n")); {
		if _, err := c.Read(one); err != nil {
			return nil, fmt.Errorf("opening: %w after %q", err, head)
		}
		head = append(head, one[0])
	}
	if !strings.HasPrefix(string(head), "HTTP/1.1 101 ") {
		return nil, fmt.Errorf("opening: %.40q", head)
	}
	f, err := c.(*net.TCPConn).File()
	if err != nil {
		return nil, err
	}
	t := &talk{file: f, fd: int(f.Fd())}
	return t, syscall.SetNonblock(t.fd, true)
}

// message is the masked frame of a binary message, payload its content.
var message, payload = frame()

func frame() (whole, content []byte) {
	content = bytes.Repeat([]byte("0123456789abcdef"), messageBytes/16)
	mask := [4]byte{0x37, 0xfa, 0x21, 0x3d}
	whole = append([]byte{0x82, 0x80 | messageBytes}, mask[:]...)
	for i, b := range content {
		whole = append(whole, b^mask[i%4])
	}
	return whole, content
}

// send sends the next message. It fits the socket's buffer, which is empty.
func (t *talk) send(now time.Time) error {
	t.n, t.sent = 0, now
	n, err := syscall.Write(t.fd, message)
	if err != nil || n != len(message) {
		return fmt.Errorf("sent %d bytes: %w", n, err)
	}
	return nil
}

// receive reads what is there and reports whether the reply is whole.
func (t *talk) receive() (bool, error) {
	n, err := syscall.Read(t.fd, t.buf[t.n:])
	if err == syscall.EAGAIN || err == syscall.EINTR {
		return false, nil
	}
	if err != nil || n == 0 {
		return false, fmt.Errorf("the server closed: %w", err)
	}
	if t.n += n; t.n < replyBytes {
		return false, nil
	}
	if t.buf[0] != 0x82 || t.buf[1] != messageBytes || !bytes.Equal(t.buf[2:], payload) {
		return false, fmt.Errorf("sent %q, got %q", payload, t.buf)
	}
	return true, nil
}

func drive(poll int, talks []*talk, length time.Duration) (result, error) {
	events := make([]syscall.EpollEvent, len(talks))
	took := make([]int64, latencyMax+1) // messages by microseconds
	var messages int64
	start := time.Now()
	for now := start; now.Sub(start) < length; now = time.Now() {
		n, err := syscall.EpollWait(poll, events, 1000)
		if err != nil && err != syscall.EINTR {
			return result{}, err
		}
		for _, e := range events[:max(n, 0)] {
			t := talks[e.Fd]
			whole, err := t.receive()
			if err != nil {
				return result{}, err
			}
			if !whole {
				continue
			}
			now := time.Now()
			took[min(now.Sub(t.sent).Microseconds(), latencyMax)]++
			messages++
			if err := t.send(now); err != nil {
				return result{}, err
			}
		}
	}
	return result{Messages: messages, Rate: float64(messages) / time.Since(start).Seconds(),
		P50: quantile(took, messages, 0.5), P99: quantile(took, messages, 0.99)}, nil
}

// quantile is in milliseconds.
func quantile(took []int64, messages int64, q float64) float64 {
	var seen int64
	for us, n := range took {
		if seen += n; float64(seen) >= q*float64(messages) {
			return float64(us) / 1000
		}
	}
	return 0
}
