// SPDX-License-Identifier: MIT

package bus

import (
	"math"
	"sync/atomic"
	"time"
)

// The words of a worker's line: one cache line, so that workers do not slow
// each other down.
const (
	lineConns    = iota // open connections
	lineBeat            // Uptime in ms at the last heartbeat; 0: never
	linePID             // process id in the lower half, index in the upper
	lineState           // a State in the lower half, offers in the upper
	lineHandoffs        // connections it passed to a sibling
	lineDrops           // frames that publishers dropped for its channel
	lineLarge           // body bytes of large frames that wait in its channel
	lineTaken           // connections it got from a sibling
)

// connsMax is the largest believable number of connections.
const connsMax = math.MaxInt32

// A State is what a worker says about itself on the page.
type State uint8

// The states, in the order of a worker's life.
const (
	Vacant   State = iota // no worker has or expects this channel: publishers skip it
	Starting              // frames wait in its channel until it drains them
	Ready                 // serves
	Draining              // finishes what it has
)

var stateNames = [...]string{"vacant", "starting", "ready", "draining"}

func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return "damaged"
}

// A Line is one worker's part of the page. The worker owns it; siblings read
// it, count the connections they hand over and the frames they drop.
type Line struct {
	words []atomic.Uint64
}

// Assign says which worker of the service has the line from here on: in a
// rolling restart a successor has a line of its own, so that the number of the
// line is not its index. The supervisor assigns a line that nobody has.
func (l *Line) Assign(index int) { l.words[linePID].Store(uint64(index) << pidBits) }

// Index is the index last assigned; damaged words read as some number.
func (l *Line) Index() int { return int(l.words[linePID].Load() >> pidBits) }

// pidBits is the width of the process id in its word.
const pidBits = 32

// Claim makes the line the calling worker's: a successor starts from no
// connections and no heartbeat. The counters of hand-offs and drops go on, and
// so do the offers: what is on its way to the predecessor is the successor's.
func (l *Line) Claim(pid int) {
	l.words[lineConns].Store(0)
	l.words[lineBeat].Store(0)
	index := l.words[linePID].Load() >> pidBits
	l.words[linePID].Store(index<<pidBits | uint64(uint32(pid)))
	l.SetState(Starting)
}

// PID is the process id last claimed with, 0 when none or damaged.
func (l *Line) PID() int {
	pid := uint64(uint32(l.words[linePID].Load()))
	if pid > math.MaxInt32 {
		return 0
	}
	return int(pid)
}

// SetState says what the worker does; offers stay. The supervisor sets Starting
// before it starts the first process for a line and Vacant when it gives one
// up; the worker sets the others.
func (l *Line) SetState(s State) {
	l.swapState(func(_ State, offers uint64) (State, uint64) { return s, offers })
}

// State is what the worker said last. A damaged word reads as Starting: such a
// worker gets its frames and no connections.
func (l *Line) State() State {
	state, _ := splitState(l.words[lineState].Load())
	return state
}

// expect makes a vacant line one that publishers send to.
func (l *Line) expect() {
	l.swapState(func(s State, offers uint64) (State, uint64) {
		if s == Vacant {
			s = Starting
		}
		return s, offers
	})
}

// offerUnit is one offer in the word of the state: both change in one step, so
// that an offer either is seen by a worker that begins to leave, or sees that
// it leaves.
const offerUnit = 1 << 32

// offersMax is the largest believable number of offers: more than fit into a
// channel.
const offersMax = 1 << 20

// Offer announces a connection that the caller is about to hand to the worker.
// false: the worker is not ready, nothing is announced and nothing to be sent.
func (l *Line) Offer() bool {
	offered := false
	l.swapState(func(s State, offers uint64) (State, uint64) {
		if offered = s == Ready && offers < offersMax; offered {
			offers++
		}
		return s, offers
	})
	return offered
}

// Settle ends n offers: the connections have arrived, or will not come. It
// never goes below none.
func (l *Line) Settle(n int) {
	l.swapState(func(s State, offers uint64) (State, uint64) {
		return s, offers - min(offers, uint64(n))
	})
}

// Offers is the number of connections on their way to the worker. Someone who
// dies on the way leaves an offer that nobody settles; what a successor finds
// in the channel settles its predecessor's.
func (l *Line) Offers() int {
	_, offers := splitState(l.words[lineState].Load())
	return int(offers)
}

func splitState(word uint64) (s State, offers uint64) {
	if offers = word / offerUnit; uint32(word) > uint32(Draining) || offers > offersMax {
		return Starting, 0
	}
	return State(word), offers
}

func (l *Line) swapState(next func(s State, offers uint64) (State, uint64)) {
	for {
		old := l.words[lineState].Load()
		s, offers := next(splitState(old))
		if l.words[lineState].CompareAndSwap(old, uint64(s)+offers*offerUnit) {
			return
		}
	}
}

// Beat records that the worker is alive at now, an Uptime.
func (l *Line) Beat(now time.Duration) {
	l.words[lineBeat].Store(uint64(max(now.Milliseconds(), 1)))
}

// Silence is how long ago the worker beat last. A worker that never did, or
// whose beat lies in the future, has been silent for ever.
func (l *Line) Silence(now time.Duration) time.Duration {
	beat := l.words[lineBeat].Load()
	nowMs := uint64(now.Milliseconds())
	// Two clocks are read in two processes: 1 s ahead is still a beat.
	if beat == 0 || beat > nowMs+1000 {
		return never
	}
	if beat >= nowMs {
		return 0
	}
	return time.Duration(nowMs-beat) * time.Millisecond
}

// Connections is the worker's count. A damaged one reads as the largest
// believable, so that nobody hands a connection to it.
func (l *Line) Connections() int {
	return int(min(l.words[lineConns].Load(), connsMax))
}

// AddConnections adds n, which may be negative, and returns the sum. It never
// goes below 0, and a damaged count starts again from 0.
func (l *Line) AddConnections(n int) int {
	for {
		old := l.words[lineConns].Load()
		base := int64(0)
		if old < connsMax {
			base = int64(old)
		}
		sum := min(max(base+int64(n), 0), connsMax)
		if l.words[lineConns].CompareAndSwap(old, uint64(sum)) {
			return int(sum)
		}
	}
}

// AddHandoff counts a connection that the worker passed to a sibling.
func (l *Line) AddHandoff() { l.words[lineHandoffs].Add(1) }

// Handoffs is the number of connections passed to siblings.
func (l *Line) Handoffs() uint64 { return l.words[lineHandoffs].Load() }

// AddTaken counts a connection that the worker got from a sibling.
func (l *Line) AddTaken() { l.words[lineTaken].Add(1) }

// Taken is the number of connections got from siblings.
func (l *Line) Taken() uint64 { return l.words[lineTaken].Load() }

// Drops is the number of frames that publishers dropped for this worker's
// channel, in all processes, since the page was made.
func (l *Line) Drops() uint64 { return l.words[lineDrops].Load() }

func (l *Line) addDrops(n uint64) { l.words[lineDrops].Add(n) }

// takeLarge reserves room for n body bytes in the channel, up to limit. What
// waits in a channel as a descriptor costs its sender's buffer next to
// nothing, so the kernel's own bound does not bound it.
func (l *Line) takeLarge(n, limit int) bool {
	for {
		old := l.words[lineLarge].Load()
		if old > uint64(limit) || uint64(n) > uint64(limit)-old {
			return false
		}
		if l.words[lineLarge].CompareAndSwap(old, old+uint64(n)) {
			return true
		}
	}
}

// freeLarge gives n bytes back; a count that was reset meanwhile ends at 0.
func (l *Line) freeLarge(n int) {
	for {
		old := l.words[lineLarge].Load()
		next := old - min(old, uint64(n))
		if l.words[lineLarge].CompareAndSwap(old, next) {
			return
		}
	}
}

// resetLarge forgets what a predecessor took; its channel has been drained.
func (l *Line) resetLarge() { l.words[lineLarge].Store(0) }
