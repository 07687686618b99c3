// SPDX-License-Identifier: MIT

package sse

import (
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
	floor  uint64   // a client that has this id or a higher one can be caught up
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

// Insert puts the frame in its place by id. One that is there already, has no
// id, or is older than all a full journal keeps, is passed over.
func (j *Journal) Insert(f *Frame) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.max <= 0 {
		j.floor = max(j.floor, f.id)
		return false
	}
	at, found := j.searchLocked(f.id)
	if f.id == 0 || found {
		return false
	}
	if at == 0 && len(j.frames) >= j.max {
		j.floor = max(j.floor, f.id) // who lacks it cannot be caught up
		return false
	}
	j.frames = slices.Insert(j.frames, at, f)
	j.trimLocked()
	return true
}

func (j *Journal) trimLocked() {
	for len(j.frames) > j.max {
		j.floor = max(j.floor, j.frames[0].id)
		j.frames[0] = nil
		j.frames = j.frames[1:]
	}
}

func (j *Journal) searchLocked(id uint64) (at int, found bool) {
	return slices.BinarySearchFunc(j.frames, id, func(f *Frame, id uint64) int {
		switch {
		case f.id < id:
			return -1
		case f.id > id:
			return 1
		}
		return 0
	})
}

// Restore puts back frames that an earlier process stored, and passes the
// highest id to raise (nil: nobody), so that ids go on above it. What it knows
// begins at the oldest of them.
func (j *Journal) Restore(raise func(id uint64), frames ...*Frame) {
	j.mu.Lock()
	defer j.mu.Unlock()
	highest := uint64(0)
	for _, f := range frames {
		if f.id == 0 {
			continue
		}
		highest = max(highest, f.id)
		if at, found := j.searchLocked(f.id); !found {
			j.frames = slices.Insert(j.frames, at, f)
		}
	}
	if len(j.frames) > 0 {
		j.floor = min(j.floor, j.frames[0].id)
	}
	j.trimLocked()
	if raise != nil && highest > 0 {
		raise(highest)
	}
}

// adopt takes over what a sibling keeps: its frames, and from where it knows.
func (j *Journal) adopt(floor uint64, frames []*Frame) {
	j.mu.Lock()
	j.floor = min(j.floor, floor)
	j.mu.Unlock()
	j.Restore(nil, frames...)
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
	if id < j.floor {
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

// state is what a sibling needs to take over.
func (j *Journal) state() (floor uint64, frames []*Frame) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.floor, slices.Clone(j.frames)
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
