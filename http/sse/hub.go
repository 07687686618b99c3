// SPDX-License-Identifier: MIT

package sse

import (
	"log/slog"
	"sync"
	"time"

	"m0serve.dev/http/bus"
)

// HubConfig says how a Hub works. Only Bus is required.
type HubConfig struct {
	Bus       *bus.Bus      // the hub becomes its receiver
	Journal   int           // frames kept for each channel; 0: JournalDefault; negative: none
	Channels  int           // journals kept; 0: 4096. Above it the one idle longest goes
	Limits    Limits        // of a stream
	Heartbeat time.Duration // see NewRegistry
	Log       *slog.Logger  // nil: slog.Default
}

const channelsDefault = 4096

func (c *HubConfig) channels() int {
	if c.Channels <= 0 {
		return channelsDefault
	}
	return c.Channels
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
	from      uint64 // what a journal that is made now may claim to know
	delivered uint64 // highest id that came in: the floor of a new stream
	used      uint64 // clock of the journals' use

	snapshots flights
}

// kept is a journal and when it was used last.
type kept struct {
	*Journal
	used uint64
}

// NewHub makes a hub and takes in the backlog of its bus, which fills journals
// and reaches no stream. Start begins the deliveries.
func NewHub(cfg HubConfig) *Hub {
	h := &Hub{
		cfg: cfg, bus: cfg.Bus, registry: NewRegistry(cfg.Heartbeat),
		journals: make(map[string]*kept), from: cfg.Bus.CurrentID(),
	}
	h.delivered = h.from
	return h
}

// Start takes in the backlog of the bus, which fills the journals and reaches no
// stream as history, and begins to deliver. Restore comes before it.
func (h *Hub) Start() {
	h.bus.Backlog(h.receive)
	h.bus.Receive(h.receive)
}

// NextID takes the next event id of the service. Send a frame for every id
// taken, soon: frames with higher ids wait for it a moment.
func (h *Hub) NextID() uint64 { return h.bus.NextID() }

// Publish takes an id, has body encode the event with it, and sends it to every
// stream of every worker. body appends to what it gets. The error is that of
// bus.Publish: a refused name, a frame too large, or channels that were full.
func (h *Hub) Publish(
	channel, kind string,
	body func(id uint64, dst []byte) []byte,
) (id uint64, err error) {
	if err := bus.CheckName(channel); err != nil {
		return 0, err
	}
	id = h.bus.NextID()
	return id, h.Send(channel, kind, id, body(id, nil))
}

// PublishEvent publishes the event as plain EventSource clients expect it, with
// its id inside. e.ID is set; the event's name is the kind.
func (h *Hub) PublishEvent(channel string, e Event) (id uint64, err error) {
	e.ID = ""
	if _, err := Append(nil, e); err != nil {
		return 0, err
	}
	return h.Publish(channel, e.Name, func(id uint64, dst []byte) []byte {
		e.ID = formatID(id)
		dst, _ = Append(dst, e) // it was encoded once already
		return dst
	})
}

// Send sends an encoded event under an id that NextID gave.
func (h *Hub) Send(channel, kind string, id uint64, body []byte) error {
	return h.bus.Publish(bus.Frame{ID: id, Channel: channel, Kind: kind, Body: body})
}

// Restore puts an event that an earlier incarnation stored into the journal,
// and raises the ids above it.
func (h *Hub) Restore(channel, kind string, id uint64, body []byte) {
	f := NewFrame(id, channel, kind, body)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.journalLocked(channel).Restore(h.bus.RaiseID, f)
	h.delivered = max(h.delivered, id)
}

// receive takes every frame of the bus, one at a time.
func (h *Hub) receive(f bus.Frame) {
	if bus.IsReserved(f.Channel) {
		h.receiveReserved(f)
		return
	}
	frame := NewFrame(f.ID, f.Channel, f.Kind, f.Body)
	h.mu.Lock()
	defer h.mu.Unlock()
	if f.ID != 0 {
		h.journalLocked(f.Channel).Insert(frame)
		h.delivered = max(h.delivered, f.ID)
	}
	h.registry.Deliver(frame)
}

// journalLocked is the channel's journal, made where there is none.
func (h *Hub) journalLocked(channel string) *kept {
	h.used++
	j := h.journals[channel]
	if j == nil {
		if len(h.journals) >= h.cfg.channels() {
			h.evictLocked()
		}
		j = &kept{Journal: NewJournal(h.cfg.Journal, h.from)}
		h.journals[channel] = j
	}
	j.used = h.used
	return j
}

// evictLocked gives up the journal that was idle longest. From now on a new
// journal knows only what comes after this moment.
func (h *Hub) evictLocked() {
	oldest := ""
	for name, j := range h.journals {
		if oldest == "" || j.used < h.journals[oldest].used {
			oldest = name
		}
	}
	delete(h.journals, oldest)
	h.from = max(h.from, h.delivered)
}

// HubStats are the counters of a hub.
type HubStats struct {
	RegistryStats
	Journals  int
	Delivered uint64 // highest id that came in
	Bus       bus.Stats
}

// Stats returns the counters.
func (h *Hub) Stats() HubStats {
	h.mu.Lock()
	journals, delivered := len(h.journals), h.delivered
	h.mu.Unlock()
	return HubStats{
		RegistryStats: h.registry.Stats(), Journals: journals, Delivered: delivered,
		Bus: h.bus.Stats(),
	}
}
