// SPDX-License-Identifier: MIT

package sse

import (
	"cmp"
	"slices"
	"strconv"
	"sync"
)

// JournalDefault is how many frames a journal keeps where nobody says.
const JournalDefault = 64

// A Journal keeps the last frames of one channel, ordered by id, for those who
// come back. It works without anything else of this package. Its methods may be
// called from any goroutine.
type Journal struct {
	max int

	mu     sync.Mutex
	frames []*Frame // ascending by id, one for each id
	bytes  int      // of them
	floor  uint64   // a client that has this id or a higher one can be caught up
	gone   uint64   // highest id that was let go for want of room: floor is never below
	// Not one that has an id above lateID and up to lateTop: a frame came late,
	// after those had gone out.
	lateID, lateTop uint64
}

// NewJournal makes a journal of the last max frames (0: JournalDefault;
// negative: none). from is the id that was current when it began: it knows what
// came after it.
func NewJournal(max int, from uint64) *Journal {
	switch {
	case max == 0:
		max = JournalDefault
	case max < 0:
		max = 0
	}
	return &Journal{max: max, floor: from}
}

// Insert puts the frame in its place by id and reports whether it is kept: one
// that is there already, has no id, or is older than all a full journal keeps,
// is not.
func (j *Journal) Insert(f *Frame) bool {
	return j.insert(f) && j.Frame(f.id) == f
}

// insert is Insert, and reports whether the frame is new here.
func (j *Journal) insert(f *Frame) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	fresh := j.insertLocked(f)
	j.trimLocked(j.max)
	return fresh
}

func (j *Journal) insertLocked(f *Frame) bool {
	at, found := j.searchLocked(f.id)
	if f.id == 0 || found {
		return false
	}
	j.frames = slices.Insert(j.frames, at, f)
	j.bytes += len(f.wire)
	return true
}

// trimLocked keeps count frames. Who lacks one that goes cannot be caught up.
func (j *Journal) trimLocked(count int) {
	for len(j.frames) > count {
		f := j.frames[0]
		j.gone = max(j.gone, f.id)
		j.floor = max(j.floor, f.id)
		j.bytes -= len(f.wire)
		j.frames[0] = nil
		j.frames = j.frames[1:]
	}
}

// shrink keeps the newest frames that fit into bytes, and one at least.
func (j *Journal) shrink(bytes int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for j.bytes > bytes && len(j.frames) > 1 {
		j.trimLocked(len(j.frames) - 1)
	}
}

// forget gives up the claim to know what came after an id below floor.
func (j *Journal) forget(floor uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.floor = max(j.floor, floor)
}

// noteLate says that the frame id came after others up to top had gone out.
func (j *Journal) noteLate(id, top uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.lateTop <= j.floor {
		j.lateID = id
	}
	j.lateID, j.lateTop = min(j.lateID, id), max(j.lateTop, top)
}

// size is the bytes it keeps.
func (j *Journal) size() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.bytes
}

func (j *Journal) searchLocked(id uint64) (at int, found bool) {
	return slices.BinarySearchFunc(j.frames, id, func(f *Frame, id uint64) int {
		return cmp.Compare(f.id, id)
	})
}

// Restore puts back frames that an earlier process stored, and passes the
// highest id to raise (nil: nobody), so that ids go on above it. What it knows
// begins at the oldest of them.
func (j *Journal) Restore(raise func(id uint64), frames ...*Frame) {
	lowest, highest := ^uint64(0), uint64(0)
	for _, f := range frames {
		if f.id != 0 {
			lowest, highest = min(lowest, f.id), max(highest, f.id)
		}
	}
	j.adopt(lowest, frames...)
	if raise != nil && highest > 0 {
		raise(highest)
	}
}

// adopt takes over what somebody keeps who knows what came after floor.
func (j *Journal) adopt(floor uint64, frames ...*Frame) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.floor = max(min(j.floor, floor), j.gone)
	for _, f := range frames {
		j.insertLocked(f)
	}
	j.trimLocked(j.max)
}

// Frame is the frame with that id, nil when it is not kept.
func (j *Journal) Frame(id uint64) *Frame {
	j.mu.Lock()
	defer j.mu.Unlock()
	if at, found := j.searchLocked(id); found {
		return j.frames[at]
	}
	return nil
}

// Since gives the frames above id. known is false when the journal cannot tell
// what came after id, because it is older than all that is kept: the client
// needs the whole state then.
func (j *Journal) Since(id uint64) (frames []*Frame, known bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if id < j.floor || j.lateID < id && id <= j.lateTop {
		return nil, false
	}
	at, found := j.searchLocked(id)
	if found {
		at++
	}
	return slices.Clone(j.frames[at:]), true
}

// Len is the number of frames kept.
func (j *Journal) Len() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.frames)
}

// above is what a sibling needs to take over: the frames above id, and from
// where they are all. Those up to one with a body above bodyMax are left out.
func (j *Journal) above(id uint64, bodyMax int) (floor uint64, frames []*Frame) {
	j.mu.Lock()
	defer j.mu.Unlock()
	floor = j.floor
	if j.lateTop > floor {
		floor = j.lateTop + 1 // who lacks the late frame is not told apart there
	}
	at, found := j.searchLocked(id)
	if found {
		at++
	}
	frames = j.frames[at:]
	for i, f := range frames {
		if len(f.Body()) > bodyMax {
			floor, frames = max(floor, f.id), j.frames[at+i+1:]
		}
	}
	return floor, slices.Clone(frames)
}

// CatchUp answers a Last-Event-ID header. A client without one is new and gets
// nothing; one that names an id gets the frames above it; an id above current
// is clamped, so that the client goes on live. Where the journal cannot tell,
// because the id is too old or none of ours, it calls reset: never silence.
func (j *Journal) CatchUp(header string, current uint64, reset func()) []*Frame {
	if header == "" {
		return nil
	}
	id, ok := parseID(header)
	if !ok {
		reset()
		return nil
	}
	frames, known := j.Since(min(id, current))
	if !known {
		reset()
	}
	return frames
}

// parseID reads an id as this package writes it: digits and nothing else. A
// number beyond 64 bits is one from the future.
func parseID(s string) (id uint64, ok bool) {
	if s == "" || len(s) > 64 {
		return 0, false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
	}
	id, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return ^uint64(0), true
	}
	return id, true
}
