// SPDX-License-Identifier: MIT

package realtime

import (
	"sync/atomic"
	"time"

	"m0serve.dev/http/grip"
	"m0serve.dev/wsgi/internal/realtime/clock"
)

// Stats are the counters of a Service, but for Polls and Waiting.
type Stats struct {
	Polls     int    // long polls that are held
	Waiting   int    // items that wait for the one before them
	Invalid   uint64 // answers that were to be held and could not be
	Items     uint64 // of GRIP, from the bus
	Damaged   uint64 // frames that were none
	Duplicate uint64 // items that had been there
	Late      uint64 // items that waited in vain
	Unfit     uint64 // items that a held answer's filters could not make fit
	Slow      uint64 // streams that were cut because their clients did not keep up
	Cut       uint64 // streams that were cut because of a gap that nothing closed
	Asked     uint64 // requests to next links
	Untold    uint64 // clients that went away, of which the application did not hear
}

// counts are of the life of a Service.
type counts struct {
	items, damaged, invalid atomic.Uint64
	unfit, slow, cut, asked atomic.Uint64
	untold                  atomic.Uint64
}

// lines keep the log from a line for each of ten thousand streams.
type lines struct{ unfit, slow limiter }

// Stats returns the counters.
func (s *Service) Stats() Stats {
	c := &s.counts
	st := Stats{
		Invalid: c.invalid.Load(), Items: c.items.Load(), Damaged: c.damaged.Load(),
		Unfit: c.unfit.Load(), Slow: c.slow.Load(), Cut: c.cut.Load(), Asked: c.asked.Load(),
		Untold: c.untold.Load(),
	}
	s.mu.Lock()
	st.Polls = len(s.polls)
	s.mu.Unlock()
	s.items.mu.Lock()
	seq := s.items.seq.Stats()
	s.items.mu.Unlock()
	st.Duplicate, st.Late, st.Waiting = seq.Duplicates, seq.Late, seq.Waiting
	return st
}

// unfit says that an item could not be made fit for a held answer.
func (s *Service) unfit(it *grip.Item, err error) {
	n := s.counts.unfit.Add(1)
	if s.lines.unfit.mayLog(time.Now()) {
		s.log.Error("m0serve: an item does not fit a held answer, which is ended",
			"channel", it.Channel, "id", it.ID, "err", err, "so far", n)
	}
}

// slow says that a stream was cut because of its client.
func (s *Service) slow(channels []grip.Channel) {
	n := s.counts.slow.Add(1)
	if len(channels) > 0 && s.lines.slow.mayLog(time.Now()) {
		s.log.Warn("m0serve: a stream is cut, its client does not keep up with what is "+
			"published; it comes back and is caught up", "channel", channels[0].Name, "so far", n)
	}
}

// A limiter lets one line of a kind through in a second.
type limiter struct{ last clock.Stamp }

func (l *limiter) mayLog(now time.Time) bool {
	return l.last.Once(now, time.Second)
}
