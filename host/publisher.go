// SPDX-License-Identifier: MIT

package host

import (
	"sync/atomic"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/sse"
)

// A Publisher sends events to every worker's streams, those of its own worker
// included. It may be used from any goroutine. A published body is never
// changed.
type Publisher struct {
	bus      *bus.Bus
	stopping chan struct{}
	refused  atomic.Uint64
	last     atomic.Uint64
}

func newPublisher(b *bus.Bus) *Publisher {
	return &Publisher{bus: b, stopping: make(chan struct{})}
}

// NextID takes the id of an event that is about to be published. It is the only
// source of ids: they are unique over all workers and restarts and only grow,
// and a stream delivers an event only when its id is above the last one it
// delivered. An id that is taken and not published delays later ones a little.
func (p *Publisher) NextID() uint64 { return p.bus.NextID() }

// Publish sends an encoded event, which carries id where its clients look for
// it, to every worker. An error means that some worker, or every one, did not
// take it (bus.ErrRefused, bus.ErrReserved, bus.ErrTooLarge); it is counted.
func (p *Publisher) Publish(channel, kind string, id uint64, body []byte) error {
	err := p.bus.Publish(bus.Frame{ID: id, Channel: channel, Kind: kind, Body: body})
	if err != nil {
		p.refused.Add(1)
		return err
	}
	p.last.Store(id)
	return nil
}

// PublishEvent encodes e for plain EventSource clients, under an id of its own,
// and publishes it. e.ID is set; e.Name is the kind.
func (p *Publisher) PublishEvent(channel string, e sse.Event) (id uint64, err error) {
	e.ID = ""
	if id, err = sse.PublishEvent(p.bus, channel, e); err != nil {
		p.refused.Add(1)
		return id, err
	}
	p.last.Store(id)
	return id, nil
}

// Refused is the number of events that some worker did not take.
func (p *Publisher) Refused() uint64 { return p.refused.Load() }

// LastID is the id of the last event that every worker took, 0 before the
// first.
func (p *Publisher) LastID() uint64 { return p.last.Load() }

// Stopping is closed when the service begins to stop: a step that takes long
// should end.
func (p *Publisher) Stopping() <-chan struct{} { return p.stopping }
