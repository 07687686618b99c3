// SPDX-License-Identifier: MIT

package sse

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"m0serve.dev/http/bus"
)

// HubConfig says how a Hub works. Only Bus is required.
type HubConfig struct {
	Bus          *bus.Bus      // the hub becomes its receiver
	Journal      int           // frames kept of a channel; 0: JournalDefault; negative: none
	JournalBytes int           // kept in all journals; 0: 64 MiB. See Channels
	Channels     int           // journals; 0: 4096. Above it the one idle longest goes
	Limits       Limits        // of a stream
	Heartbeat    time.Duration // see NewRegistry
	Log          *slog.Logger  // nil: slog.Default
	// Reserved gets the frames under names of the server that are not the hub's
	// own, on the receiving goroutine. nil: nobody.
	Reserved func(bus.Frame)
}

const (
	channelsDefault     = 4096
	journalBytesDefault = 64 << 20
)

func (c *HubConfig) channels() int {
	if c.Channels <= 0 {
		return channelsDefault
	}
	return c.Channels
}

func (c *HubConfig) journalBytes() int {
	if c.JournalBytes <= 0 {
		return journalBytesDefault
	}
	return c.JournalBytes
}

func (c *HubConfig) log() *slog.Logger {
	if c.Log != nil {
		return c.Log
	}
	return slog.Default()
}

// A Hub is everything that one process has of the streams of its service:
// Publish sends an event to every worker, Hold opens a stream that gets it.
// Its methods may be called from any goroutine.
//
// mu orders deliveries and the beginnings of streams against each other: a
// stream that begins is caught up from the journal and registered in one step,
// so that no frame falls between, and none comes twice.
type Hub struct {
	cfg      HubConfig
	bus      *bus.Bus
	registry *Registry
	sync     syncer

	mu        sync.Mutex
	journals  map[string]*kept
	bytes     int       // kept in all of them
	from      uint64    // what a journal that is made now may claim to know
	initial   uint64    // the id that was current then: its frame may still come
	gaveUp    bool      // a journal was given up, or frames were lost
	delivered uint64    // highest id that came in: the floor of a new stream
	used      uint64    // clock of the journals' use
	lost      uint64    // frames that the bus dropped for this worker
	dismissal *farewell // how streams are sent away; nil: not draining

	snapshots flights
	codings   codings
	resets    atomic.Uint64
}

// kept is a journal and when it was used last.
type kept struct {
	*Journal
	used uint64
	// bottom is what no sibling's journal can lower the claim below: frames up to it
	// were lost or given up here, and the sibling may not have had them yet. 0: none.
	bottom uint64
}

// NewHub makes a hub. Start begins the deliveries; Restore comes between.
func NewHub(cfg HubConfig) *Hub {
	h := &Hub{
		cfg: cfg, bus: cfg.Bus, registry: NewRegistry(cfg.Heartbeat),
		journals: make(map[string]*kept), from: cfg.Bus.CurrentID(),
	}
	h.delivered, h.initial = h.from, h.from
	return h
}

// Start takes in the backlog of the bus, which fills the journals and reaches no
// stream as history, and begins to deliver.
func (h *Hub) Start() {
	h.bus.Backlog(h.receiveBacklog)
	h.bus.Receive(h.receive)
}

// NextID takes the next event id of the service. Send a frame for every id
// taken, soon: frames with higher ids wait for it a moment.
func (h *Hub) NextID() uint64 { return h.bus.NextID() }

// LastID is the highest id that was delivered here. Take it before the state is
// read that a page or a snapshot is made from: that has everything up to it.
func (h *Hub) LastID() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.delivered
}

// Publish takes an id, has body encode the event with it, and sends it to every
// stream of every worker. body appends to what it gets; it has to be quick, so
// render before: frames with higher ids wait for this one, and when they have
// waited for the window of the bus it is late (see Drops). The error is that of
// bus.Publish: a refused name, a frame too large, or channels that were full.
func (h *Hub) Publish(
	channel, kind string,
	body func(id uint64, dst []byte) []byte,
) (id uint64, err error) {
	if err := bus.CheckName(channel); err != nil {
		return 0, err
	}
	if err := bus.CheckKind(kind); err != nil {
		return 0, err
	}
	id = h.bus.NextID()
	return id, h.Send(channel, kind, id, body(id, nil))
}

// PublishEvent publishes the event as plain EventSource clients expect it, with
// its id inside: they take it when the event is whole. e.ID is set; the event's
// name is the kind.
func (h *Hub) PublishEvent(channel string, e Event) (id uint64, err error) {
	e.ID = ""
	return PublishEvent(h.bus, channel, e)
}

// Send sends an encoded event under an id that NextID gave.
func (h *Hub) Send(channel, kind string, id uint64, body []byte) error {
	return h.bus.Publish(bus.Frame{ID: id, Channel: channel, Kind: kind, Body: body})
}

// Restore puts an event that an earlier incarnation stored into the journal of
// its channel, and raises the ids above it. A client is caught up from the
// oldest one restored, so restore all that were sent since that.
func (h *Hub) Restore(channel, kind string, id uint64, body []byte) {
	f := NewFrame(id, channel, kind, body)
	h.mu.Lock()
	defer h.mu.Unlock()
	j := h.journalLocked(channel)
	h.changeLocked(j, func() { j.Restore(h.bus.RaiseID, f) })
	h.delivered = max(h.delivered, id)
}

// Lost is for bus.Config.Lost: publishers dropped frames for this worker, nobody
// knows which. Every stream is told, and who had an id until now cannot be
// caught up here.
func (h *Hub) Lost(frames uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lost += frames
	h.from, h.gaveUp = max(h.bus.CurrentID(), h.delivered)+1, true
	for _, j := range h.journals {
		j.forget(h.from)
		j.bottom = h.from
	}
	h.registry.Each((*Slot).lose)
	h.cfg.log().Warn("sse: the bus dropped frames for this worker", "frames", frames)
}

// receiveBacklog takes what waited for a predecessor of this worker.
func (h *Hub) receiveBacklog(f bus.Frame) {
	if bus.IsReserved(f.Channel) || f.ID == 0 {
		return // what it asked for, or what only a stream of its own had use for
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	j := h.journalLocked(f.Channel)
	h.changeLocked(j, func() { j.Insert(NewFrame(f.ID, f.Channel, f.Kind, f.Body)) })
	h.delivered = max(h.delivered, f.ID)
}

// receive takes every frame of the bus, one at a time.
func (h *Hub) receive(f bus.Frame) {
	if bus.IsReserved(f.Channel) {
		h.receiveReserved(f)
		return
	}
	frame := NewFrame(f.ID, f.Channel, f.Kind, f.Body)
	h.codings.prepare(frame)
	h.mu.Lock()
	defer h.mu.Unlock()
	late := false
	if f.ID != 0 {
		j := h.journalLocked(f.Channel)
		fresh := false
		h.changeLocked(j, func() { fresh = j.insert(frame) })
		switch {
		case fresh && f.ID < h.delivered:
			late = true
			j.noteLate(f.ID, h.delivered)
		case fresh && f.ID == h.initial: // it was not delivered yet when streams began there
			late = true
			j.noteLate(f.ID-1, h.delivered)
		}
		h.delivered = max(h.delivered, f.ID)
	}
	h.registry.deliver(frame, late)
}

// journalLocked is the channel's journal, made where there is none.
func (h *Hub) journalLocked(channel string) *kept {
	j := h.journals[channel]
	if j == nil {
		if len(h.journals) >= h.cfg.channels() {
			h.evictLocked(nil)
		}
		j = &kept{Journal: NewJournal(h.cfg.Journal, h.from)}
		if h.gaveUp {
			j.bottom = h.from
		}
		h.journals[channel] = j
	}
	h.useLocked(j)
	return j
}

func (h *Hub) useLocked(j *kept) {
	h.used++
	j.used = h.used
}

// sinceLocked is Journal.Since for a channel that may have no journal: reading
// makes none, so that a client's invented names displace nobody's.
func (h *Hub) sinceLocked(channel string, id uint64) (frames []*Frame, known bool) {
	j := h.journals[channel]
	if j == nil {
		return nil, id >= h.from
	}
	h.useLocked(j)
	return j.Since(id)
}

// changeLocked changes j and keeps the sum of bytes within its bound.
func (h *Hub) changeLocked(j *kept, change func()) {
	before := j.size()
	change()
	h.bytes += j.size() - before
	for h.bytes > h.cfg.journalBytes() && h.evictLocked(j) {
	}
	if h.bytes > h.cfg.journalBytes() {
		before = j.size()
		j.shrink(h.cfg.journalBytes())
		h.bytes += j.size() - before
	}
}

// evictLocked gives up the journal that was idle longest, other than except.
// From now on a new journal knows only what comes after this moment.
func (h *Hub) evictLocked(except *kept) bool {
	oldest := ""
	for name, j := range h.journals {
		if j != except && (oldest == "" || j.used < h.journals[oldest].used) {
			oldest = name
		}
	}
	j := h.journals[oldest]
	if j == nil {
		return false
	}
	h.bytes -= j.size()
	delete(h.journals, oldest)
	h.from, h.gaveUp = max(h.from, h.delivered), true
	return true
}

// HubStats are the counters of a hub.
type HubStats struct {
	RegistryStats
	Journals       int
	JournalBytes   int
	Delivered      uint64 // highest id that came in
	Lost           uint64 // frames that publishers dropped for this worker
	Snapshots      uint64 // computed
	SnapshotErrors uint64
	Resets         uint64 // streams that could not be caught up and had no snapshot
	Coded          uint64 // frames coded, once for each of HoldOptions.Codings
	Bus            bus.Stats
}

// Stats returns the counters.
func (h *Hub) Stats() HubStats {
	h.mu.Lock()
	st := HubStats{
		Journals: len(h.journals), JournalBytes: h.bytes,
		Delivered: h.delivered, Lost: h.lost,
	}
	h.mu.Unlock()
	st.RegistryStats, st.Bus = h.registry.Stats(), h.bus.Stats()
	st.Snapshots, st.SnapshotErrors = h.snapshots.counts()
	st.Resets, st.Coded = h.resets.Load(), h.codings.made.Load()
	return st
}
