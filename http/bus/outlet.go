// SPDX-License-Identifier: MIT

package bus

import (
	"errors"
	"log/slog"
	"sync"
	"time"

	"m0serve.dev/http/internal/sys"
)

// How long a queue waits for room before it tries again unasked. The kernel
// calls a channel writable only when it is well drained, and while others
// fill it that may never be.
const (
	retryMin = time.Millisecond
	retryMax = 50 * time.Millisecond
)

// quietFor is the least time between two spells of drops that are logged.
const quietFor = 10 * time.Second

// A sender is the writing end of a channel.
type sender interface {
	// send gives p to the channel without waiting. sys.ErrBusFull and
	// sys.ErrBusShort ask for another try; any other error is for good.
	send(p *packet) error
	// wait waits for room, or for so long, and reports whether there is any.
	wait(limit time.Duration) bool
}

// An outlet is what one process knows of one channel: the writing end and the
// frames that found it full, in order. mu guards everything below it.
type outlet struct {
	index     int
	line      *Line
	sender    sender
	bytesMax  int
	framesMax int
	log       *slog.Logger
	stop      chan struct{}   // closed with the bus
	flushers  *sync.WaitGroup // the bus waits for it

	mu       sync.Mutex
	queue    []*packet
	bytes    int  // cost of the queue
	flushing bool // a flusher runs
	spell    spell
	closed   bool
	sent     uint64
	retried  uint64 // of those, out of the queue
	dropped  uint64
}

// A spell of drops lasts from the first dropped frame until frames flow and
// none is queued.
type spell struct {
	on    bool
	cause error     // to be logged by the flusher; nil: it is, or will not be
	said  bool      // its begin was logged, so its end will be
	begun time.Time // the last one logged
}

// push sends p, or queues it, or drops it and reports false. It never waits
// for the peer.
func (o *outlet) push(p *packet) bool {
	if o.line.State() == Vacant {
		return true // nobody is or will be there
	}
	o.mu.Lock()
	taken, cause := o.pushLocked(p)
	if !taken {
		o.dropLocked(cause)
	}
	alone := o.spell.on && !o.flushing
	o.mu.Unlock()
	if alone {
		o.logSpell(taken) // else the flusher does: a publisher waits for no log
	}
	return taken
}

func (o *outlet) dropLocked(cause error) {
	o.dropped++
	o.line.addDrops(1)
	if o.spell.on {
		return
	}
	o.spell.on = true
	if now := time.Now(); o.spell.begun.IsZero() || now.Sub(o.spell.begun) >= quietFor {
		o.spell.begun, o.spell.cause = now, cause
	}
}

// logSpell logs the begin of a spell and, once frames flow, its end. It does
// so without the lock.
func (o *outlet) logSpell(flows bool) {
	o.mu.Lock()
	cause := o.spell.cause
	o.spell.cause = nil
	o.spell.said = o.spell.said || cause != nil
	over := flows && o.spell.on && len(o.queue) == 0 && !o.flushing && !o.closed
	tell, dropped := over && o.spell.said, o.dropped
	if over {
		o.spell.on, o.spell.said = false, false
	}
	o.mu.Unlock()
	if cause != nil {
		o.log.Warn("bus: channel drops frames", "channel", o.index, "cause", cause)
	}
	if tell {
		o.log.Info("bus: channel flows again", "channel", o.index, "dropped", dropped)
	}
}

var errQueueFull = errors.New("bus: its queue is full")

func (o *outlet) pushLocked(p *packet) (taken bool, cause error) {
	if o.closed {
		return false, ErrClosed
	}
	if len(o.queue) == 0 {
		err := o.sender.send(p)
		if err == nil {
			o.sent++
			return true, nil
		}
		if !isFull(err) {
			return false, err
		}
	}
	if len(o.queue) >= o.framesMax || o.bytes+p.cost > o.bytesMax {
		return false, errQueueFull
	}
	p.hold()
	o.queue = append(o.queue, p)
	o.bytes += p.cost
	if !o.flushing {
		o.flushing = true
		o.flushers.Add(1)
		go o.flush()
	}
	return true, nil
}

// flush sends what is queued and ends when nothing is. It waits with poll and
// only while frames wait: a channel that stood in the runtime's poller would
// wake every publisher each time its reader takes a frame.
func (o *outlet) flush() {
	defer o.flushers.Done()
	pause, writable := retryMin, false
	for {
		moved, err := o.flushQueue()
		o.logSpell(err == nil)
		if err == nil {
			return
		}
		if moved > 0 {
			pause = retryMin
		}
		// A channel that claimed room and took nothing is not asked again at once.
		if errors.Is(err, sys.ErrBusFull) && (moved > 0 || !writable) {
			writable = o.sender.wait(pause)
		} else {
			o.sleep(pause)
			writable = false
		}
		pause = min(pause*2, retryMax)
	}
}

// flushQueue sends the queue until the channel is full, which is the error it
// returns; nil means that nothing is left to do.
func (o *outlet) flushQueue() (moved int, err error) {
	for {
		more, err := o.flushOne()
		if err != nil || !more {
			return moved, err
		}
		moved++
	}
}

// flushOne sends the head of the queue. The lock is free between frames, so
// that a publisher waits for one send at most.
func (o *outlet) flushOne() (more bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.line.State() == Vacant {
		o.forgetLocked()
	}
	if o.closed || len(o.queue) == 0 {
		o.flushing = false
		return false, nil
	}
	err = o.sender.send(o.queue[0])
	if isFull(err) {
		return true, err
	}
	if err != nil {
		o.dropLocked(err)
	} else {
		o.sent++
		o.retried++
	}
	o.popLocked()
	return true, nil
}

func (o *outlet) popLocked() {
	p := o.queue[0]
	o.queue[0] = nil
	o.queue = o.queue[1:]
	o.bytes -= p.cost
	if len(o.queue) == 0 {
		o.queue = nil // a burst's memory goes when it is over
	}
	p.release()
}

// forgetLocked lets go of frames for a worker that was given up: nobody will
// ever make room for them, and nobody misses them.
func (o *outlet) forgetLocked() {
	for len(o.queue) > 0 {
		o.popLocked()
	}
}

func (o *outlet) sleep(pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-o.stop:
	}
}

// close refuses frames from now on; the flusher ends by itself.
func (o *outlet) close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
}

// finish sends what still waits if the channel takes it at once, and drops the
// rest. No flusher runs any more.
func (o *outlet) finish() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.queue) > 0 {
		if err := o.sender.send(o.queue[0]); err != nil {
			o.dropLocked(err)
		} else {
			o.sent++
			o.retried++
		}
		o.popLocked()
	}
}

func (o *outlet) stats() ChannelStats {
	o.mu.Lock()
	defer o.mu.Unlock()
	return ChannelStats{
		Sent: o.sent, Retried: o.retried, Dropped: o.dropped,
		Queued: len(o.queue), QueuedBytes: o.bytes,
	}
}

func isFull(err error) bool {
	return err == sys.ErrBusFull || err == sys.ErrBusShort
}
