// SPDX-License-Identifier: MIT

package realtime

import (
	"fmt"

	"m0serve.dev/http/grip"
	"m0serve.dev/http/sse"
)

// answered goes on with what the application says. The stream is asking until it has
// all, so that what is published meanwhile waits. An error is why it cannot go on.
func (st *stream) answered(in *grip.Instruct, body []byte) error {
	st.mu.Lock()
	if st.over {
		st.mu.Unlock()
		return nil
	}
	err := st.adoptLocked(in)
	if err == nil {
		if body, err = in.BodyFilters().Append(nil, body, &st.in.Subscriber); err != nil {
			err = fmt.Errorf("the body: %w", err)
		}
	}
	st.mu.Unlock()
	if err != nil {
		return err
	}
	st.write(body)
	switch {
	case in.Hold == grip.HoldStream:
		st.resume()
	case in.Next.URI != "":
		return st.turn()
	default:
		st.end()
	}
	return nil
}

// adoptLocked makes the stream what a later answer says.
func (st *stream) adoptLocked(in *grip.Instruct) error {
	if in.Next.URI != "" {
		if err := st.link.point(in.Next); err != nil {
			return err
		}
	}
	switch in.Hold {
	case grip.NoHold:
		return nil
	case grip.HoldResponse:
		return fmt.Errorf("Grip-Hold: %q: a stream goes on with a stream", in.Hold)
	}
	st.link.pages = 0
	meta := st.in.Meta
	for _, c := range st.in.Channels {
		if !has(in.Channels, c.Name) {
			st.s.hub.Unsubscribe(st.slot, c.Name)
		}
	}
	st.in = newSubscriber(in)
	if in.Meta == nil {
		st.in.Meta = meta
	}
	for _, c := range in.Channels {
		if err := st.s.hub.Subscribe(st.slot, c.Name); err != nil {
			return err
		}
	}
	if in.KeepAlive.Timeout > 0 {
		st.keep.replace(st, in.KeepAlive)
	}
	return nil
}

func has(channels []grip.Channel, name string) bool {
	for _, c := range channels {
		if c.Name == name {
			return true
		}
	}
	return false
}

// write puts bytes into the stream. It is not called with mu held: what is pushed
// comes by pass.
func (st *stream) write(b []byte) {
	if len(b) > 0 {
		st.held().Push(sse.NewFrame(0, "", "", b))
	}
}

// end is the end that the application wants.
func (st *stream) end() {
	st.mu.Lock()
	st.over = true
	st.mu.Unlock()
	st.finish()
}

// turn asks for the next page.
func (st *stream) turn() error {
	st.mu.Lock()
	st.link.pages++
	pages := st.link.pages
	st.mu.Unlock()
	if pages > pagesMax {
		return fmt.Errorf("%d answers in a row have a next link and no hold", pages)
	}
	st.send()
	return nil
}

// resume sends what was published while the application was asked, as far as its
// answer has not got it, and goes on live.
func (st *stream) resume() {
	for {
		st.mu.Lock()
		l := st.link
		if st.over {
			st.mu.Unlock()
			return
		}
		if len(l.pending) == 0 && !l.missed {
			l.asking, l.gaps = false, 0
			st.mu.Unlock()
			l.wait()
			return
		}
		content, later, meets := st.pendingLocked()
		if !meets {
			l.gaps++
		}
		gaps := l.gaps
		st.mu.Unlock()
		st.write(content)
		for _, do := range later {
			do()
		}
		if !meets {
			st.again(gaps)
			return
		}
	}
}

// pendingLocked is what pending items say; meets is false where they and the answer
// leave a gap.
func (st *stream) pendingLocked() (content []byte, later []func(), meets bool) {
	l := st.link
	pending, missed := l.pending, l.missed
	l.pending, l.missed = nil, false
	for i, it := range pending {
		switch {
		case st.in.channel(it.Channel) == nil, st.isKnownLocked(it, pending[i:]):
			continue
		case st.in.isGap(it):
			l.pending, l.missed = pending[i:], missed
			return content, later, false
		}
		part, err := st.applyLocked(it, func(do func()) { later = append(later, do) })
		if err != nil {
			st.s.unfit(it, err)
			return content, append(later, st.cut), true
		}
		content = append(content, part...)
	}
	return content, later, !missed
}

// isKnownLocked reports whether the answer, which is up to the last id of its channel,
// has an item: that id is its own, or that of one that came behind it.
func (st *stream) isKnownLocked(it *grip.Item, from []*grip.Item) bool {
	last := st.in.channel(it.Channel).PrevID
	if last == "" {
		return false
	}
	for _, later := range from {
		if later.Channel == it.Channel && later.ID == last {
			return true
		}
	}
	return false
}
