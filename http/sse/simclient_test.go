// SPDX-License-Identifier: MIT

//go:build linux

package sse

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"m0serve.dev/http/loop"
)

// A simClient is an EventSource that connects, reads, leaves and comes back to
// whatever worker, and writes down what it got.
type simClient struct {
	rng      *rand.Rand
	channels []string
	limits   Limits
	worker   *simWorker
	slot     *Slot
	held     *simHeld
	lastID   string // as its Last-Event-ID
	since    uint64 // of its page; 0: it has none yet
	knew     int    // events that were sent when its page was made
	met      int    // events that were sent when it connected
	log      []simEntry
	visits   []int // events that were sent at each connect
	seen     simSeen
}

// A simEntry is what a client was told, in order.
type simEntry struct {
	id   uint64 // of an event or of a reset
	kind string // "n", "reset", "gap"
	sent int    // events that a reset stands for, or a gap may
}

// A simHeld is the loop's side: the slot is asked behind a wake alone.
type simHeld struct{ woken, closed bool }

func (h *simHeld) Wake()             { h.woken = true }
func (h *simHeld) Close(loop.Ending) { h.closed, h.woken = true, true }

func newSimClient(rng *rand.Rand) *simClient {
	c := &simClient{rng: rng, channels: [][]string{{"a"}, {"b"}, {"a", "b"}}[rng.IntN(3)]}
	c.limits = Limits{Frames: 2 + rng.IntN(6)}
	c.limits.Policy = []Policy{Disconnect, DropOldest, DropNewest}[rng.IntN(3)]
	return c
}

// act does one of the things that clients do.
func (c *simClient) act(s *simService) {
	switch {
	case c.slot == nil:
		c.connect(s)
	case c.rng.IntN(12) == 0:
		c.leave()
	default:
		c.read(s, 1+c.rng.IntN(4))
		c.checkQueue(s)
	}
}

func (c *simClient) checkQueue(s *simService) {
	if c.slot == nil {
		return
	}
	// What a stream begins with is bounded by the journals, what comes then by the limits.
	if n, _ := c.slot.queued(); n > c.limits.Frames+1+len(c.channels)*s.journal {
		s.t.Errorf("%d frames wait for a stream, want at most %d", n, c.limits.Frames)
	}
}

func (c *simClient) connect(s *simService) {
	w := s.up()
	if w == nil || !w.ready.Load() {
		return
	}
	if c.lastID == "" && c.since == 0 {
		c.since, c.knew = w.hub.LastID(), s.seen.events // the page is rendered
	}
	c.met = s.seen.events
	c.visits = append(c.visits, c.met)
	slot, err := w.hub.resume(c.lastID, &HoldOptions{
		Channels: c.channels, Limits: &c.limits, Since: c.since,
	})
	if err != nil {
		s.t.Errorf("resume: %v", err)
		return
	}
	c.worker, c.slot, c.held = w, slot, &simHeld{}
	if n, _ := slot.queued(); c.lastID != "" && n > 1 {
		c.seen.replays++
	}
	slot.Park(c.held, false)
}

// leave is the end of a connection, without a word.
func (c *simClient) leave() {
	if c.slot != nil {
		c.slot.Closed(loop.ClosedByPeer)
	}
	c.slot, c.worker = nil, nil
}

// read takes so many frames, as the loop does: until there is none, behind a wake.
func (c *simClient) read(s *simService, frames int) {
	for c.slot != nil && c.held.woken && frames > 0 {
		closed := c.held.closed
		c.held.woken = closed
		b := c.slot.Next()
		switch {
		case b != nil:
			frames--
			c.held.woken = true
			c.hear(string(b), s)
		case closed:
			c.seen.cuts++
			c.leave()
		}
	}
}

// hear takes one block of the stream apart.
func (c *simClient) hear(block string, s *simService) {
	e := simEntry{}
	for line := range strings.Lines(block) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name {
		case "event":
			e.kind = value
		case "id":
			c.lastID = value
			e.id, _ = strconv.ParseUint(value, 10, 64)
		}
	}
	switch e.kind {
	case "reset":
		e.sent = c.met // the whole state is read now, or later
		c.seen.resets++
	case "gap":
		e.sent = s.seen.events
		c.seen.gaps++
	case "":
		return // a comment, or when to come back
	}
	c.log = append(c.log, e)
}

// catchUp comes back if need be and reads everything.
func (c *simClient) catchUp(s *simService) {
	if c.slot == nil {
		c.connect(s)
	}
	c.read(s, 1000)
}

// check wants that the client knows everything, or that it does not.
func (c *simClient) check(s *simService) simSeen {
	got, last := map[uint64]bool{}, uint64(0)
	for _, e := range c.log {
		if e.kind == "n" {
			if e.id <= last {
				s.t.Errorf("event %d came behind %d: %s", e.id, last, c.story(s))
			}
			if known := s.events[e.id]; known == nil || !slices.Contains(c.channels, known.channel) {
				s.t.Errorf("event %d is none of the channels %v", e.id, c.channels)
			}
			got[e.id] = true
		}
		if e.kind != "gap" {
			last = e.id
		}
	}
	for id, e := range s.events {
		switch {
		case got[id], e.sent <= c.knew, !e.sureBy, !slices.Contains(c.channels, e.channel):
		case c.moved(s, e):
		case !c.wasTold(e):
			s.t.Errorf("event %d of worker %d was lost in silence: %s", id, e.by.index, c.story(s))
		}
	}
	return c.seen
}

// moved reports a client that connected after a higher id than that of e had been
// sent, and e had not for longer than the bus waits; or whose page named an id that
// was not sent yet. What is late for one worker is not for another, so no worker
// knows what such a client has.
func (c *simClient) moved(s *simService, e *simEvent) bool {
	if e.id <= c.since && len(c.visits) > 1 {
		return true
	}
	for _, higher := range s.events {
		if higher.id > e.id && higher.sent < e.sent && e.at.Sub(higher.at) >= simWindow {
			for _, met := range c.visits {
				if met >= higher.sent {
					return true
				}
			}
		}
	}
	return false
}

// wasTold reports whether a reset or a gap stands for an event. A gap may be told
// before the place where frames are missing.
func (c *simClient) wasTold(e *simEvent) bool {
	return slices.ContainsFunc(c.log, func(told simEntry) bool {
		return told.kind != "n" && told.sent >= e.sent
	})
}

func (c *simClient) story(s *simService) string {
	var b strings.Builder
	fmt.Fprintf(&b, "channels %v, %v, since %d:", c.channels, c.limits.Policy, c.since)
	for _, e := range c.log {
		fmt.Fprintf(&b, " %s %d", e.kind, e.id)
	}
	return b.String()
}
