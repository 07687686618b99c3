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

// leaveMax bounds the wait for connections on their way to a worker that
// leaves: a sender that is stopped may hold one for ever.
const leaveMax = time.Second

// A Share is one worker's part in the accept share (contract row P1). The
// kernel wakes whom it likes when a connection arrives; the worker that wins
// keeps it, unless it holds more than its least loaded sibling, which then gets
// the descriptor. The counts are on the shared page and count a connection for
// the receiver before it is sent, so that a burst does not overshoot. A hand-over
// is announced in the word that holds the receiver's state, so one that leaves
// knows what is still to come, and a sender knows that it leaves.
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

	patience time.Duration // of Leave
}

// a census is what a heartbeat finds on the own line.
type census struct {
	held, counted int64
	offers        int
	taken         uint64
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
		stop: make(chan struct{}), patience: leaveMax,
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

// Leave says that this worker leaves: siblings hand nothing over any more. It
// returns, and the heartbeat ends, when all that was on its way is adopted.
func (s *Share) Leave() {
	s.own.SetState(bus.Draining)
	defer close(s.stop)
	if s.file == nil {
		return
	}
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	limit := time.After(s.patience)
	for s.own.Offers() > 0 {
		select {
		case <-look.C:
		case <-limit:
			return
		}
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
	if handOverTo(s.page.Worker(peer), s.peers[peer], fd) != nil {
		return false
	}
	_ = sys.BusClose(fd) // the sibling has a copy
	s.own.AddHandoff()
	return true
}

// errLeft says that a worker began to leave after it was chosen.
var errLeft = errors.New("worker: it is not ready any more")

// handOverTo sends a copy of fd to the worker that has line, which counts it
// before it comes.
func handOverTo(line *bus.Line, channel, fd int) error {
	if !line.Offer() {
		return errLeft
	}
	line.AddConnections(1)
	err := sys.BusSend(channel, []byte{'C'}, fd)
	if err != nil {
		line.AddConnections(-1)
		line.Settle(1)
	}
	return err
}

// beat keeps the worker's line fresh until the end of Leave.
func (s *Share) beat() {
	ticker := time.NewTicker(beatEvery)
	defer ticker.Stop()
	var last census
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

// mend repairs what disagrees with the truth and did not change since the beat
// before: a count that a sibling had made for a predecessor at this index, or
// had made and died before sending, and the offer that it leaves behind.
func (s *Share) mend(last census) census {
	now := census{
		held: s.held.Load(), counted: int64(s.own.Connections()),
		offers: s.own.Offers(), taken: s.own.Taken(),
	}
	if now.held == last.held && now.counted == last.counted && now.held != now.counted {
		s.own.AddConnections(int(now.held - now.counted))
	}
	if now.offers > 0 && now.offers == last.offers && now.taken == last.taken {
		s.own.Settle(now.offers)
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
		s.own.Settle(1) // now that it is adopted, and not before
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
