// SPDX-License-Identifier: MIT

package server

import (
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"m0serve.dev/http/internal/sys"
)

// A guard is what connections of the fallback pass: the bound on their number, and
// Config.Accepted, which may give one to another process before a byte of it is
// read. It tells Config.Closed of the end of each that stays.
type guard struct {
	accepted func(fd int) (keep bool) // nil: all are kept
	closed   func()                   // nil: nobody counts
	max      int64                    // negative: no bound
	open     atomic.Int64
	dropped  atomic.Uint64 // beyond max
}

// admit says whether conn stays here. Of one that does not, the caller closes its
// own descriptor, and no byte was read.
func (g *guard) admit(conn net.Conn) bool {
	if g.max >= 0 && g.open.Load() >= g.max {
		g.dropped.Add(1)
		return false
	}
	return g.accepted == nil || g.ask(conn)
}

// ask gives Config.Accepted a copy of the descriptor: it closes the one of a
// connection that it gave away, and this one net/http closes.
func (g *guard) ask(conn net.Conn) bool {
	if !sys.HasKernel {
		return g.accepted(-1) // nobody can be given anything here
	}
	dup, err := dupOf(conn)
	if err != nil {
		g.dropped.Add(1) // the descriptor table is full
		return false
	}
	if !g.accepted(dup) {
		return false
	}
	_ = sys.BusClose(dup) // the original stays
	return true
}

func dupOf(conn net.Conn) (dup int, err error) {
	raw, err := conn.(syscall.Conn).SyscallConn()
	if err != nil {
		return -1, err
	}
	var errDup error
	if err := raw.Control(func(fd uintptr) { dup, errDup = sys.BusDup(int(fd)) }); err != nil {
		return -1, err
	}
	return dup, errDup
}

// count makes conn one that tells of its end.
func (g *guard) count(conn net.Conn) net.Conn {
	g.open.Add(1)
	return &counted{Conn: conn, guard: g}
}

// A counted connection tells of its end once.
type counted struct {
	net.Conn
	guard *guard
	once  sync.Once
}

// Close implements net.Conn.
func (c *counted) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() {
		c.guard.open.Add(-1)
		if c.guard.closed != nil {
			c.guard.closed()
		}
	})
	return err
}

// SetLinger lets a stream be cut (package sse).
func (c *counted) SetLinger(seconds int) error {
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		return tcp.SetLinger(seconds)
	}
	return nil
}

// guarded is a listener behind a guard.
type guarded struct {
	net.Listener
	guard *guard
}

// Accept implements net.Listener.
func (l *guarded) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.guard.admit(conn) {
			return l.guard.count(conn), nil
		}
		_ = conn.Close()
	}
}

// adoptions is a listener at which the connections arrive that other processes
// have accepted.
type adoptions struct {
	begin sync.Once
	conns chan net.Conn
	done  chan struct{} // closed by Close
	once  sync.Once
}

// adopt takes fd over. After an error it is still the caller's.
func (a *adoptions) adopt(fd int, g *guard) error {
	dup, err := sys.BusDup(fd)
	if err != nil {
		return err
	}
	file := os.NewFile(uintptr(dup), "adopted")
	conn, err := net.FileConn(file)
	_ = file.Close() // FileConn has a copy
	if err != nil {
		return err
	}
	kept := g.count(conn)
	select {
	case a.conns <- kept:
		_ = sys.BusClose(fd)
		return nil
	case <-a.done:
		g.open.Add(-1)
		_ = conn.Close()
		return ErrClosed
	}
}

// Accept implements net.Listener.
func (a *adoptions) Accept() (net.Conn, error) {
	select {
	case conn := <-a.conns:
		return conn, nil
	case <-a.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (a *adoptions) Close() error {
	a.once.Do(func() { close(a.done) })
	return nil
}

// Addr implements net.Listener. A connection knows its own.
func (a *adoptions) Addr() net.Addr { return &net.TCPAddr{} }
