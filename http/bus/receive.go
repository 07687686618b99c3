// SPDX-License-Identifier: MIT

package bus

import (
	"cmp"
	"errors"
	"os"
	"slices"
	"time"

	"m0serve.dev/http/internal/sys"
)

// backlogMax bounds the frames taken over from a predecessor in one go.
const backlogMax = 1 << 16

// expireReads bounds what is read before frames are given up as missing.
const expireReads = 4096

// A receiver is the reading end of a channel.
type receiver interface {
	// recv waits for a frame: os.ErrDeadlineExceeded at due unless that is
	// zero, os.ErrClosed once closed, errDamaged for a datagram that is none.
	recv(due time.Time) (Frame, error)
	// try does not wait: sys.ErrBusEmpty when there is no frame.
	try() (Frame, error)
	damages() uint64
	close()
}

// Backlog delivers what waited in the channel when the bus was opened: frames
// that a predecessor at this index never read. They belong into the journals
// and reach no new stream (H8a). It returns their number; frames published
// since are left to Receive. Call it once, before Receive, on the caller's
// goroutine; without it Receive begins with the backlog.
func (b *Bus) Backlog(deliver func(Frame)) int {
	if b.in == nil || b.drained {
		return 0
	}
	b.drained = true
	var waited []Frame
	count := 0
	for count < backlogMax {
		f, err := b.in.try()
		if err == errDamaged {
			continue // Receive tells of it
		}
		if err != nil {
			if err == sys.ErrBusEmpty {
				b.line.resetLarge()
			}
			break
		}
		if f.ordered() && f.ID > b.base {
			// The channel is first in, first out, and this id was given out
			// after the bus was opened: everything older has been read.
			b.fresh = &f
			break
		}
		count++
		if !f.ordered() {
			deliver(f)
			continue
		}
		waited = append(waited, f)
	}
	slices.SortStableFunc(waited, func(x, y Frame) int { return cmp.Compare(x.ID, y.ID) })
	for _, f := range waited {
		deliver(f)
	}
	b.received.Add(uint64(count))
	return count
}

// Receive starts the one goroutine that reads this worker's channel and calls
// deliver for each frame, one at a time: the frames of one publisher in their
// order, those of several in id order as far as the window allows. deliver
// must not block for long, since what it does not take fills the channel, and
// must not call Close. Receive is called once; the goroutine ends with Close.
func (b *Bus) Receive(deliver func(Frame)) {
	if b.in == nil {
		panic("bus: Receive on a bus that only publishes")
	}
	if b.receiving.Swap(true) {
		panic("bus: Receive called twice")
	}
	b.readers.Add(1)
	go b.receive(deliver)
}

func (b *Bus) receive(deliver func(Frame)) {
	defer b.readers.Done()
	b.order.emit = deliver
	b.Backlog(deliver)
	if b.fresh != nil {
		b.take(*b.fresh)
		b.fresh = nil
	}
	for {
		f, err := b.next()
		switch {
		case err == nil:
			b.take(f)
		case err == errDamaged: // told of before the next wait
		case errors.Is(err, os.ErrDeadlineExceeded):
			b.expire()
		default:
			b.order.flush()
			b.count()
			if !b.closed.Load() {
				b.log.Error("bus: reception ended", "channel", b.index, "cause", err)
			}
			return
		}
	}
}

// missing is how many frames were lost on their way to this worker: publishers
// dropped them, or they came in damaged.
func (b *Bus) missing() uint64 { return b.line.Drops() + b.in.damages() }

// next waits for a frame. Before it waits it tells of frames that were lost
// meanwhile, once for a spell of them.
func (b *Bus) next() (Frame, error) {
	if b.lost != nil && b.missing() != b.lostSeen {
		f, err := b.in.try()
		if err != sys.ErrBusEmpty {
			return f, err
		}
		missing := b.missing()
		missed := missing - b.lostSeen
		b.lostSeen = missing
		b.lost(missed)
	}
	return b.in.recv(b.order.due)
}

func (b *Bus) take(f Frame) {
	b.received.Add(1)
	var now time.Time // most frames need none
	if b.order.holds(&f) {
		now = time.Now()
	}
	b.order.push(f, now)
	b.count()
}

// expire gives up on frames that are missing, after a look at what arrived
// while this process was not running: they may be in the channel.
func (b *Bus) expire() {
	for range expireReads {
		f, err := b.in.try()
		if err == errDamaged {
			continue
		}
		if err != nil {
			break
		}
		b.take(f)
	}
	b.order.expire(time.Now())
	b.count()
}

// count publishes the counters of the order to Stats. To look costs less than to store.
func (b *Bus) count() {
	if o := &b.order; b.late.Load() != o.late {
		b.late.Store(o.late)
	}
	if o := &b.order; b.forced.Load() != o.forced {
		b.forced.Store(o.forced)
	}
	if held := int64(len(b.order.held)); b.held.Load() != held {
		b.held.Store(held)
	}
}
