// SPDX-License-Identifier: MIT

package realtime

import (
	"fmt"
	"sync"
	"time"

	"m0serve.dev/http/grip"
	"m0serve.dev/http/loop"
	"m0serve.dev/http/sse"
	"m0serve.dev/wsgi/internal/realtime/clock"
)

// A stream is one held answer that goes on. mu guards what stands below it.
//
//	held ── a gap, a hint, a quiet time ──▶ asking ── an answer that holds ──▶ held
//	  └── close, an answer without a hold ──▶ over      └── none, too much ──▶ cut
type stream struct {
	s        *Service
	isEvents bool

	sent clock.Stamp // when something was sent last
	link *link       // nil: the application is not asked again
	gone *question   // nil: the application does not hear that the client went away

	mu   sync.Mutex
	keep *keepAlive // nil: the hub's heartbeat, or none
	in   subscriber
	slot *sse.Slot // nil until it is held
	over bool      // it ends once its queue is empty
}

// stream begins x's answer and holds it.
func (s *Service) stream(x *loop.Exchange, a *Answer, in *grip.Instruct) error {
	if a.Status < 200 || a.Status == 204 || a.Status == 304 {
		return fmt.Errorf("realtime: status %d: an answer of this status has no body; "+
			"a stream needs one that has, such as 200", a.Status)
	}
	st := &stream{s: s, isEvents: a.isEvents(), in: newSubscriber(in)}
	hello, err := in.BodyFilters().Append(nil, a.Body, &st.in.Subscriber)
	if err != nil {
		return fmt.Errorf("the body: %w", err)
	}
	if st.link, err = newLink(st, x, in.Next); err != nil {
		return err
	}
	if st.gone, err = newGone(x, in.Gone); err != nil {
		return err
	}
	if in.KeepAlive.Timeout > 0 {
		st.keep = newKeepAlive(st, in.KeepAlive)
	}
	if err := send(x, a, false); err != nil {
		return err
	}
	st.sent.Set(time.Now())
	lastID := lastEventID(x)
	if !st.isEvents || !catchesUp(in, lastID) {
		lastID = ""
	}
	slot, err := s.hub.HoldExchange(x, lastID, sse.HoldOptions{
		Channels: st.in.names(), Hello: hello, Raw: !st.isEvents,
		Quiet: !st.isEvents || st.keep != nil, Pass: st.pass, OnClose: st.left, OnCut: st.missed,
	})
	if err != nil {
		return err
	}
	st.begin(slot, in)
	return nil
}

// begin says that the stream is held. What it has missed already it asks for.
func (st *stream) begin(slot *sse.Slot, in *grip.Instruct) {
	st.mu.Lock()
	st.slot = slot
	over, keep := st.over, st.keep
	st.mu.Unlock()
	if over {
		slot.Finish(loop.EndClean)
	}
	if keep != nil {
		keep.start()
	}
	switch {
	case st.link == nil:
	case in.Hold == grip.NoHold, st.s.isBehind(in.Channels): // of pages, or late
		st.ask()
	default:
		st.link.wait()
	}
}

// pass says what of a frame this stream gets.
func (st *stream) pass(f *sse.Frame) *sse.Frame {
	d, isItem := f.Note().(*delivery)
	switch {
	case isItem:
		f = st.take(f, d)
	case f.Channel() != "" && !st.isEvents:
		f = st.s.plain.frame(f)
	}
	if f != nil {
		st.sent.Set(time.Now())
	}
	return f
}

// take says what of an item this stream gets at once.
func (st *stream) take(f *sse.Frame, d *delivery) *sse.Frame {
	if d.item.Stream == nil {
		return nil
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	switch {
	case st.over:
		return nil
	case st.link.isAsking():
		st.link.park(d.item)
		return nil
	case st.link != nil && st.in.isGap(d.item):
		st.link.park(d.item)
		d.later(st.ask)
		return nil
	}
	content, err := st.applyLocked(d.item, d.later)
	switch {
	case err != nil:
		st.s.unfit(d.item, err)
		d.later(st.cut)
		return nil
	case content == nil:
		return nil
	case sameBytes(content, d.item.Stream.Content):
		return f // one frame for all
	}
	return sse.NewFrame(0, f.Channel(), "", content)
}

// applyLocked does what an item says, and returns what is to be sent; nil: nothing.
func (st *stream) applyLocked(it *grip.Item, later func(func())) ([]byte, error) {
	part := it.Stream
	content, ok, err := st.in.filter(it, part.Filters, part.Content)
	switch {
	case err != nil, !ok:
		return nil, err
	case part.Action == grip.Close:
		st.over = true
		later(st.finish)
	case part.Action == grip.Hint:
		later(st.ask)
	case part.Action == grip.Send:
		return content, nil
	}
	return nil, nil
}

// sameBytes reports whether two slices are one.
func sameBytes(a, b []byte) bool {
	return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0]
}

// held is the slot, nil as long as there is none.
func (st *stream) held() *sse.Slot {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.slot
}

// finish ends the stream behind what waits for it.
func (st *stream) finish() {
	if slot := st.held(); slot != nil { // else begin does it
		slot.Finish(loop.EndClean)
	}
}

// cut breaks the stream off, so that its client comes back.
func (st *stream) cut() {
	st.s.counts.cut.Add(1)
	st.mu.Lock()
	st.over = true
	st.mu.Unlock()
	if slot := st.held(); slot != nil {
		slot.Close(loop.EndCut)
	}
}

// missed is called when the stream is cut because its queue was full, or frames were
// lost on their way to this worker.
func (st *stream) missed() {
	st.mu.Lock()
	channels := st.in.Channels
	st.mu.Unlock()
	st.s.slow(channels)
}

// left is called once, when the stream is over.
func (st *stream) left(why loop.Reason) {
	if st.gone != nil && isGone(why) {
		st.s.asker.tell(*st.gone)
	}
	st.mu.Lock()
	st.over = true
	keep := st.keep
	st.mu.Unlock()
	if keep != nil {
		keep.stop()
	}
	if st.link != nil {
		st.link.stop()
	}
}
