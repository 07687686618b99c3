// SPDX-License-Identifier: MIT

package loop

import "m0serve.dev/http/internal/sys"

// startsOffLoop says whether a request of this route is handed over.
func (l *Loop) startsOffLoop(t *Turn, route uint16) bool {
	if l.seated(&t.x.req) {
		return t.seat == nil || l.g.seats.guest.Load() != nil || l.g.seats.isFull()
	}
	if l.g.cfg.NeverPool {
		return false
	}
	if l.g.cfg.Poll < 0 || l.routes.pooled(route, l.now) {
		return true
	}
	return l.g.gate.full.Load() && l.routes.slot(route).score > 0
}

// startOffLoop hands a whole request over.
func (l *Loop) startOffLoop(t *Turn, c *conn, data []byte, head int, b *bodySpan,
	route uint16) {
	x := l.newExchange()
	x.raw = append(x.raw[:0], data[:head+b.raw]...)
	l.prepareOffLoop(x, c, head, route)
	x.body = x.readAhead(b, x.raw[head:])
	l.launch(t, c, x)
}

// startStreamed hands a request over whose body is not there.
func (l *Loop) startStreamed(t *Turn, c *conn, data []byte, head int, route uint16) {
	x := l.newExchange()
	x.raw = append(x.raw[:0], data[:head]...)
	l.prepareOffLoop(x, c, head, route)
	p := newBodyPipe(x, l.now)
	x.pipe, c.body = p, p
	if !l.launch(t, c, x) {
		return
	}
	l.setRead(c, l.after(l.g.cfg.BodyTimeout))
	l.feedBody(c, data[head:])
}

// streamKept starts a request whose chunked body was awaited for long enough.
func (l *Loop) streamKept(t *Turn, c *conn) (lost bool) {
	if c.state != stateAhead {
		return false
	}
	data := c.in
	c.in, c.need = nil, 0
	x := t.x
	head, err := c.parser.Parse(data, &x.req)
	if err != nil || head == 0 {
		return false
	}
	b, _, err := l.findBody(c, &x.req, data[head:])
	if err != nil || b.ending {
		// Only trailers are missing: there is nothing to stream.
		c.in, c.chunked = data, false
		l.setRead(c, l.after(l.g.cfg.BodyTimeout))
		return false
	}
	c.served++
	c.peerClose = !x.req.KeepAlive
	l.requests++
	l.startStreamed(t, c, data, head, routeOf(x.req.Method, x.req.Path))
	l.next(c)
	return false
}

// prepareOffLoop reads the head again, from x's own memory.
func (l *Loop) prepareOffLoop(x *Exchange, c *conn, head int, route uint16) {
	x.reset(l, c, nil)
	x.route = route
	x.parser.Limits = &l.g.cfg.Limits
	if n, err := x.parser.Parse(x.raw, &x.req); n != head || err != nil {
		panic("loop: a head that was parsed once is not the same the second time")
	}
	x.seated = l.seated(&x.req)
	x.close = l.closesAfter(c)
	c.x, c.state, c.need = x, stateBusy, 0
	l.setRead(c, 0)
}

// launch starts x or lets it wait in order; false: it was answered 503.
func (l *Loop) launch(t *Turn, c *conn, x *Exchange) bool {
	l.g.handedOver.Add(1)
	enter := l.g.gate.enter
	if x.seated {
		enter = l.g.seats.enter
	}
	switch enter(x) {
	case admitted:
		go l.g.runOffLoop(x)
	case refused:
		l.g.dropsBlocking.Add(1)
		c.x, c.body = nil, nil
		l.freeExchange(x)
		l.sendOut(t, c)
		l.refuse(c, 503, "too many requests wait for a slow handler")
		return false
	}
	return true
}

// runOffLoop runs handlers until none waits for the place.
func (g *Group) runOffLoop(x *Exchange) {
	for ; x != nil; x = g.gate.leave() {
		x.runOffLoop()
	}
}

// runOffLoop runs x's handler to the end.
func (x *Exchange) runOffLoop() {
	x.began = x.l.k.Now()
	if x.gone.Load() {
		x.aborted = true // nobody waits for the answer any more
		x.endHandler()
	} else {
		x.call()
	}
	x.finish()
}

// done takes the answer of a handler that returned off the loop.
func (l *Loop) done(t *Turn, x *Exchange) (lost bool) {
	c := x.c
	switch {
	case x.tick:
		l.freeExchange(x)
		return false
	case c.x != x || c.state == stateClosed:
		if x.hold != nil {
			x.hold.src.Closed(ClosedByPeer)
		}
		l.freeExchange(x)
		return false
	}
	if x.turn == nil {
		l.routes.took(x.route, x.took)
	} else if rest := x.turn.rest; len(rest) > 0 {
		c.in = append(append(make([]byte, 0, len(rest)+len(c.in)), rest...), c.in...)
	}
	l.noteRoute(x)
	if x.hijacked {
		c.x = nil
		l.freeExchange(x)
		return false
	}
	l.conclude(c, x)
	l.send(c, x.final)
	l.freeExchange(x)
	if c.state == stateIdle && len(c.in) > 0 && !c.pending() && !c.closing {
		return l.serveKept(t, c)
	}
	l.next(c)
	return false
}

// newExchange returns an Exchange from the free list, or a new one.
func (l *Loop) newExchange() *Exchange {
	if n := len(l.spare); n > 0 {
		x := l.spare[n-1]
		l.spare = l.spare[:n-1]
		return x
	}
	return &Exchange{replies: make(chan error, 1)}
}

const (
	spareMax     = 64       // free turns, and free exchanges, of a loop
	spareBufsMax = 64 << 10 // what of their buffers is kept
)

// freeExchange takes x back, with the turn it came with.
func (l *Loop) freeExchange(x *Exchange) {
	t := x.turn
	x.c, x.turn, x.pipe, x.hold, x.body = nil, nil, nil, nil, nil
	for _, b := range []*[]byte{&x.out, &x.final, &x.flight, &x.raw} {
		if cap(*b) > spareBufsMax {
			*b = nil
		}
	}
	switch {
	case t != nil && len(l.turns) < spareMax:
		t.rest, t.out, t.put = nil, t.out[:0], 0
		l.turns = append(l.turns, t)
	case t == nil && len(l.spare) < spareMax:
		l.spare = append(l.spare, x)
	}
}

// newTurn returns what an owner needs.
func newTurn() *Turn {
	t := &Turn{in: make([]byte, turnInBytes), x: &Exchange{replies: make(chan error, 1)}}
	t.events = make([]sys.Event, turnEvents)
	return t
}
