// SPDX-License-Identifier: MIT

package socket

import (
	"fmt"
	"slices"
	"time"

	"m0serve.dev/http/grip"
)

// control does what a control message of the application says.
func (e *events) control(k *socket, c *grip.Control) error {
	switch c.Type {
	case grip.Subscribe:
		return k.join(c.Channel, c.Filters)
	case grip.Unsubscribe:
		k.part(c.Channel)
	case grip.SetMeta:
		k.interest.setMeta(c.Name, c.Value)
	case grip.Detach:
		e.leave(k)
		k.mu.Lock()
		e.times.stopAsking()
		k.mu.Unlock()
	case grip.SetKeepAlive:
		e.keepAlive(k, c)
	case grip.SendDelayed:
		e.delay(k, c)
	case grip.FlushDelayed:
		e.flush(k, nil)
	}
	return nil // a session is for proxies that have several
}

// join subscribes the socket to one more channel, or changes its filters.
func (k *socket) join(name string, filters grip.Filters) error {
	i := &k.interest
	i.mu.Lock()
	at := slices.IndexFunc(i.to.Channels, func(c grip.Channel) bool { return c.Name == name })
	switch {
	case at >= 0:
		i.to.Channels[at].Filters = filters
	case len(i.to.Channels) == grip.MaxChannels:
		i.mu.Unlock()
		return fmt.Errorf("subscribe: more than %d channels", grip.MaxChannels)
	default:
		i.to.Channels = append(i.to.Channels, grip.Channel{Name: name, Filters: filters})
	}
	i.mu.Unlock()
	return k.s.cfg.Hub.Subscribe(k.slot, name)
}

// part ends a subscription.
func (k *socket) part(name string) {
	k.s.cfg.Hub.Unsubscribe(k.slot, name)
	k.interest.mu.Lock()
	defer k.interest.mu.Unlock()
	k.interest.to.Channels = slices.DeleteFunc(k.interest.to.Channels,
		func(c grip.Channel) bool { return c.Name == name })
}

func (i *interest) setMeta(name, value string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if value == "" {
		i.to.Meta = i.to.Meta.Without(name)
	} else {
		i.to.Meta = i.to.Meta.With(name, value)
	}
}

// times are the clocks of a socket, guarded by its mu.
type times struct {
	every time.Duration // between requests; 0: only when something happened
	ask   *time.Timer   // nil: never set

	keep    *message // sent to a client when nothing else was for keepFor
	keepFor time.Duration
	always  bool // … or not
	keeper  *time.Timer

	delayed *message
	delayer *time.Timer
}

// stop ends all of them; timers that have fired find the socket over.
func (t *times) stop() {
	t.stopAsking()
	t.keep, t.delayed = nil, nil
	for _, timer := range []*time.Timer{t.keeper, t.delayer} {
		if timer != nil {
			timer.Stop()
		}
	}
}

func (t *times) stopAsking() {
	if t.every = 0; t.ask != nil {
		t.ask.Stop()
	}
}

// restart has the application asked again in a while, if it wants that.
func (e *events) restart(k *socket) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch t := &e.times; {
	case t.every == 0 || k.over || e.detached:
		t.stopAsking()
	case t.ask == nil:
		t.ask = time.AfterFunc(t.every, k.poke)
	default:
		t.ask.Reset(t.every)
	}
}

// keepAlive sets what the client is sent while nothing else is; without a time, nothing.
func (e *events) keepAlive(k *socket, c *grip.Control) {
	k.mu.Lock()
	defer k.mu.Unlock()
	t := &e.times
	if t.keeper != nil {
		t.keeper.Stop()
	}
	if t.keep = nil; c.Timeout == 0 || k.over {
		return
	}
	t.keep, t.keepFor, t.always = messageOf(&c.Message, c.Message.Content), c.Timeout, c.Interval
	t.keeper = time.AfterFunc(t.keepFor, func() { e.kept(k) })
}

// kept sends the keep-alive, or waits until nothing was sent for long enough.
func (e *events) kept(k *socket) {
	k.mu.Lock()
	t, wait := &e.times, e.times.keepFor
	m := t.keep
	if m != nil && !t.always {
		if quiet, ok := k.sentAt.Since(time.Now()); ok && quiet < t.keepFor {
			m, wait = nil, t.keepFor-quiet
		}
	}
	if t.keep != nil {
		t.keeper.Reset(wait)
	}
	k.mu.Unlock()
	if m != nil {
		k.deliver(m)
	}
}

// delay lets a message wait, in the place of one that waits already.
func (e *events) delay(k *socket, c *grip.Control) {
	k.mu.Lock()
	defer k.mu.Unlock()
	t := &e.times
	if t.delayer != nil {
		t.delayer.Stop()
	}
	if k.over {
		return
	}
	m := messageOf(&c.Message, c.Message.Content)
	t.delayed = m
	t.delayer = time.AfterFunc(c.Timeout, func() { e.flush(k, m) })
}

// flush sends the message that waits, if it is this one or none is named.
func (e *events) flush(k *socket, only *message) {
	k.mu.Lock()
	m := e.times.delayed
	if m == nil || only != nil && m != only {
		k.mu.Unlock()
		return
	}
	e.times.delayed = nil
	k.mu.Unlock()
	k.deliver(m)
}
