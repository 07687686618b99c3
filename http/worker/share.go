// SPDX-License-Identifier: MIT

package worker

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/internal/sys"
)

// The heartbeat of a worker. It is late on a busy machine, so a worker counts
// as stopped only after missing several.
const (
	beatEvery  = 200 * time.Millisecond
	staleAfter = time.Second
)

// straggling is how long a hand-over takes at most whose sender has looked
// before the receiver began to leave.
const straggling = 20 * time.Millisecond

// A Share is one worker's part in the accept share (contract row P1). The
// kernel wakes whom it likes when a connection arrives; the worker that wins
// keeps it, unless it holds more than its least loaded sibling, which then gets
// the descriptor. The counts are on the shared page and count a connection for
// the receiver before it is sent, so that a burst does not overshoot.
//
// Accepted and Closed may be called from any goroutine. Whatever goes wrong
// with a hand-over, the connection stays where it is. Without channels (one
// worker, or the bare race) a Share only counts.
type Share struct {
	page  *bus.Page
	index int
	own   *bus.Line
	peers []int // write ends, by index; the own entry is the read end; nil: none
	held  atomic.Int64
	stop  chan struct{}
	file  *os.File // a copy of the own read end, for the runtime's poller; nil: none
}

// NewShare makes the share of the worker at index. channels is what it
// inherited for it, nil for a bare race.
func NewShare(page *bus.Page, index int, channels []int) (*Share, error) {
	if index < 0 || index >= page.Workers() {
		return nil, fmt.Errorf("worker: accept share of index %d on a page of %d",
			index, page.Workers())
	}
	s := &Share{
		page: page, index: index, own: page.Worker(index), peers: channels,
		stop: make(chan struct{}),
	}
	if channels == nil {
		return s, nil
	}
	if len(channels) != page.Workers() {
		return nil, fmt.Errorf("worker: accept share of %d channels on a page of %d",
			len(channels), page.Workers())
	}
	fd, err := sys.BusDup(channels[index])
	if err != nil {
		return nil, fmt.Errorf("worker: accept share: %w", err)
	}
	s.file = os.NewFile(uintptr(fd), "accept share")
	return s, nil
}

// Start begins the heartbeat, above one worker, and gives every connection that a sibling hands
// over to adopt, one at a time. A connection that adopt refuses is closed.
func (s *Share) Start(adopt func(fd int) error) {
	if s.page.Workers() > 1 {
		s.own.Beat(bus.Uptime())
		go s.beat()
	}
	if s.file != nil {
		go s.receive(adopt)
	}
}

// Leave ends the heartbeat: siblings hand nothing over any more. It returns when
// what was on its way has been adopted.
func (s *Share) Leave() {
	s.own.SetState(bus.Draining)
	close(s.stop)
	if s.file != nil {
		time.Sleep(straggling)
	}
}

// Accepted decides about a connection that this worker accepted. false means
// that a sibling has it and that fd is closed: the caller forgets it.
func (s *Share) Accepted(fd int) (keep bool) {
	if peer := s.leastLoaded(s.own.Connections()); peer >= 0 && s.handOver(peer, fd) {
		return false
	}
	s.held.Add(1)
	s.own.AddConnections(1)
	return true
}

// Closed counts the end of a connection that was kept or adopted.
func (s *Share) Closed() {
	s.held.Add(-1)
	s.own.AddConnections(-1)
}

// leastLoaded is the index of the sibling with the fewest connections, if that
// is fewer than own and the sibling is alive; -1 when there is none.
func (s *Share) leastLoaded(own int) int {
	best, now := -1, bus.Uptime()
	for i := range s.peers {
		if i == s.index {
			continue
		}
		line := s.page.Worker(i)
		load := line.Connections()
		if load < own && line.State() == bus.Ready && line.Silence(now) <= staleAfter {
			best, own = i, load
		}
	}
	return best
}

func (s *Share) handOver(peer, fd int) bool {
	line := s.page.Worker(peer)
	line.AddConnections(1)
	if err := sys.BusSend(s.peers[peer], []byte{'C'}, fd); err != nil {
		line.AddConnections(-1)
		return false
	}
	_ = sys.BusClose(fd) // the sibling has a copy
	s.own.AddHandoff()
	return true
}

// beat keeps the worker's line fresh until Leave.
func (s *Share) beat() {
	ticker := time.NewTicker(beatEvery)
	defer ticker.Stop()
	var last [2]int64
	for {
		select {
		case <-ticker.C:
			s.own.Beat(bus.Uptime())
			last = s.mend(last)
		case <-s.stop:
			return
		}
	}
}

// mend repairs a count on the page that disagrees with the connections really
// held, both unchanged since the beat before: what a sibling had counted for a
// predecessor at this index, or counted and died before sending.
func (s *Share) mend(last [2]int64) [2]int64 {
	now := [2]int64{s.held.Load(), int64(s.own.Connections())}
	if now == last && now[0] != now[1] {
		s.own.AddConnections(int(now[0] - now[1]))
	}
	return now
}

// receive adopts what siblings send until the process ends.
func (s *Share) receive(adopt func(fd int) error) {
	defer s.file.Close()
	raw, err := s.file.SyscallConn()
	if err != nil {
		return
	}
	for {
		fd := -1
		var errRecv error
		err := raw.Read(func(channel uintptr) bool {
			fd, errRecv = recvConn(int(channel))
			return !errors.Is(errRecv, sys.ErrBusEmpty)
		})
		// A datagram that arrived cut lost its own descriptor only.
		if err != nil || (errRecv != nil && !errors.Is(errRecv, sys.ErrBusCut)) {
			return
		}
		if fd >= 0 {
			s.take(fd, adopt)
		}
	}
}

func recvConn(channel int) (fd int, err error) {
	var buf [8]byte
	_, fd, err = sys.BusRecv(channel, buf[:])
	return fd, err
}

// take counts and adopts a connection that its sender has already counted.
func (s *Share) take(fd int, adopt func(fd int) error) {
	s.held.Add(1)
	s.own.AddTaken()
	if err := adopt(fd); err != nil {
		_ = sys.BusClose(fd)
		s.Closed()
	}
}
