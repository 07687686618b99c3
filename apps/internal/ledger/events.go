// SPDX-License-Identifier: MIT

package ledger

import (
	"fmt"
	"sync"
)

// Events is the account of events: what was published, and what each stream had. Its
// zero value is ready.
type Events struct {
	mu        sync.Mutex
	published []uint64 // ids that the service gave out, each an event of its own
	doubtful  int      // published, or not: the answer did not come
	streams   []*Stream
}

// A Stream is the account of one reader, over all the connections it had.
type Stream struct {
	of       *Events
	name     string
	first    uint64 // the first id seen, and so where its account begins; 0: none yet
	last     uint64 // of the event that came last: what a browser sends when it comes back
	highest  uint64 // seen
	covered  uint64 // highest seen, or told of
	told     uint64 // highest told of; 0: nothing
	seen     map[uint64]int
	disorder int
	returns  int // connections after the first
}

// Published notes an event that the service confirmed.
func (e *Events) Published(id uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.published = append(e.published, id)
}

// Doubtful counts an event that was sent and has no answer: it may be published.
func (e *Events) Doubtful() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.doubtful++
}

// Count is how many events were confirmed.
func (e *Events) Count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.published)
}

// Ahead is how many confirmed events the streams with the least have not seen, of those
// that only accepts.
func (e *Events) Ahead(only func(name string) bool) (most int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, s := range e.streams {
		if s.first == 0 || !only(s.name) {
			continue // nothing is due before the first
		}
		n := 0
		for i := len(e.published) - 1; i >= 0 && e.published[i] > s.covered; i-- {
			n++
		}
		most = max(most, n)
	}
	return most
}

// Open begins the account of a stream.
func (e *Events) Open(name string) *Stream {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := &Stream{of: e, name: name, seen: make(map[uint64]int)}
	e.streams = append(e.streams, s)
	return s
}

// Seen notes an event that came on the stream.
func (s *Stream) Seen(id uint64) {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	s.beginLocked(id)
	if s.seen[id]++; s.seen[id] == 1 && id < s.highest {
		s.disorder++
	}
	s.last, s.highest = id, max(s.highest, id)
	s.covered = max(s.covered, id)
}

// Told notes that the stream was told, in an event with an id, that events are missing.
// Whoever hears that reads the whole state again, and so has what was confirmed until
// then; what is published from then on has to come.
func (s *Stream) Told(id uint64) {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	s.beginLocked(id)
	s.last, s.covered = id, max(s.covered, id)
	for _, known := range s.of.published {
		s.covered = max(s.covered, known)
	}
	s.told = s.covered
}

func (s *Stream) beginLocked(id uint64) {
	if s.first == 0 {
		s.first = id
	}
}

// Returned counts that the reader came back, and gives the id it had last.
func (s *Stream) Returned() (last uint64) {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	s.returns++
	return s.last
}

// Last is the id of the event that came last, 0 when there was none.
func (s *Stream) Last() uint64 {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	return s.last
}

// A Verdict is what became of the events of all streams together.
type Verdict struct {
	Published int
	Doubtful  int // sent without an answer
	Seen      int
	Lost      int // confirmed, not seen, and not told of
	Told      int // confirmed, not seen, and told of
	Twice     int
	Disorder  int // behind a higher one
	Strangers int // kinds of ids seen that nobody confirmed
	Returns   int
	Silent    int    // streams that saw nothing
	Example   string // of what is wrong
}

// Judge tells what became of the events.
func (e *Events) Judge() Verdict {
	e.mu.Lock()
	defer e.mu.Unlock()
	v := Verdict{Published: len(e.published), Doubtful: e.doubtful}
	known := make(map[uint64]bool, len(e.published))
	for _, id := range e.published {
		known[id] = true
	}
	strangers := make(map[uint64]bool)
	for _, s := range e.streams {
		s.judgeLocked(&v, e.published)
		for id := range s.seen {
			if !known[id] {
				strangers[id] = true
			}
		}
	}
	v.Strangers = len(strangers)
	return v
}

func (s *Stream) judgeLocked(v *Verdict, published []uint64) {
	v.Disorder += s.disorder
	v.Returns += s.returns
	v.Seen += len(s.seen)
	if s.first == 0 {
		v.Silent++
	}
	for id, n := range s.seen {
		if n > 1 {
			v.Twice += n - 1
			v.Example = fmt.Sprintf("stream %s had %d %d times", s.name, id, n)
		}
	}
	for _, id := range published {
		switch {
		case id < s.first || s.seen[id] > 0:
		case id <= s.told:
			v.Told++
		default:
			v.Lost++
			v.Example = fmt.Sprintf("stream %s, which has seen %d to %d, has not seen %d",
				s.name, s.first, s.highest, id)
		}
	}
}

// Fault is an error when anything was lost, came twice or out of order, came from
// nowhere, or when a stream saw nothing or fewer than least events were published.
func (v Verdict) Fault(least int) error {
	switch {
	case v.Lost+v.Twice+v.Disorder > 0:
		return fmt.Errorf("ledger: events: %v", v)
	case v.Strangers > v.Doubtful:
		return fmt.Errorf("ledger: more ids came than were published: %v", v)
	case v.Silent > 0 || v.Published < least:
		return fmt.Errorf("ledger: vacuous: %v; want %d published and no silent stream", v, least)
	}
	return nil
}

func (v Verdict) String() string {
	text := fmt.Sprintf("%d published, %d in doubt, %d seen, %d lost, %d told of, %d twice,"+
		" %d out of order, %d strangers, %d returns, %d silent", v.Published, v.Doubtful, v.Seen,
		v.Lost, v.Told, v.Twice, v.Disorder, v.Strangers, v.Returns, v.Silent)
	if v.Example != "" {
		text += "; " + v.Example
	}
	return text
}
