// SPDX-License-Identifier: MIT

package sse

import (
	"encoding/binary"
	"sync"
	"time"

	"m0serve.dev/http/bus"
)

// A worker that takes a dead one's place has missed what was sent meanwhile. It
// asks its siblings for their journals before it takes a stream (contract row
// H8a), over a name that no door lets in:
//
//	ask   asker → sibling   nothing
//	have  sibling → asker   one channel: where its journal begins, then frames
//	done  sibling → asker   nothing more comes
const syncChannel = "\x01journal"

const (
	syncAsk  = "ask"
	syncHave = "have"
	syncDone = "done"
)

// haveBytesMax bounds one answer; a journal goes out in as many as it needs.
const haveBytesMax = 1 << 20

// A syncer waits for the answers of siblings.
type syncer struct {
	mu      sync.Mutex
	waiting map[int]struct{} // indexes that have not said done
	done    chan struct{}    // closed when none is left; nil: nobody waits
}

// SyncJournals asks every ready sibling for its journals and waits until all
// have answered or timeout has passed; it reports whether all have. Call it
// after Start and before the first stream. With no sibling it returns at once.
func (h *Hub) SyncJournals(timeout time.Duration) bool {
	done := make(chan struct{})
	asked := h.syncTargets()
	if len(asked) == 0 {
		return true
	}
	h.sync.mu.Lock()
	h.sync.waiting, h.sync.done = asked, done
	targets := make([]int, 0, len(asked))
	for i := range asked {
		targets = append(targets, i)
	}
	h.sync.mu.Unlock()
	for _, i := range targets {
		if err := h.bus.SendTo(i, bus.Frame{Channel: syncChannel, Kind: syncAsk}); err != nil {
			h.sync.answered(i)
		}
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		h.cfg.log().Warn("sse: a sibling did not give its journal in time", "timeout", timeout)
		return false
	}
}

func (h *Hub) syncTargets() map[int]struct{} {
	targets := make(map[int]struct{})
	for i := range h.bus.Channels() {
		if i != h.bus.Index() && h.bus.Page().Worker(i).State() == bus.Ready {
			targets[i] = struct{}{}
		}
	}
	return targets
}

func (s *syncer) answered(index int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.waiting[index]; !ok {
		return
	}
	delete(s.waiting, index)
	if len(s.waiting) == 0 && s.done != nil {
		close(s.done)
		s.done = nil
	}
}

// receiveReserved takes the server's own frames.
func (h *Hub) receiveReserved(f bus.Frame) {
	if f.Channel != syncChannel || f.Origin == bus.NoOrigin {
		return
	}
	switch f.Kind {
	case syncAsk:
		// Off the receiving goroutine: an answer may be long.
		go h.answerAskOffLoop(int(f.Origin))
	case syncHave:
		h.takeHave(f.Body)
	case syncDone:
		h.sync.answered(int(f.Origin))
	}
}

func (h *Hub) answerAskOffLoop(asker int) {
	h.mu.Lock()
	journals := make(map[string]*Journal, len(h.journals))
	for name, j := range h.journals {
		journals[name] = j.Journal
	}
	h.mu.Unlock()
	for name, j := range journals {
		floor, frames := j.state()
		for {
			body, left := encodeHave(name, floor, frames)
			err := h.bus.SendTo(asker, bus.Frame{Channel: syncChannel, Kind: syncHave, Body: body})
			if err != nil {
				h.cfg.log().Warn("sse: journal not handed over", "worker", asker, "err", err)
				return
			}
			if len(left) == 0 {
				break
			}
			frames = left
		}
	}
	_ = h.bus.SendTo(asker, bus.Frame{Channel: syncChannel, Kind: syncDone})
}

// encodeHave packs as many frames as fit, at least one, newest part last.
func encodeHave(channel string, floor uint64, frames []*Frame) (body []byte, left []*Frame) {
	body = binary.BigEndian.AppendUint64(body, floor)
	body = appendSized(body, []byte(channel))
	for i, f := range frames {
		if i > 0 && len(body)+len(f.wire) > haveBytesMax {
			return body, frames[i:]
		}
		body = binary.BigEndian.AppendUint64(body, f.id)
		body = appendSized(body, []byte(f.kind))
		body = appendSized(body, f.Body())
	}
	return body, nil
}

func appendSized(dst, b []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(b)))
	return append(dst, b...)
}

// takeHave puts a sibling's frames into the journal. One that is damaged is
// passed over from the damage on.
func (h *Hub) takeHave(body []byte) {
	in := reader{b: body}
	floor, channel := in.number(), string(in.sized())
	if in.bad || bus.CheckName(channel) != nil {
		return
	}
	var frames []*Frame
	for len(in.b) > 0 {
		id, kind, body := in.number(), string(in.sized()), in.sized()
		if in.bad {
			break
		}
		frames = append(frames, NewFrame(id, channel, kind, body))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.journalLocked(channel).adopt(floor, frames)
}

// A reader takes a have apart.
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
	n := int(binary.BigEndian.Uint32(r.b))
	if r.b = r.b[4:]; n > len(r.b) {
		r.b, r.bad = nil, true
		return nil
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}
