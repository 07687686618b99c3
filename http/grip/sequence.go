// SPDX-License-Identifier: MIT

package grip

import "time"

// Limits of a Sequence.
const (
	seqWait        = 5 * time.Second  // longest that an item waits for the one before it
	seqSeen        = 60 * time.Second // how long an id is known again
	seqParked      = 100              // items of a channel that wait
	seqParkedAll   = 10_000           // items that wait
	seqIDsMax      = 100_000          // ids that are known again
	seqChannelsMax = 100_000          // channels whose last id is known
)

// A Sequence puts the items of every channel in the order that their ids say: an
// item whose PrevID is not the last id of its channel waits for the one that is
// missing, up to 5 s. An item whose id was there less than 60 s ago is dropped, unless
// it ends connections: those of now are others, and django-eventstream kicks a user
// under the same ids every time.
//
//	        Push          its turn, or no order asked for
//	item ─────────▶ seen? ──────────────────────────────────▶ ready ──▶ those that waited for it
//	                  │ yes: dropped    else  ▲ time is up, or too many
//	                  ▼                  └─▶ parked
//
// What is known is bounded. At a bound the oldest goes: an item that waits is
// released, an id is forgotten, a channel takes the next item as it comes. No
// item is lost, and one that comes when it was given up is delivered at once. The
// zero value is ready; a Sequence has one owner.
type Sequence struct {
	channels map[string]*seqChannel
	idle     idleList    // channels in which nothing waits, the one used longest ago first
	waiting  []*seqEntry // in the order of their arrival; some are released already
	ids      map[seqID]struct{}
	seen     []seqSeenID // in the order of their expiry
	stats    SequenceStats
}

// SequenceStats count since the start, but for Waiting.
type SequenceStats struct {
	Duplicates uint64 // items dropped because their id was there
	Parked     uint64 // items that had to wait
	Late       uint64 // items that waited in vain
	Forgotten  uint64 // ids and channels forgotten before their time
	Waiting    int    // items that wait now
}

// A seqChannel is what is known of a channel: its last id or items that wait.
type seqChannel struct {
	name       string
	last       string // "": unknown
	missed     string // id of the item that was given up last
	parked     []*seqEntry
	prev, next *seqChannel // in the idleList
	idle       bool        // in it
}

// A seqEntry is an item that waits; item is nil once it is released.
type seqEntry struct {
	item  *Item
	until time.Time
}

type seqID struct{ channel, id string }

type seqSeenID struct {
	seqID
	until time.Time
}

// Push takes an item in and appends to ready what is to be delivered, in order.
// now never goes back.
func (s *Sequence) Push(ready []*Item, it *Item, now time.Time) []*Item {
	s.forgetIDs(now)
	ready = s.Expire(ready, now)
	if !s.note(it, now) {
		if it.closes() {
			return append(ready, it)
		}
		s.stats.Duplicates++
		return ready
	}
	c := s.channels[it.Channel]
	if it.NoSeq || c != nil && it.ID != "" && it.ID == c.missed {
		return append(ready, it)
	}
	if c == nil || c.last == "" || it.PrevID == "" || it.PrevID == c.last {
		return s.release(ready, it)
	}
	return s.park(ready, c, it, now)
}

// Expire appends to ready the items that waited long enough.
func (s *Sequence) Expire(ready []*Item, now time.Time) []*Item {
	for len(s.waiting) > 0 {
		e := s.waiting[0]
		if e.item != nil {
			if now.Before(e.until) {
				break
			}
			ready = s.giveUp(ready, e)
			continue
		}
		s.waiting = s.waiting[1:]
	}
	return ready
}

// Next returns when Expire has something to do; ok is false when nothing waits.
func (s *Sequence) Next() (at time.Time, ok bool) {
	for len(s.waiting) > 0 && s.waiting[0].item == nil {
		s.waiting = s.waiting[1:]
	}
	if len(s.waiting) == 0 {
		return time.Time{}, false
	}
	return s.waiting[0].until, true
}

// Last returns the last id of a channel, "" when it is unknown.
func (s *Sequence) Last(channel string) string {
	if c := s.channels[channel]; c != nil {
		return c.last
	}
	return ""
}

// Forget makes the last id of a channel unknown: what a connection or a
// publisher says contradicts it.
func (s *Sequence) Forget(channel string) {
	if c := s.channels[channel]; c != nil {
		c.last = ""
		s.settle(c)
	}
}

// Stats returns the counts.
func (s *Sequence) Stats() SequenceStats { return s.stats }

// note remembers the id of it, and tells whether it is new.
func (s *Sequence) note(it *Item, now time.Time) bool {
	if it.ID == "" {
		return true
	}
	id := seqID{it.Channel, it.ID}
	if _, there := s.ids[id]; there {
		return false
	}
	if s.ids == nil {
		s.ids = make(map[seqID]struct{})
	}
	if len(s.seen) == seqIDsMax {
		delete(s.ids, s.seen[0].seqID)
		s.seen = s.seen[1:]
		s.stats.Forgotten++
	}
	s.ids[id] = struct{}{}
	s.seen = append(s.seen, seqSeenID{id, now.Add(seqSeen)})
	return true
}

// forgetIDs forgets the ids whose time is over.
func (s *Sequence) forgetIDs(now time.Time) {
	n := 0
	for n < len(s.seen) && !now.Before(s.seen[n].until) {
		delete(s.ids, s.seen[n].seqID)
		n++
	}
	if s.seen = s.seen[n:]; len(s.seen) == 0 {
		s.seen = nil // a quiet time frees the memory of a busy one
	}
}

// park makes an item wait. Where too many wait, the oldest has waited enough;
// that may be the one that this one waits for.
func (s *Sequence) park(ready []*Item, c *seqChannel, it *Item, now time.Time) []*Item {
	s.stats.Parked++
	e := &seqEntry{it, now.Add(seqWait)}
	c.parked = append(c.parked, e)
	s.settle(c)
	s.waiting = append(s.waiting, e)
	s.stats.Waiting++
	switch {
	case len(c.parked) > seqParked:
		ready = s.giveUp(ready, c.parked[0])
	case s.stats.Waiting > seqParkedAll:
		if _, ok := s.Next(); ok {
			ready = s.giveUp(ready, s.waiting[0])
		}
	}
	if len(s.waiting) > 2*s.stats.Waiting+seqParked {
		s.compact()
	}
	return ready
}

// compact takes released entries out of the middle.
func (s *Sequence) compact() {
	kept := make([]*seqEntry, 0, s.stats.Waiting)
	for _, e := range s.waiting {
		if e.item != nil {
			kept = append(kept, e)
		}
	}
	s.waiting = kept
}

// giveUp releases an item whose predecessor did not come.
func (s *Sequence) giveUp(ready []*Item, e *seqEntry) []*Item {
	s.stats.Late++
	c := s.channels[e.item.Channel]
	c.missed = e.item.PrevID
	return s.release(ready, s.unpark(c, e))
}

// unpark takes e out of the items of c that wait.
func (s *Sequence) unpark(c *seqChannel, e *seqEntry) *Item {
	for i := range c.parked {
		if c.parked[i] == e {
			c.parked = append(c.parked[:i], c.parked[i+1:]...)
			break
		}
	}
	it := e.item
	e.item = nil
	s.stats.Waiting--
	return it
}

// release appends an item to ready, and those that waited for it.
func (s *Sequence) release(ready []*Item, it *Item) []*Item {
	c := s.channel(it.Channel)
	for it != nil {
		ready = append(ready, it)
		c.last = it.ID
		it = nil
		for _, e := range c.parked {
			if c.last != "" && e.item.PrevID == c.last {
				it = s.unpark(c, e)
				break
			}
		}
	}
	s.settle(c)
	return ready
}

// channel returns what is known of a channel.
func (s *Sequence) channel(name string) *seqChannel {
	c := s.channels[name]
	if c == nil {
		if s.channels == nil {
			s.channels = make(map[string]*seqChannel)
		}
		c = &seqChannel{name: name}
		s.channels[name] = c
	}
	return c
}

// settle puts a channel where it belongs when something changed: one without
// items that wait is forgotten when its time has come, or at once when there is
// nothing to know.
func (s *Sequence) settle(c *seqChannel) {
	s.idle.remove(c)
	switch {
	case len(c.parked) > 0:
		return
	case c.last == "":
		delete(s.channels, c.name)
		return
	}
	s.idle.push(c)
	if s.idle.size > seqChannelsMax {
		oldest := s.idle.first
		oldest.last = ""
		s.settle(oldest)
		s.stats.Forgotten++
	}
}

// An idleList has channels by their last use.
type idleList struct {
	first, last *seqChannel
	size        int
}

func (l *idleList) push(c *seqChannel) {
	c.prev, c.next, c.idle = l.last, nil, true
	if l.last != nil {
		l.last.next = c
	} else {
		l.first = c
	}
	l.last = c
	l.size++
}

// remove takes c out when it is in.
func (l *idleList) remove(c *seqChannel) {
	if !c.idle {
		return
	}
	if c.prev != nil {
		c.prev.next = c.next
	} else {
		l.first = c.next
	}
	if c.next != nil {
		c.next.prev = c.prev
	} else {
		l.last = c.prev
	}
	c.prev, c.next, c.idle = nil, nil, false
	l.size--
}
