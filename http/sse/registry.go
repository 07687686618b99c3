// SPDX-License-Identifier: MIT

package sse

import (
	"maps"
	"slices"
	"sync"
	"time"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/loop"
)

// A Registry knows which slots listen to which channels. It owns both
// directions; its methods may be called from any goroutine. A slot that leaves
// never waits for a delivery: mu is not held while slots are pushed to.
type Registry struct {
	every time.Duration // between heartbeats

	mu       sync.Mutex
	groups   map[string]*group
	slots    map[*Slot]struct{}
	attached int         // of slots: those that feed no response
	timer    *time.Timer // runs while there are slots
	opened   uint64      // streams

	delivery sync.Mutex // one delivery at a time, so that frames keep their order
	targets  []*Slot    // of the delivery under way

	dropping sync.Mutex // taken with a slot's lock held
	drops    map[string]*Drops
}

// A group is the slots of one channel, without order.
type group struct {
	slots []*Slot
}

// A sub is a slot's place in one group.
type sub struct {
	channel string
	pos     int
}

// Drops counts the frames of one channel that streams did not get, once for
// each stream, by cause.
type Drops struct {
	Frames [policies]uint64 // the queue was full; index: the Policy that decided
	Late   uint64           // came behind a higher id, after the bus had waited
}

// Total is the number of all of them.
func (d Drops) Total() uint64 {
	sum := d.Late
	for _, n := range d.Frames {
		sum += n
	}
	return sum
}

// OtherChannels is the name under which drops are counted once more channels
// have some than are counted by name. No channel can have it.
const (
	OtherChannels   = "\x01other"
	dropChannelsMax = 1024
)

// HeartbeatDefault is the time between heartbeats: below what proxies allow a
// connection to be idle.
const HeartbeatDefault = 15 * time.Second

// NewRegistry makes an empty registry that sends a comment to a stream after
// heartbeat without a frame (0: HeartbeatDefault; negative: never).
func NewRegistry(heartbeat time.Duration) *Registry {
	if heartbeat == 0 {
		heartbeat = HeartbeatDefault
	}
	return &Registry{
		every: heartbeat, groups: make(map[string]*group),
		slots: make(map[*Slot]struct{}), drops: make(map[string]*Drops),
	}
}

// Add subscribes a slot to channels, once, until its stream ends. A channel name
// that an untrusted peer may not use (bus.CheckName) is refused.
func (r *Registry) Add(s *Slot, channels ...string) error {
	for _, name := range channels {
		if err := bus.CheckName(name); err != nil {
			return err
		}
	}
	channels = slices.Compact(slices.Sorted(slices.Values(channels)))
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.registry != nil {
		panic("sse: a slot is added to a registry twice")
	}
	s.registry = r
	s.subs = make([]sub, 0, len(channels))
	for _, name := range channels {
		r.joinLocked(s, name)
	}
	r.slots[s] = struct{}{}
	if s.isAttached() {
		r.attached++
	} else {
		r.opened++
	}
	if r.every > 0 && r.timer == nil {
		r.timer = time.AfterFunc(r.every/2, r.heartbeat)
	}
	return nil
}

func (r *Registry) joinLocked(s *Slot, name string) {
	g := r.groups[name]
	if g == nil {
		g = &group{}
		r.groups[name] = g
	}
	s.subs = append(s.subs, sub{name, len(g.slots)})
	g.slots = append(g.slots, s)
}

// Subscribe adds a channel to those of a slot that was added and has not left.
// Again is as good as once.
func (r *Registry) Subscribe(s *Slot, channel string) error {
	if err := bus.CheckName(channel); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.slots[s]; ok && s.placeLocked(channel) < 0 {
		r.joinLocked(s, channel)
	}
	return nil
}

// Unsubscribe takes a channel from a slot.
func (r *Registry) Unsubscribe(s *Slot, channel string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := s.placeLocked(channel); i >= 0 {
		r.removeLocked(s.subs[i])
		s.subs = slices.Delete(s.subs, i, i+1)
	}
}

// placeLocked is where a channel stands in subs, -1 when it does not.
func (s *Slot) placeLocked(channel string) int {
	return slices.IndexFunc(s.subs, func(at sub) bool { return at.channel == channel })
}

// Remove takes the slot out. A slot does that by itself when its stream ends.
func (r *Registry) Remove(s *Slot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.slots[s]; !ok {
		return
	}
	delete(r.slots, s)
	if s.isAttached() {
		r.attached--
	}
	for _, at := range s.subs {
		r.removeLocked(at)
	}
	s.subs = nil
	if len(r.slots) == 0 && r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
}

// removeLocked fills the place with the group's last slot.
func (r *Registry) removeLocked(at sub) {
	g := r.groups[at.channel]
	end := len(g.slots) - 1
	moved := g.slots[end]
	g.slots[at.pos] = moved
	g.slots[end] = nil
	g.slots = g.slots[:end]
	for i := range moved.subs {
		if moved.subs[i].channel == at.channel {
			moved.subs[i].pos = at.pos
		}
	}
	if end == 0 {
		delete(r.groups, at.channel)
	}
}

// Deliver pushes the frame to every slot of its channel and returns how many
// took it. Two deliveries reach all slots in the same order.
func (r *Registry) Deliver(f *Frame) int { return r.deliver(f, false) }

func (r *Registry) deliver(f *Frame, late bool) int {
	r.delivery.Lock()
	defer r.delivery.Unlock()
	r.mu.Lock()
	if g := r.groups[f.channel]; g != nil {
		r.targets = append(r.targets[:0], g.slots...)
	}
	r.mu.Unlock()
	taken := 0
	for _, s := range r.targets {
		if s.push(f, late) {
			taken++
		}
	}
	clear(r.targets) // it keeps no stream alive
	r.targets = r.targets[:0]
	return taken
}

// Each calls fn for every slot there is at this moment.
func (r *Registry) Each(fn func(*Slot)) {
	r.mu.Lock()
	slots := slices.Collect(maps.Keys(r.slots))
	r.mu.Unlock()
	for _, s := range slots {
		fn(s)
	}
}

// heartbeat runs on a goroutine of the timer, twice in a heartbeat's time: a
// stream that was silent at two looks in a row gets one.
func (r *Registry) heartbeat() {
	hb := NewFrame(0, "", "", []byte(": hb\n\n"))
	r.Each(func(s *Slot) { s.beat(hb) })
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.timer != nil {
		r.timer.Reset(r.every / 2)
	}
}

func (r *Registry) countDrop(f *Frame, p Policy, late bool) {
	r.dropping.Lock()
	defer r.dropping.Unlock()
	name := f.channel
	if _, ok := r.drops[name]; !ok && len(r.drops) >= dropChannelsMax {
		name = OtherChannels
	}
	d := r.drops[name]
	if d == nil {
		d = &Drops{}
		r.drops[name] = d
	}
	if late {
		d.Late++
	} else {
		d.Frames[p]++
	}
}

// isAttached reports whether a slot feeds something else than a response.
func (s *Slot) isAttached() bool { return s.calls != nil && s.calls.attached }

// Len is the number of slots.
func (r *Registry) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.slots)
}

// RegistryStats are the counters of a registry.
type RegistryStats struct {
	Streams     int              // responses that are held now, whatever their channels
	Attached    int              // slots that feed something else (Hub.Attach)
	Opened      uint64           // streams in all
	Queued      int              // frames that wait for their streams now
	QueuedBytes int              // and their bytes
	Drops       map[string]Drops // by channel
}

// Stats returns the counters. It looks at every stream.
func (r *Registry) Stats() RegistryStats {
	st := RegistryStats{Drops: make(map[string]Drops)}
	r.mu.Lock()
	st.Streams, st.Attached, st.Opened = len(r.slots)-r.attached, r.attached, r.opened
	r.mu.Unlock()
	r.Each(func(s *Slot) {
		frames, bytes := s.queued()
		st.Queued, st.QueuedBytes = st.Queued+frames, st.QueuedBytes+bytes
	})
	r.dropping.Lock()
	defer r.dropping.Unlock()
	for name, d := range r.drops {
		st.Drops[name] = *d
	}
	return st
}

// CloseAll ends every stream.
func (r *Registry) CloseAll(how loop.Ending) { r.Each(func(s *Slot) { s.Close(how) }) }
