// SPDX-License-Identifier: MIT

package publish

import (
	"errors"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/grip"
	"m0serve.dev/http/sse"
)

// ItemChannel is the reserved channel on which items of GRIP cross the bus, each
// as grip.AppendItem encodes it.
const ItemChannel = "\x01grip"

// ErrNobody is something published that no worker took.
var ErrNobody = errors.New("publish: no worker took it: their queues are full")

// Item publishes an item of GRIP to every worker. Its channel is the caller's to
// check (grip.ParseItems does). The error is ErrNobody when no worker took it, and
// a *bus.RefusedError that names the workers which did not when others did.
func Item(b *bus.Bus, it *grip.Item) error {
	frame := bus.Frame{Channel: ItemChannel, Body: grip.AppendItem(nil, it)}
	var dropped []int
	for _, i := range workersOf(b) {
		err := b.SendTo(i, frame)
		if err != nil && !errors.Is(err, bus.ErrRefused) {
			return err // no channel's fault
		}
		if err != nil {
			dropped = append(dropped, i)
		}
	}
	if dropped == nil {
		return nil
	}
	return nobodyIfAll(b, &bus.RefusedError{Channels: dropped})
}

// event publishes an event for plain EventSource clients, with the errors of Item
// and those of sse.PublishEvent.
func event(b *bus.Bus, channel string, e sse.Event) (id uint64, err error) {
	id, err = sse.PublishEvent(b, channel, e)
	var dropped *bus.RefusedError
	if errors.As(err, &dropped) {
		err = nobodyIfAll(b, dropped)
	}
	return id, err
}

// nobodyIfAll is ErrNobody in place of drops by every worker.
func nobodyIfAll(b *bus.Bus, dropped *bus.RefusedError) error {
	if len(dropped.Channels) >= len(workersOf(b)) {
		return ErrNobody
	}
	return dropped
}

// workersOf lists the channels that have a worker.
func workersOf(b *bus.Bus) []int {
	var workers []int
	for i := range b.Channels() {
		if b.Page().Worker(i).State() != bus.Vacant {
			workers = append(workers, i)
		}
	}
	return workers
}
