// SPDX-License-Identifier: MIT

package client

import (
	"net"
	"runtime"
	"syscall"
	"time"
)

const (
	// spinTime is how long a quick answer is looked for before the goroutine parks.
	// To park and wake takes longer than many an answer on the same machine, and
	// more CPU time.
	spinTime = 30 * time.Microsecond
	// spinSkipMax is how many answers are waited for without looking when looking
	// was in vain again and again: what it costs then is next to nothing.
	spinSkipMax = 256
)

// A peeker reads from a connection without waiting and without a deadline, where
// the system has that. It belongs to the owner of the connection.
type peeker struct {
	raw  syscall.RawConn // nil: cannot peek
	look func(fd uintptr)
	b    []byte
	n    int
	one  [1]byte

	skip  int // answers still to wait for without looking
	fails int // in a row
}

func (p *peeker) of(c net.Conn) {
	sc, ok := c.(syscall.Conn)
	if !ok || !canPeek {
		return
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return
	}
	p.raw = raw
	p.look = func(fd uintptr) { p.n = readNow(fd, p.b) }
}

// read returns how many bytes were there: 0 when the peer has closed, less when
// there are none.
func (p *peeker) read(b []byte) int {
	p.b, p.n = b, 0
	err := p.raw.Control(p.look)
	p.b = nil
	if err != nil {
		return 0
	}
	return p.n
}

// isStale reports whether the peer of a connection that is not in use has closed
// it or sent what nobody asked for. It says no where it cannot know.
func (p *peeker) isStale() bool {
	return p.raw != nil && p.read(p.one[:]) >= 0
}

// spin looks for an answer for a short while, letting others run. It returns 0
// when there is none, or when answers have not been that quick lately.
func (p *peeker) spin(b []byte) int {
	if p.skip > 0 {
		p.skip--
		return 0
	}
	for start := time.Now(); time.Since(start) < spinTime; {
		switch n := p.read(b); {
		case n > 0:
			p.fails = 0
			return n
		case n == 0:
			return 0
		}
		runtime.Gosched()
	}
	p.fails = min(p.fails+1, spinSkipMax)
	p.skip = min(1<<min(p.fails, 30), spinSkipMax)
	return 0
}
