// SPDX-License-Identifier: MIT

package bus

import (
	"os"
	"sync"
	"time"

	"m0serve.dev/http/internal/sys"
)

// memory is the channel of a bus that lives in one process: both ends, bounded
// like a socket. mu guards queue, bytes and closed.
type memory struct {
	bytesMax int
	filled   chan struct{} // holds a token when frames may wait
	drained  chan struct{} // holds a token when there may be room

	mu     sync.Mutex
	queue  []*packet
	bytes  int
	closed bool
	gone   chan struct{} // closed with the channel
}

func newMemory(bytesMax int) *memory {
	return &memory{
		bytesMax: bytesMax,
		filled:   make(chan struct{}, 1),
		drained:  make(chan struct{}, 1),
		gone:     make(chan struct{}),
	}
}

func (m *memory) send(p *packet) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.bytes > 0 && m.bytes+p.cost > m.bytesMax {
		return sys.ErrBusFull
	}
	m.queue = append(m.queue, p)
	m.bytes += p.cost
	signal(m.filled)
	return nil
}

func (m *memory) wait(limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-m.drained:
		return true
	case <-m.gone:
	case <-timer.C:
	}
	return false
}

func (m *memory) recv(due time.Time) (Frame, error) {
	var late <-chan time.Time
	if !due.IsZero() {
		timer := time.NewTimer(time.Until(due))
		defer timer.Stop()
		late = timer.C
	}
	for {
		f, err := m.try()
		if err != sys.ErrBusEmpty {
			return f, err
		}
		select {
		case <-m.filled:
		case <-late:
			return Frame{}, os.ErrDeadlineExceeded
		case <-m.gone:
		}
	}
}

func (m *memory) try() (Frame, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return Frame{}, os.ErrClosed
	}
	if len(m.queue) == 0 {
		return Frame{}, sys.ErrBusEmpty
	}
	p := m.queue[0]
	m.queue[0] = nil
	m.queue = m.queue[1:]
	m.bytes -= p.cost
	if len(m.queue) == 0 {
		m.queue = nil
	}
	signal(m.drained)
	return p.frame, nil
}

func (m *memory) damages() uint64 { return 0 }

func (m *memory) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.closed {
		m.closed = true
		close(m.gone)
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
