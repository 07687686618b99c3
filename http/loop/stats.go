// SPDX-License-Identifier: MIT

package loop

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// Stats is what a Group has done, by counters that only grow unless said
// otherwise.
type Stats struct {
	Conns     int64 // open now; those whose sources are being told of the end, too
	Held      int64 // of these, held
	Requests  uint64
	Takeovers uint64 // handlers that lost the loop
	Detached  uint64 // handlers that gave the loop away: Flush, long answers, Hijack
	Pooled    uint64 // requests that started off the loop
	OffLoop   int64  // handlers off the loop now
	Waiting   int64  // requests that wait for a place off the loop now
	Kept      int64  // bytes of answers whose clients do not take them now
	KeptFull  uint64 // long answers whose handler waits for its client: beyond KeptMax
	Panics    uint64

	DroppedConns       uint64 // beyond MaxConns
	DroppedDescriptors uint64 // the descriptor table was full
	DroppedBlocking    uint64 // beyond BlockingQueue or SeatedMax: 503
	DroppedRequests    uint64 // connections ended by RequestsPerConn
	RefusedRequests    uint64 // malformed, or beyond a limit of the parser
	TimeoutsRead       uint64 // head or body not in time
	TimeoutsWrite      uint64 // answer not taken in time

	Turns TurnTimes
}

// TurnTimes says how long turns of loops took, from the wait that ended to the next
// one. Every 16th is measured, so that the others pay for no look at the clock. A
// turn that was lost to a takeover is not among them.
type TurnTimes struct {
	Buckets [TurnBuckets]uint64 // by TurnBound, each without those below it
	Total   time.Duration
	// Worked has the same turns by the CPU time that the process had meanwhile, which is
	// no less than the loop's. What is long in Buckets and short here waited for a core.
	Worked [TurnBuckets]uint64
}

// TurnBuckets is the number of buckets; the last one has no bound.
const TurnBuckets = 13

// TurnBound is the upper end of bucket i: 16 µs, and twice as much each time.
func TurnBound(i int) time.Duration { return turnShortest << i }

const (
	turnShortest = 16 * time.Microsecond
	turnsSampled = 16 // one of them
)

// turnBucket finds the bucket of a turn.
func turnBucket(took time.Duration) int {
	return min(bits.Len64(uint64(max(took-1, 0)/turnShortest)), TurnBuckets-1)
}

// dropCounts are one loop's, and its owner's.
type dropCounts struct {
	descriptors, requests, refused, read, write uint64
}

// published is what the owner shows of itself, once a turn.
type published struct {
	requests, taken, held                       atomic.Uint64
	descriptors, perConn, refused, read, writes atomic.Uint64
	turns                                       [TurnBuckets]atomic.Uint64
	turnNanos                                   atomic.Uint64
	worked                                      [TurnBuckets]atomic.Uint64
}

// beginTurn notes what the process has used, where publish will measure the turn.
func (l *Loop) beginTurn() {
	if l.turned%turnsSampled == turnsSampled-1 {
		l.usedAt = l.k.Used()
	}
}

// publish copies the owner's counters to where everybody may look.
func (l *Loop) publish() {
	p, d := &l.pub, &l.drops
	set := func(to *atomic.Uint64, v uint64) {
		if to.Load() != v {
			to.Store(v)
		}
	}
	set(&p.requests, l.requests)
	set(&p.taken, l.taken)
	set(&p.held, uint64(l.nheld))
	set(&p.descriptors, d.descriptors)
	set(&p.perConn, d.requests)
	set(&p.refused, d.refused)
	set(&p.read, d.read)
	set(&p.writes, d.write)
	if l.turned++; l.turned%turnsSampled == 0 {
		took := max(l.k.Now().Sub(l.start)-l.now, 0)
		p.turns[turnBucket(took)].Add(1)
		p.turnNanos.Add(uint64(took))
		p.worked[turnBucket(min(took, l.k.Used()-l.usedAt))].Add(1)
	}
}

// Stats adds up the counters of all loops.
func (g *Group) Stats() Stats {
	s := Stats{
		Conns:           g.conns.Load(),
		Detached:        g.detached.Load(),
		Pooled:          g.handedOver.Load(),
		Kept:            g.kept.Load(),
		KeptFull:        g.keptFull.Load(),
		Panics:          g.panics.Load(),
		DroppedConns:    g.dropsConns.Load(),
		DroppedBlocking: g.dropsBlocking.Load(),
	}
	running, waiting := g.gate.counts()
	s.OffLoop, s.Waiting = int64(running), int64(waiting)
	for _, l := range g.loops {
		p := &l.pub
		s.Held += int64(p.held.Load())
		s.Requests += p.requests.Load()
		s.Takeovers += p.taken.Load()
		s.DroppedDescriptors += p.descriptors.Load()
		s.DroppedRequests += p.perConn.Load()
		s.RefusedRequests += p.refused.Load()
		s.TimeoutsRead += p.read.Load()
		s.TimeoutsWrite += p.writes.Load()
		for i := range p.turns {
			s.Turns.Buckets[i] += p.turns[i].Load()
			s.Turns.Worked[i] += p.worked[i].Load()
		}
		s.Turns.Total += time.Duration(p.turnNanos.Load())
	}
	return s
}
