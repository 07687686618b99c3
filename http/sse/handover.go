// SPDX-License-Identifier: MIT

package sse

import (
	"encoding/binary"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"m0serve.dev/http/bus"
)

// A worker that takes a dead one's place has missed what was sent meanwhile. It
// asks its siblings for their journals before it takes a stream (contract row
// H8a), page by page, over a name that no door lets in:
//
//	ask   asker → sibling   the place after which the page begins, empty at first
//	have  sibling → asker   a page: channels, where their journals begin, frames
//	done  sibling → asker   the last page
//
// The asker asks for one page at a time, so an answer never fills its channel. Each
// name is followed by the number of the round: an answer to somebody who died while
// asking is old when his successor gets it.
const syncChannel = "\x01journal"

const (
	syncAsk  = "ask"
	syncHave = "have"
	syncDone = "done"
)

const (
	// pageBytesMax bounds a page; one frame always fits.
	pageBytesMax = 1 << 20
	// syncSettle passes before the first page is made. What was sent to this
	// worker before the asker could get it itself has arrived by then, and so
	// have frames that the bus held back for a lower id.
	syncSettle = 50 * time.Millisecond
	// recordBodyMax leaves room for the names around a body. A journal is handed
	// over from behind a frame that is larger.
	recordBodyMax = bus.MaxBody - 2*bus.MaxChannel
)

// A syncer waits for the answers of siblings.
type syncer struct {
	mu      sync.Mutex
	round   string
	waiting map[int]struct{} // indexes that have not said done
	done    chan struct{}    // closed when none is left; nil: nobody waits
}

// SyncJournals asks every ready sibling for its journals and waits until all
// have answered or timeout has passed; it reports whether all have. Call it once,
// after Start and before the first stream. Without a sibling it returns at once.
func (h *Hub) SyncJournals(timeout time.Duration) bool {
	targets := h.syncTargets()
	if len(targets) == 0 {
		return true
	}
	done := h.sync.start(targets)
	for _, i := range targets {
		h.askOrGiveUp(i, nil)
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		silent := h.sync.stop()
		h.cfg.log().Warn("sse: journals not handed over in time",
			"workers", silent, "timeout", timeout)
		return false
	}
}

func (h *Hub) syncTargets() (targets []int) {
	for i := range h.bus.Channels() {
		if i != h.bus.Index() && h.bus.Page().Worker(i).State() == bus.Ready {
			targets = append(targets, i)
		}
	}
	return targets
}

func (h *Hub) askOrGiveUp(index int, cursor []byte) {
	kind := h.sync.name(syncAsk)
	err := h.bus.SendTo(index, bus.Frame{Channel: syncChannel, Kind: kind, Body: cursor})
	if err != nil {
		h.cfg.log().Warn("sse: journals not asked for", "worker", index, "err", err)
		h.sync.finish(index)
	}
}

func (s *syncer) start(targets []int) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.round = strconv.FormatUint(rand.Uint64(), 36)
	s.done, s.waiting = make(chan struct{}), make(map[int]struct{})
	for _, i := range targets {
		s.waiting[i] = struct{}{}
	}
	return s.done
}

// stop ends the wait and says whose answers are missing.
func (s *syncer) stop() (silent []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	silent = slices.Sorted(maps.Keys(s.waiting))
	s.waiting, s.done = nil, nil
	return silent
}

func (s *syncer) name(kind string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return kind + " " + s.round
}

func (s *syncer) waitsFor(index int, round string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.waiting[index]
	return ok && round == s.round
}

func (s *syncer) finish(index int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.waiting, index)
	if len(s.waiting) == 0 && s.done != nil {
		close(s.done)
		s.done = nil
	}
}

// receiveReserved takes the server's own frames, on the receiving goroutine.
func (h *Hub) receiveReserved(f bus.Frame) {
	if f.Channel != syncChannel {
		if take := h.cfg.Reserved; take != nil {
			take(f)
		}
		return
	}
	if f.Origin == bus.NoOrigin {
		return
	}
	from := int(f.Origin)
	switch kind, round, _ := strings.Cut(f.Kind, " "); kind {
	case syncAsk:
		if len(f.Body) == 0 {
			time.AfterFunc(syncSettle, func() { h.answerAsk(from, round, nil) })
			return
		}
		h.answerAsk(from, round, f.Body)
	case syncHave, syncDone:
		if !h.sync.waitsFor(from, round) {
			return
		}
		cursor := h.takePage(f.Body)
		if kind == syncHave && cursor != nil {
			h.askOrGiveUp(from, cursor)
			return
		}
		h.sync.finish(from)
	}
}

func (h *Hub) answerAsk(asker int, round string, cursor []byte) {
	body, more := h.makePage(cursor)
	kind := syncDone
	if more {
		kind = syncHave
	}
	kind += " " + round
	err := h.bus.SendTo(asker, bus.Frame{Channel: syncChannel, Kind: kind, Body: body})
	if err != nil {
		h.cfg.log().Warn("sse: journal not handed over", "worker", asker, "err", err)
	}
}

// makePage packs records from behind the cursor: the channel, where its journal
// begins, and one frame, or id 0 for a journal without frames. more says that
// the page was full before all were packed.
func (h *Hub) makePage(cursor []byte) (page []byte, more bool) {
	in := reader{b: cursor}
	channel, id := string(in.sized()), in.number()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(h.journals)) {
		after := uint64(0)
		switch {
		case name < channel, name == channel && id == 0:
			continue
		case name == channel:
			after = id
		}
		floor, frames := h.journals[name].above(after, recordBodyMax)
		if len(frames) == 0 && after == 0 {
			frames = []*Frame{NewFrame(0, name, "", nil)}
		}
		for _, f := range frames {
			if len(page) > 0 && len(page)+len(f.wire) > pageBytesMax {
				return page, true
			}
			page = appendRecord(page, floor, f)
		}
	}
	return page, false
}

func appendRecord(dst []byte, floor uint64, f *Frame) []byte {
	dst = appendSized(dst, []byte(f.channel))
	dst = binary.BigEndian.AppendUint64(dst, floor)
	dst = binary.BigEndian.AppendUint64(dst, f.id)
	dst = appendSized(dst, []byte(f.kind))
	return appendSized(dst, f.Body())
}

func appendSized(dst, b []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(b)))
	return append(dst, b...)
}

// takePage puts a sibling's frames into the journals, and returns the place
// behind the last one: where the next page begins. nil: the page is damaged, or
// there was nothing in it.
func (h *Hub) takePage(page []byte) (cursor []byte) {
	in := reader{b: page}
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(in.b) > 0 {
		channel, floor, id := string(in.sized()), in.number(), in.number()
		kind, body := string(in.sized()), in.sized()
		if in.bad || bus.CheckName(channel) != nil {
			return nil
		}
		j := h.journalLocked(channel)
		floor = max(floor, j.bottom)
		h.changeLocked(j, func() { j.adopt(floor, NewFrame(id, channel, kind, body)) })
		cursor = binary.BigEndian.AppendUint64(appendSized(nil, []byte(channel)), id)
	}
	return cursor
}

// A reader takes a page apart.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) number() uint64 {
	if len(r.b) < 8 {
		r.b, r.bad = nil, true
		return 0
	}
	n := binary.BigEndian.Uint64(r.b)
	r.b = r.b[8:]
	return n
}

func (r *reader) sized() []byte {
	if len(r.b) < 4 {
		r.b, r.bad = nil, true
		return nil
	}
	n := binary.BigEndian.Uint32(r.b)
	if r.b = r.b[4:]; uint64(n) > uint64(len(r.b)) {
		r.b, r.bad = nil, true
		return nil
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}
