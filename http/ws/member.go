// SPDX-License-Identifier: MIT

package ws

import (
	"slices"

	"m0serve.dev/http/bus"
)

// A member is a connection that has joined channels of a hub.
type member struct {
	hub  *Hub
	conn *Conn
	subs []sub  // guarded by the hub's mu
	gone bool   // the connection is over; the same
	last uint64 // id of the last message; guarded by the hub's delivery
}

// A sub is a member's place in one group.
type sub struct {
	channel string
	pos     int
}

// Join has c sent what is published to the channels from now on, until it is closed or
// Leave is called. Again is as good as once. A name that an untrusted peer may not use
// (bus.CheckName) is refused, and none is joined then. A connection has one hub.
func (h *Hub) Join(c *Conn, channels ...string) error {
	for _, name := range channels {
		if err := bus.CheckName(name); err != nil {
			return err
		}
	}
	c.mu.Lock()
	if c.ended {
		c.mu.Unlock()
		return ErrClosed
	}
	if c.member == nil {
		c.member = &member{hub: h, conn: c}
	}
	m := c.member
	c.mu.Unlock()
	if m.hub != h {
		panic("ws: a connection joins two hubs")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if m.gone {
		return ErrClosed
	}
	if h.draining {
		_ = c.Close(CodeRestart, "") // it may be closing already
		return ErrClosed
	}
	for _, name := range channels {
		h.joinLocked(m, name)
	}
	return nil
}

func (h *Hub) joinLocked(m *member, name string) {
	if m.placeLocked(name) >= 0 {
		return
	}
	if len(m.subs) == 0 {
		h.sockets++
	}
	m.subs = append(m.subs, sub{name, len(h.groups[name])})
	h.groups[name] = append(h.groups[name], m)
}

// Leave takes channels from those that c has joined; without a name, all.
func (h *Hub) Leave(c *Conn, channels ...string) {
	c.mu.Lock()
	m := c.member
	c.mu.Unlock()
	if m == nil || m.hub != h {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(channels) == 0 {
		h.leaveAllLocked(m)
	}
	for _, name := range channels {
		if i := m.placeLocked(name); i >= 0 {
			h.leaveLocked(m, i)
		}
	}
}

// part is the end of a member.
func (h *Hub) part(m *member) {
	h.mu.Lock()
	defer h.mu.Unlock()
	m.gone = true
	h.leaveAllLocked(m)
}

func (h *Hub) leaveAllLocked(m *member) {
	for len(m.subs) > 0 {
		h.leaveLocked(m, len(m.subs)-1)
	}
}

// leaveLocked fills the place with the group's last member.
func (h *Hub) leaveLocked(m *member, i int) {
	at := m.subs[i]
	m.subs = slices.Delete(m.subs, i, i+1)
	group := h.groups[at.channel]
	end := len(group) - 1
	moved := group[end]
	group[at.pos], group[end] = moved, nil
	if moved != m {
		moved.subs[moved.placeLocked(at.channel)].pos = at.pos
	}
	if h.groups[at.channel] = group[:end]; end == 0 {
		delete(h.groups, at.channel)
	}
	if len(m.subs) == 0 {
		h.sockets--
	}
}

// placeLocked is where a channel stands in subs, -1 when it does not.
func (m *member) placeLocked(channel string) int {
	return slices.IndexFunc(m.subs, func(at sub) bool { return at.channel == channel })
}

// push queues a message by the policy. One that comes behind a higher id has been
// missed.
func (m *member) push(message *Message, id uint64) {
	h := m.hub
	if id <= m.last {
		h.late.Add(1)
		h.dropped.Add(1)
		if h.cfg.Policy == Disconnect {
			m.miss()
		}
		return
	}
	m.last = id
	taken, dropped, cut := m.conn.pushMessage(message, &h.cfg)
	h.dropped.Add(dropped)
	switch {
	case cut:
		h.cut.Add(1)
	case taken:
		h.delivered.Add(1)
	}
}

// miss closes the connection for what it has missed.
func (m *member) miss() {
	c := m.conn
	c.mu.Lock()
	if !c.is(isClosing | isDeaf) {
		c.overloadLocked("messages were missed")
		m.hub.cut.Add(1)
	}
	c.unlockAndWake()
}

// pushMessage queues a published message, or what the policy says.
func (c *Conn) pushMessage(m *Message, cfg *HubConfig) (taken bool, dropped uint64, cut bool) {
	frame := m.frameFor(c)
	c.mu.Lock()
	defer c.unlockAndWake()
	if c.is(isClosing | isDeaf) {
		return false, 0, false
	}
	for c.waitingLocked() >= cfg.queue() || !c.hasRoomLocked(len(frame)) {
		c.o.counts.overflows.Add(1)
		dropped++
		switch {
		case cfg.Policy == Disconnect:
			c.overloadLocked("too slow")
			return false, dropped, true
		case cfg.Policy == DropNewest || c.waitingLocked() == 0:
			return false, dropped, false
		}
		c.dropOldestLocked()
	}
	c.outLocked().share(frame)
	c.sentLocked(frame[0])
	return true, dropped, false
}

// waitingLocked is how many shared messages wait.
func (c *Conn) waitingLocked() int { return c.flying.waiting() + c.out.waiting() }

func (c *Conn) dropOldestLocked() {
	if c.flying.waiting() > 0 {
		c.flying.dropOldest()
	} else {
		c.out.dropOldest()
	}
}
