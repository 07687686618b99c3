// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"math"
	"os"
	"sync/atomic"

	"m0serve.dev/host"
	"m0serve.dev/http/worker"
)

// The board's words on the page that all workers share.
const (
	wordSteps   = iota // steps that were made
	wordLastID         // event id of the last step that was published
	wordResting        // 1 while the producer waits for somebody to look
	wordBlobs          // blobs that there ever were: the id of the newest
	headWords   = 8

	boxWords  = 64 // the drop box: one word, one drop
	blobsMax  = 48
	blobWords = 4
	lineWords = 8 // a process's line: a cache line, of which the first word is used

	boxAt   = headWords
	blobsAt = boxAt + boxWords
	linesAt = blobsAt + blobsMax*blobWords
)

// boardWords is the size of a board for so many workers. In a rolling restart a
// process more than that has a line.
func boardWords(workers int) int { return linesAt + lines(workers)*lineWords }

func lines(workers int) int { return workers + worker.Spares }

// A board is the shared page as one process sees it. The producer owns the blobs
// and the counters; every process owns its line; anybody puts drops into the box.
// Each word is written whole, so that a process that is killed in the middle of
// anything leaves a board that can be gone on with.
type board struct {
	words []atomic.Uint64
	own   *atomic.Uint64      // of this process's line: pid above, viewers below
	pid   int                 // of this process
	alive func() map[int]bool // pids of the service's processes
}

const pidBits = 32

// openBoard is the board of c's service, without a line on it.
func openBoard(c *host.Context) *board {
	pid := os.Getpid()
	alive := func() map[int]bool {
		pids := map[int]bool{pid: true} // a process that serves alone has no number there
		for _, w := range c.Stats() {
			pids[w.PID] = true
		}
		return pids
	}
	return &board{words: c.Page, pid: pid, alive: alive}
}

// claim takes a line that nobody alive has, with no viewers on it.
func (b *board) claim() error {
	alive := b.alive()
	for at := linesAt; at < len(b.words); at += lineWords {
		line := &b.words[at]
		old := line.Load()
		pid := int(old >> pidBits)
		if pid != 0 && pid != b.pid && alive[pid] {
			continue
		}
		if b.own == nil && line.CompareAndSwap(old, uint64(b.pid)<<pidBits) {
			b.own = line
		} else if pid == b.pid {
			line.CompareAndSwap(old, 0) // of a predecessor that had this pid
		}
	}
	if b.own == nil {
		return fmt.Errorf("blobs: no line for process %d on the board", b.pid)
	}
	return nil
}

// join counts a viewer of this process, and reports whether the producer has to
// be told: one that rests is told after the viewer was counted, and looks at the
// count after it said that it rests, so that one of the two sees the other.
func (b *board) join() (resting bool) {
	b.own.Add(1)
	return b.words[wordResting].Load() != 0
}

// leave takes a viewer back.
func (b *board) leave() { b.own.Add(^uint64(0)) }

// viewersOf is the number of viewers by process. Those of a process that has died
// are gone with it, whatever its line says.
func (b *board) viewersOf() map[int]int {
	alive, viewers := b.alive(), make(map[int]int)
	for at := linesAt; at < len(b.words); at += lineWords {
		word := b.words[at].Load()
		if pid := int(word >> pidBits); alive[pid] {
			viewers[pid] += int(uint32(word))
		}
	}
	return viewers
}

// viewers is the number of people who look at the board.
func (b *board) viewers() (sum int) {
	for _, n := range b.viewersOf() {
		sum += n
	}
	return sum
}

// A blob is one of the blobs. The board is a unit square, whatever the shape of a
// screen; a radius is a share of its side, a velocity one of a step.
type blob struct {
	id     uint32
	hue    uint16 // degrees
	x, y   float32
	vx, vy float32
	r      float32 // at full size
	until  uint32  // the step at which it is gone
}

// radiusUnits is the largest radius of a blob's word.
const radiusUnits = 1<<16 - 1

// load reads the blob of a place; false: there is none.
func (b *board) load(place int) (blob, bool) {
	w := b.words[blobsAt+place*blobWords:]
	what := w[2].Load()
	if what == 0 {
		return blob{}, false
	}
	p := blob{
		id: uint32(what >> 32), hue: uint16(what >> 16),
		r: float32(uint16(what)) / radiusUnits, until: uint32(w[3].Load()),
	}
	p.x, p.y = unpack(w[0].Load())
	p.vx, p.vy = unpack(w[1].Load())
	if sum := p.x + p.y + p.vx + p.vy; !(sum > -8 && sum < 8) { // not a number, neither
		p.x, p.y, p.vx, p.vy = 0.5, 0.5, 0, 0
	}
	return p, true
}

// store writes the blob of a place; what makes it exist comes last.
func (b *board) store(place int, p *blob) {
	w := b.words[blobsAt+place*blobWords:]
	w[0].Store(pack(p.x, p.y))
	w[1].Store(pack(p.vx, p.vy))
	w[3].Store(uint64(p.until))
	w[2].Store(uint64(p.id)<<32 | uint64(p.hue)<<16 | uint64(p.r*radiusUnits))
}

func (b *board) remove(place int) { b.words[blobsAt+place*blobWords+2].Store(0) }

func pack(x, y float32) uint64 {
	return uint64(math.Float32bits(x))<<32 | uint64(math.Float32bits(y))
}

func unpack(word uint64) (x, y float32) {
	return math.Float32frombits(uint32(word >> 32)), math.Float32frombits(uint32(word))
}
