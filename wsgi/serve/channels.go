// SPDX-License-Identifier: MIT

//go:build cgo && linux

package serve

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/loop"
	"m0serve.dev/http/publish"
	"m0serve.dev/http/sse"
	engine "m0serve.dev/wsgi/internal/python"
)

// What may wait for one subscription (contract row R4): the oldest goes first. The
// bytes are shared by all subscriptions that wait for the same message.
const (
	messagesMax      = 256
	messagesBytesMax = 16 << 20
)

// channels are what an ASGI application publishes to and subscribes to, in this
// process: a subscription is a slot of the hub, and its wake rouses the event loop.
// Its methods may be called from any thread.
type channels struct {
	hub    *sse.Hub
	door   *publish.Door
	begin  func()                       // the deliveries of the hub, once
	rouse  atomic.Pointer[func(uint32)] // tells the guest of news; nil: before it serves
	limits sse.Limits

	mu   sync.Mutex
	subs []*subscription // by token; nil: a free one
	free []uint32
}

// A subscription is one iterator of the application's. It is the loop.Held of its
// slot.
type subscription struct {
	token uint32
	of    *channels
	slot  *sse.Slot
	told  atomic.Bool // the guest is, and has not found the slot empty since
	over  atomic.Bool

	mu      sync.Mutex
	channel string      // of rest
	rest    []sse.Event // of a frame that had several
}

func newChannels(hub *sse.Hub, door *publish.Door, begin func()) *channels {
	return &channels{hub: hub, door: door, begin: begin, limits: sse.Limits{
		Frames: messagesMax, Bytes: messagesBytesMax, Policy: sse.DropOldest,
		Gap: func(missing int) []byte { return strconv.AppendInt(nil, int64(missing), 10) },
	}}
}

// Publish publishes an event to every worker.
func (c *channels) Publish(channel, data, event, id string) (uint64, error) {
	c.begin() // the application's own subscriptions get it, however early it is
	n, err := c.door.Publish(channel, sse.Event{Name: event, ID: id, Data: data, Empty: true})
	if errors.Is(err, bus.ErrClosed) || errors.Is(err, bus.ErrRefused) {
		return 0, &engine.Trouble{Err: err}
	}
	return n, err
}

// Subscribe begins a subscription, or adds a channel to one.
func (c *channels) Subscribe(token uint32, channel string) (uint32, error) {
	if token != engine.NoToken {
		s := c.find(token)
		if s == nil {
			return token, fmt.Errorf("serve: subscription %d is over", token)
		}
		return token, c.hub.Subscribe(s.slot, channel)
	}
	c.begin()
	slot, err := c.hub.Attach(sse.HoldOptions{
		Channels: []string{channel}, Limits: &c.limits, Quiet: true,
	})
	if err != nil {
		return token, err
	}
	s := &subscription{of: c, slot: slot}
	c.add(s)
	slot.Park(s, false)
	return s.token, nil
}

func (c *channels) add(s *subscription) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.free); n > 0 {
		s.token, c.free = c.free[n-1], c.free[:n-1]
		c.subs[s.token] = s
		return
	}
	s.token = uint32(len(c.subs))
	c.subs = append(c.subs, s)
}

// find is the subscription of a token, nil when it is over.
func (c *channels) find(token uint32) *subscription {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.findLocked(token)
}

func (c *channels) findLocked(token uint32) *subscription {
	if int(token) >= len(c.subs) {
		return nil
	}
	return c.subs[token]
}

// Unsubscribe ends a subscription. Again is as good as once.
func (c *channels) Unsubscribe(token uint32) {
	c.mu.Lock()
	s := c.findLocked(token)
	if s != nil {
		c.subs[token] = nil
		c.free = append(c.free, token)
	}
	c.mu.Unlock()
	if s != nil {
		s.slot.Closed(loop.ClosedByServer)
	}
}

// count is how many subscriptions there are.
func (c *channels) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.subs) - len(c.free)
}

// Receive gives the next message of a subscription.
func (c *channels) Receive(token uint32, out *engine.Events) (engine.Received, int) {
	s := c.find(token)
	if s == nil {
		return engine.MessagesEnd, 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.rest) == 0 {
		f := s.slot.NextFrame()
		if f == nil && s.told.Swap(false) {
			f = s.slot.NextFrame() // it may have come before it would be told again
		}
		switch {
		case f != nil:
			if missing := s.take(f); missing > 0 {
				return engine.MessagesMissing, missing
			}
		case s.over.Load():
			return engine.MessagesEnd, 0
		default:
			return engine.NothingComes, 0
		}
	}
	e := s.rest[0]
	s.rest = s.rest[1:]
	out.TextOf(s.channel)
	out.TextOf(e.Name)
	out.TextOf(e.Data)
	out.TextOf(e.ID)
	return engine.MessageComes, 0
}

// take makes messages of a frame, or tells how many are missing where the slot says
// so.
func (s *subscription) take(f *sse.Frame) (missing int) {
	if f.Channel() == "" { // the slot's own
		missing, _ = strconv.Atoi(string(f.Body())) // or what it says at a drain
		return missing
	}
	s.channel, s.rest = f.Channel(), nil
	var p sse.Parser
	_ = p.Feed(f.Body(), func(e sse.Event) { // too long is nothing that was published
		if e.Name == "message" && f.Kind() == "" {
			e.Name = ""
		}
		s.rest = append(s.rest, e)
	})
	return 0
}

// Wake implements loop.Held: the guest is told once, until it has found nothing.
func (s *subscription) Wake() {
	if rouse := s.of.rouse.Load(); s.told.CompareAndSwap(false, true) && rouse != nil {
		(*rouse)(s.token)
	}
}

// Close implements loop.Held. The slot's lock may be held.
func (s *subscription) Close(loop.Ending) {
	s.over.Store(true)
	s.Wake()
}
