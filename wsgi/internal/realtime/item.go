// SPDX-License-Identifier: MIT

package realtime

import (
	"sync"
	"time"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/grip"
	"m0serve.dev/http/publish"
	"m0serve.dev/http/sse"
	"m0serve.dev/wsgi/internal/realtime/clock"
)

// An items puts what comes from the bus in order and gives it out. mu is held while
// an item is given out, so that two keep their order.
type items struct {
	mu      sync.Mutex
	seq     grip.Sequence
	expires clock.Sleeper
}

// A delivery is an item on its way through the held answers of its channel: the note
// of its frame. It belongs to the goroutine that delivers.
type delivery struct {
	item  *grip.Item
	wakes []func() // what is to be done behind it, when no lock is held
}

// later leaves something to be done behind the delivery.
func (d *delivery) later(do func()) { d.wakes = append(d.wakes, do) }

// Receive takes the frames of the bus under names of the server (sse.HubConfig.Reserved).
func (s *Service) Receive(f bus.Frame) {
	if f.Channel != publish.ItemChannel {
		return
	}
	it, err := grip.ParseItem(f.Body)
	if err != nil {
		s.counts.damaged.Add(1)
		s.log.Error("m0serve: an item from the bus is damaged", "from", f.Origin, "err", err)
		return
	}
	s.counts.items.Add(1)
	now := time.Now()
	s.give(now, func(ready []*grip.Item) []*grip.Item { return s.items.seq.Push(ready, &it, now) })
}

// Wake gives out items that waited in vain for the one before them.
func (i *expiry) Wake(now time.Time) {
	s := (*Service)(i)
	s.give(now, func(ready []*grip.Item) []*grip.Item { return s.items.seq.Expire(ready, now) })
}

// An expiry is a Service as the waker of its items.
type expiry Service

// give gives out the items whose turn it is.
func (s *Service) give(now time.Time, take func([]*grip.Item) []*grip.Item) {
	s.items.mu.Lock()
	var wakes []func()
	for _, it := range take(nil) {
		wakes = append(wakes, s.deliver(it)...)
	}
	next, waits := s.items.seq.Next()
	s.items.mu.Unlock()
	if waits {
		s.clock.Set(&s.items.expires, next)
	}
	for _, wake := range wakes {
		wake()
	}
}

// deliver gives an item to every held answer of its channel.
func (s *Service) deliver(it *grip.Item) (wakes []func()) {
	d := &delivery{item: it}
	var content []byte
	if it.Stream != nil {
		content = it.Stream.Content
	}
	s.hub.Deliver(sse.NewFrame(0, it.Channel, "", content).With(d))
	return d.wakes
}

// isBehind reports whether a channel that the application has counted to an id is
// known to be further, and of nothing that says so.
func (s *Service) isBehind(channels []grip.Channel) bool {
	s.items.mu.Lock()
	defer s.items.mu.Unlock()
	for _, c := range channels {
		last := s.items.seq.Last(c.Name)
		if c.PrevID != "" && last != "" && last != c.PrevID {
			return true
		}
	}
	return false
}

// ItemOf is the GRIP item that a frame of the hub brings; nil when it brings an event.
func ItemOf(f *sse.Frame) *grip.Item {
	if d, ok := f.Note().(*delivery); ok {
		return d.item
	}
	return nil
}
