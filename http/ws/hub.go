// SPDX-License-Identifier: MIT

package ws

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"m0serve.dev/http/bus"
)

// HubChannel is the name under which the messages of hubs cross the bus: one of the
// server's own, so that no other door leads to a socket and no stream gets them.
const HubChannel = "\x01ws"

// A Policy says what happens to a message that has no place in the queue of a socket.
type Policy uint8

const (
	Disconnect Policy = iota // the socket is closed with CodeOverload; its client comes back
	DropOldest               // what waits longest is dropped
	DropNewest               // the message is
)

// HubConfig says how a Hub works. Only Bus is required.
type HubConfig struct {
	Bus *bus.Bus
	// Queue is how many published messages may wait for one socket, besides
	// Options.QueueBytes; 0: 256.
	Queue  int
	Policy Policy       // of a socket whose queue is full; zero: Disconnect
	Log    *slog.Logger // nil: slog.Default
}

func (c *HubConfig) queue() int {
	if c.Queue <= 0 {
		return 256
	}
	return c.Queue
}

func (c *HubConfig) log() *slog.Logger {
	if c.Log != nil {
		return c.Log
	}
	return slog.Default()
}

// A Hub is everything that one process has of the subscribed sockets of its service:
// Publish sends a message to every worker, and there to each socket of the channel
// once, in the order of ids. Its methods may be called from any goroutine.
//
// mu guards who listens to what; it is not held while sockets are sent to.
type Hub struct {
	cfg HubConfig

	mu       sync.Mutex
	groups   map[string][]*member
	sockets  int
	draining bool

	delivery sync.Mutex // one at a time, so that messages keep their order
	targets  []*member  // of the delivery under way

	published, delivered, dropped, late, lost, cut atomic.Uint64
}

// NewHub makes a hub. What comes from the bus has to be given to it: Start does that
// where nobody else receives.
func NewHub(cfg HubConfig) *Hub {
	return &Hub{cfg: cfg, groups: make(map[string][]*member)}
}

// Start makes the hub the receiver of its bus. Where an sse.Hub is, that one receives,
// and has Receive as its HubConfig.Reserved.
func (h *Hub) Start() { h.cfg.Bus.Receive(h.Receive) }

// ErrMessage refuses a message that is longer than a hub takes.
var ErrMessage = errors.New("ws: the message is too long to be published")

// PublishMax is how long a message may be that is published.
const PublishMax = bus.MaxBody - bus.MaxChannel - headMax

// Publish sends a message to the sockets that have joined the channel, in every
// worker; op is OpText or OpBinary. The error is ErrText, ErrMessage or that of
// bus.Publish: a refused name, or workers whose queues were full.
func (h *Hub) Publish(channel string, op Op, data []byte) (id uint64, err error) {
	switch {
	case !op.opensMessage():
		panic("ws: Publish takes OpText or OpBinary")
	case op == OpText && !utf8.Valid(data):
		return 0, ErrText
	case len(data) > PublishMax:
		return 0, fmt.Errorf("%w: %d bytes, at most %d", ErrMessage, len(data), PublishMax)
	}
	if err := bus.CheckName(channel); err != nil {
		return 0, err
	}
	body := make([]byte, 0, 2+len(channel)+headMax+len(data))
	body = binary.BigEndian.AppendUint16(body, uint16(len(channel)))
	body = append(body, channel...)
	body = AppendFrame(body, op, true, data)
	h.published.Add(1)
	id = h.cfg.Bus.NextID() // late, since frames with higher ids wait for this one
	return id, h.cfg.Bus.Broadcast(bus.Frame{ID: id, Channel: HubChannel, Body: body})
}

// Receive takes a frame of the bus, one at a time; those that are none of a hub's are
// passed over.
func (h *Hub) Receive(f bus.Frame) {
	if f.Channel != HubChannel || len(f.Body) < 2 {
		return
	}
	n := 2 + int(binary.BigEndian.Uint16(f.Body))
	if n > len(f.Body) {
		return // of another version
	}
	h.delivery.Lock()
	defer h.delivery.Unlock()
	h.mu.Lock()
	h.targets = append(h.targets[:0], h.groups[string(f.Body[2:n])]...)
	h.mu.Unlock()
	if len(h.targets) == 0 {
		return
	}
	m := messageOf(f.Body[n:])
	if m == nil {
		return // the same
	}
	for _, to := range h.targets {
		to.push(m, f.ID)
	}
	clear(h.targets) // it keeps no socket alive
}

// Lost is for bus.Config.Lost: publishers dropped messages for this worker, nobody
// knows which. Under Disconnect every socket is closed, so that its client comes back
// and looks.
func (h *Hub) Lost(frames uint64) {
	h.lost.Add(frames)
	h.cfg.log().Warn("ws: the bus dropped frames for this worker", "frames", frames)
	if h.cfg.Policy != Disconnect {
		return
	}
	for _, m := range h.members() {
		m.miss()
	}
}

// Drain closes every socket that has joined with CodeRestart, and those that join
// from now on. On the server of this module a drain does that to all sockets by
// itself; it is for http.Server.RegisterOnShutdown.
func (h *Hub) Drain() {
	h.mu.Lock()
	h.draining = true
	h.mu.Unlock()
	for _, m := range h.members() {
		m.conn.Drain()
	}
}

// members are those there are at this moment.
func (h *Hub) members() (all []*member) {
	h.mu.Lock()
	defer h.mu.Unlock()
	seen := make(map[*member]bool, h.sockets)
	for _, group := range h.groups {
		for _, m := range group {
			if !seen[m] {
				seen[m] = true
				all = append(all, m)
			}
		}
	}
	return all
}

// HubStats are the counters of a hub. Delivered and what is below counts a message
// once for each socket.
type HubStats struct {
	Sockets, Channels int    // that are joined
	Published         uint64 // by this process
	Delivered         uint64 // queued for a socket
	Dropped           uint64 // by the Policy
	Late              uint64 // of those, behind a higher id, after the bus had waited
	Cut               uint64 // sockets that were closed for what they missed
	Lost              uint64 // frames that publishers dropped for this worker
}

// Stats returns the counters.
func (h *Hub) Stats() HubStats {
	h.mu.Lock()
	st := HubStats{Sockets: h.sockets, Channels: len(h.groups)}
	h.mu.Unlock()
	st.Published, st.Delivered = h.published.Load(), h.delivered.Load()
	st.Dropped, st.Late = h.dropped.Load(), h.late.Load()
	st.Cut, st.Lost = h.cut.Load(), h.lost.Load()
	return st
}

// Channels are the names that sockets have joined, in order.
func (h *Hub) Channels() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	names := make([]string, 0, len(h.groups))
	for name := range h.groups {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
