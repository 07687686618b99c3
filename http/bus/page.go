// SPDX-License-Identifier: MIT

package bus

import (
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"m0serve.dev/http/internal/sys"
)

// The shared page, in words of 8 bytes (contract row P5a).
const (
	wordID      = 0 // the last event id given out
	wordMagic   = 2 // pageMagic in the upper 48 bits, pageVersion in the lower 16
	wordWorkers = 3 // number of lines that follow
	headWords   = 8
	lineWords   = 8

	pageMagic   = 0x6d3070616765 // "m0page"
	pageVersion = 1
)

// MaxWorkers bounds the lines of a page, spares included.
const MaxWorkers = 1024

// A Page is the memory that all processes of one service share: the event id
// and a line per worker. Every method is one or a few atomic operations and
// may be called from any goroutine of any process. No value on it can make a
// reader crash: whatever a broken process writes is read as a plausible value.
//
// The mapping lives as long as the process.
type Page struct {
	words []atomic.Uint64
	lines []Line
}

// NewPage makes the page for so many workers, spares for a rolling restart
// included, before any of them starts. The id counter begins at the wall clock
// in microseconds, so that no incarnation of a service reuses an id (H8). The
// descriptor is the caller's: it goes to the workers, closed on exec.
func NewPage(workers int) (*Page, int, error) {
	if workers < 1 || workers > MaxWorkers {
		return nil, -1, fmt.Errorf("bus: page for %d workers, want 1 to %d", workers, MaxWorkers)
	}
	words, fd, err := sys.BusShared(headWords + workers*lineWords)
	if err != nil {
		return nil, -1, fmt.Errorf("bus: new page: %w", err)
	}
	return initPage(words, workers), fd, nil
}

// OpenPage maps an inherited page and leaves fd to its owner. Anything else
// than a page of this version is ErrPage: the process was handed a descriptor
// that it must not use and leaves with 78.
func OpenPage(fd int) (*Page, error) {
	words, err := sys.BusMap(fd, headWords+MaxWorkers*lineWords)
	if err != nil {
		return nil, fmt.Errorf("%w: descriptor %d: %w", ErrPage, fd, err)
	}
	if len(words) < headWords+lineWords {
		return nil, fmt.Errorf("%w: descriptor %d: %d words", ErrPage, fd, len(words))
	}
	mark := words[wordMagic].Load()
	if mark>>16 != pageMagic {
		return nil, fmt.Errorf("%w: descriptor %d: magic %#x, want %#x",
			ErrPage, fd, mark>>16, uint64(pageMagic))
	}
	if mark&0xffff != pageVersion {
		return nil, fmt.Errorf("%w: descriptor %d: version %d, this program speaks %d",
			ErrPage, fd, mark&0xffff, pageVersion)
	}
	workers := words[wordWorkers].Load()
	if uint64(len(words)) != headWords+workers*lineWords {
		return nil, fmt.Errorf("%w: descriptor %d: %d words for %d workers",
			ErrPage, fd, len(words), workers)
	}
	return newPage(words), nil
}

// localPage is the page of a program that is one process.
func localPage() *Page {
	return initPage(make([]atomic.Uint64, headWords+lineWords), 1)
}

func initPage(words []atomic.Uint64, workers int) *Page {
	words[wordID].Store(uint64(time.Now().UnixMicro()))
	words[wordWorkers].Store(uint64(workers))
	words[wordMagic].Store(pageMagic<<16 | pageVersion)
	return newPage(words)
}

func newPage(words []atomic.Uint64) *Page {
	p := &Page{words: words, lines: make([]Line, len(words)/lineWords-1)}
	for i := range p.lines {
		at := headWords + i*lineWords
		p.lines[i].words = words[at : at+lineWords]
	}
	return p
}

// NextID takes the next event id. An id belongs to the frame that is published
// with it: one that never is costs the frames behind it the window.
func (p *Page) NextID() uint64 { return p.words[wordID].Add(1) }

// CurrentID is the last id given out.
func (p *Page) CurrentID() uint64 { return p.words[wordID].Load() }

// RaiseID makes every later id greater than min: for an application that
// restored frames of an earlier incarnation.
func (p *Page) RaiseID(min uint64) {
	for {
		now := p.words[wordID].Load()
		if now >= min || p.words[wordID].CompareAndSwap(now, min) {
			return
		}
	}
}

// Workers is the number of lines.
func (p *Page) Workers() int { return len(p.lines) }

// Worker returns the line of a worker; index is 0 to Workers()-1.
func (p *Page) Worker(index int) *Line { return &p.lines[index] }

// NewWords makes zeroed words of shared memory for an application's own use,
// to be handed to the workers like the page.
func NewWords(count int) ([]atomic.Uint64, int, error) {
	if count < 1 || count > maxWords {
		return nil, -1, fmt.Errorf("bus: %d shared words, want 1 to %d", count, maxWords)
	}
	words, fd, err := sys.BusShared(count)
	if err != nil {
		return nil, -1, fmt.Errorf("bus: new shared words: %w", err)
	}
	return words, fd, nil
}

// OpenWords maps inherited words and leaves fd to its owner.
func OpenWords(fd int) ([]atomic.Uint64, error) {
	words, err := sys.BusMap(fd, maxWords)
	if err != nil {
		return nil, fmt.Errorf("%w: descriptor %d: %w", ErrPage, fd, err)
	}
	return words, nil
}

// maxWords bounds an application's page: 64 MiB.
const maxWords = 8 << 20

// Uptime is the clock of heartbeats: the system's monotonic one, the same in
// every process.
func Uptime() time.Duration { return sys.Uptime() }

// never is the silence of a worker that never beat.
const never = time.Duration(math.MaxInt64)
