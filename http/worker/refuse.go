// SPDX-License-Identifier: MIT

package worker

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// refuseMax bounds what a client that does not read, or has nothing to say, holds
// up the end of a service with.
const refuseMax = time.Second

// refusal is what a request gets for which every worker came too late.
const refusal = "HTTP/1.1 503 Service Unavailable\r\n" +
	"Retry-After: 1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"

// tlsHandshake is the first byte of a connection that speaks TLS, to which the
// supervisor, without certificates, has nothing to say.
const tlsHandshake = 0x16

// refuse empties every channel at the end of a service: a connection that a
// worker has accepted is answered, not reset by the end of this process.
func (f *pageFloor) refuse() {
	if f.page == nil || f.handed.Accept == nil {
		return
	}
	var all sync.WaitGroup
	defer all.Wait()
	until := time.Now().Add(refuseMax)
	for place := range f.page.Workers() {
		for fd, ok := f.takeOut(place); ok; fd, ok = f.takeOut(place) {
			if fd < 0 {
				continue
			}
			f.log.Warn("worker: refused a connection, no worker is left for it", "place", place)
			all.Go(func() { refuseOne(fd, until) })
		}
	}
}

// refuseOne answers and lets the client read it: unread bytes of a request would
// make the close a reset.
func refuseOne(fd int, until time.Time) {
	conn, err := connOf(fd)
	if err != nil {
		return
	}
	defer conn.Close()
	_ = conn.SetDeadline(until)
	var first [1]byte
	if n, _ := conn.Read(first[:]); n == 0 {
		return
	}
	if first[0] != tlsHandshake {
		_, _ = io.WriteString(conn, refusal) // who does not take it is closed as well
	}
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	_, _ = io.Copy(io.Discard, conn) // until it closes, or until is over
}

// connOf makes fd, which it closes, a connection.
func connOf(fd int) (net.Conn, error) {
	file := os.NewFile(uintptr(fd), "connection")
	if file == nil {
		return nil, os.ErrInvalid
	}
	defer file.Close()
	return net.FileConn(file)
}
