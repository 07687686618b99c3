// SPDX-License-Identifier: MIT

package loop

import (
	"errors"

	"m0serve.dev/http/internal/sys"
	"m0serve.dev/http/wire"
)

// errWait says that the kernel has nothing for us, or no room.
var errWait = errors.New("loop: would block")

// chunkedWait is how long a chunked body that fits into the read-ahead is
// awaited before its handler starts and streams it.
const chunkedWait = 50_000_000 // 50 ms

// read reads once. n of 0 and no error is the peer's FIN.
func (l *Loop) read(c *conn, p []byte) (int, error) {
	for {
		n, err := l.k.Read(int(c.fd), p)
		switch err {
		case nil:
			return n, nil
		case sys.EINTR:
			continue
		case sys.EAGAIN:
			return 0, errWait
		}
		return 0, err
	}
}

// readable reads a request's bytes and serves what is whole. A connection with
// a part of a request reads behind it, so that a peer that drips bytes costs no
// copying; all others read into the owner's buffer.
func (l *Loop) readable(t *Turn, c *conn) (lost bool) {
	buf := t.in
	if len(c.in) > 0 {
		c.in = grown(c.in, c.need)
		buf = c.in[len(c.in):cap(c.in)]
	}
	n, err := l.read(c, buf)
	switch {
	case err == errWait:
		return false
	case err != nil:
		l.close(c, ClosedByPeer)
		return false
	case n == 0:
		c.eof = true
		l.inputEnded(c)
		return false
	}
	if len(c.in) == 0 {
		t.own = false
		return l.serve(t, c, buf[:n])
	}
	c.in = c.in[:len(c.in)+n]
	if len(c.in) < c.need {
		return false
	}
	return l.serveKept(t, c)
}

// grown returns b with room for more: up to need, and doubled beyond.
func grown(b []byte, need int) []byte {
	if len(b) < cap(b) {
		return b
	}
	more := make([]byte, len(b), max(need, 2*len(b), 1024))
	copy(more, b)
	return more
}

// inputEnded acts on a FIN while c waits for a request.
func (l *Loop) inputEnded(c *conn) {
	if c.state == stateIdle {
		l.close(c, ClosedByPeer)
		return
	}
	l.refuse(c, wire.ErrTruncated.Status(), wire.ErrTruncated.Text())
}

// serveKept serves the input that c kept.
func (l *Loop) serveKept(t *Turn, c *conn) (lost bool) {
	if !c.reads() || c.pending() || c.closing || len(c.in) == 0 || len(c.in) < c.need {
		return false
	}
	// From here on the input belongs to the turn: a handler that loses the loop
	// keeps it, and the new owner must not see it.
	data := c.in
	c.in, c.need = nil, 0
	t.own = true
	if l.serve(t, c, data) {
		return true
	}
	if len(c.in) == 0 && cap(data) > turnInBytes && len(l.longIn) < longInMax {
		l.longIn = append(l.longIn, data[:0]) // nobody points into it any more
	}
	return false
}

// serve serves the requests in data, which is t.in or was c.in, and keeps what
// is not whole. true: the loop was lost.
func (l *Loop) serve(t *Turn, c *conn, data []byte) (lost bool) {
	for len(data) > 0 && c.reads() && !c.closing {
		used, lost := l.serveOne(t, c, data)
		if lost {
			return true
		}
		if used == 0 {
			break // kept or refused
		}
		data = data[used:]
		if len(t.out) >= outFlushBytes {
			if l.sendOut(t, c); c.pending() {
				break
			}
		}
	}
	if len(data) == 0 && l.mayWait(t, c) {
		l.putOff(t, c)
		return false
	}
	l.sendOut(t, c)
	switch {
	case len(data) == 0 || c.closing || c.state == stateClosed:
	case c.state == stateHeld && c.held.talk != nil:
		l.keep(t, c, data, 0)
		l.hearSoon(c)
	case c.state == stateHeld && c.held.keeps:
		l.keep(t, c, data, 0)
	case c.state == stateHeld:
		l.received(c, data)
	case c.in == nil:
		l.keep(t, c, data, 0)
	}
	l.next(c)
	return false
}

// longInMax buffers of long bodies are kept for the next ones.
const longInMax = 16

// keep keeps data as the start of c's input; need is the length at which it is
// worth looking at again.
func (l *Loop) keep(t *Turn, c *conn, data []byte, need int) {
	c.need = need
	if t.own {
		c.in = data
		return
	}
	if n := len(l.longIn); need > turnInBytes && n > 0 && cap(l.longIn[n-1]) >= need {
		c.in = append(l.longIn[n-1], data...)
		l.longIn[n-1], l.longIn = nil, l.longIn[:n-1]
		return
	}
	c.in = make([]byte, len(data), max(need, len(data)))
	copy(c.in, data)
}

// serveOne serves the request at the start of data and returns how much of data
// is done with: 0 when the request is not whole (and kept) or was refused.
func (l *Loop) serveOne(t *Turn, c *conn, data []byte) (used int, lost bool) {
	x := t.x
	head, err := c.parser.Parse(data, &x.req)
	if err != nil {
		l.refuseWire(t, c, err)
		return 0, false
	}
	if head == 0 {
		if c.state == stateIdle {
			c.state = stateHead
			l.setRead(c, l.after(l.g.cfg.HeadTimeout))
		}
		l.keep(t, c, data, 0)
		return 0, false
	}
	body, whole := bodySpan{}, true
	if x.req.HasBody() {
		if body, whole, err = l.findBody(c, &x.req, data[head:]); err != nil {
			l.refuseWire(t, c, err)
			return 0, false
		}
	}
	if !whole && !body.stream {
		l.awaitBody(t, c, data, head, &body)
		return 0, false
	}
	l.settleLong(c)
	c.served++
	c.peerClose = !x.req.KeepAlive
	l.requests++
	route := routeOf(x.req.Method, x.req.Path)
	if !whole {
		l.startStreamed(t, c, data, head, route)
		return len(data), false
	}
	used = head + body.raw
	if l.startsOffLoop(t, route) {
		l.startOffLoop(t, c, data, head, &body, route)
		return used, false
	}
	return l.serveInline(t, c, data, head, &body, route)
}

// serveInline runs the handler on the loop.
func (l *Loop) serveInline(t *Turn, c *conn, data []byte, head int, body *bodySpan,
	route uint16) (used int, lost bool) {
	x := t.x
	used = head + body.raw
	x.reset(l, c, t)
	x.route = route
	if t.seat != nil {
		if x.on, x.seated = t.seat.Seat, l.seated(&x.req); x.seated {
			l.g.seats.inside.Add(1)
		}
	}
	x.body = x.readAhead(body, data[head:used])
	x.close = l.closesAfter(c)
	if l.g.cfg.Answered != nil {
		x.began = l.k.Now()
	}
	c.x, c.state = x, stateBusy
	t.rest = data[used:]
	if l.enter(t) {
		return 0, true
	}
	l.routes.quick(route)
	l.noteRoute(x)
	rest := x.cutLong()
	t.out = x.appendAnswer(t.out)
	l.conclude(c, x)
	if rest != nil {
		l.sendOut(t, c)
		l.send(c, rest)
	}
	return used, false
}

// closesAfter says whether the connection ends with the request just begun.
func (l *Loop) closesAfter(c *conn) bool {
	most := l.g.cfg.RequestsPerConn
	if most > 0 && int(c.served) >= most {
		l.drops.requests++
		return true
	}
	return c.peerClose || l.draining
}

// noteRoute learns what the router behind the handler found.
func (l *Loop) noteRoute(x *Exchange) {
	if x.routeName != "" {
		l.routes.found(x.route, routeNamed(x.routeName))
	}
}

// conclude makes c what x, which is answered, has made of it. The answer itself
// is sent by the caller, who calls next then.
func (l *Loop) conclude(c *conn, x *Exchange) {
	c.x = nil
	c.state = stateIdle
	switch {
	case x.aborted:
		c.closing = true
		c.cut = x.started && !x.chunked && x.length < 0
	case x.hold != nil:
		l.hold(c, x)
		return
	case x.close:
		c.closing = true
	}
	if c.broken {
		c.closing = true
	}
	if c.body != nil || c.broken {
		c.peerClose = false // it still sends: the close has to linger
	}
	if c.body != nil && !c.closing {
		c.state = stateBusy // the rest of the body is read and dropped
		c.body.dropping = true
		c.body.stopped = false
		return
	}
	c.body = nil
	l.awaitNext(c)
}

// awaitNext bounds the wait for the next request.
func (l *Loop) awaitNext(c *conn) {
	if l.draining { // the head was out before it could announce the end
		l.setRead(c, l.now+drainKept)
		return
	}
	l.setRead(c, l.after(l.g.cfg.IdleTimeout))
}

// refuseWire answers what the parser or decoder refused, behind the answers of
// earlier requests, and ends the connection.
func (l *Loop) refuseWire(t *Turn, c *conn, err error) {
	code, text := 400, ""
	var refused wire.Error
	if errors.As(err, &refused) {
		code, text = refused.Status(), refused.Text()
	}
	l.sendOut(t, c)
	l.drops.refused++
	l.refuse(c, code, text)
}

// refuse answers without a handler and ends the connection.
func (l *Loop) refuse(c *conn, code int, text string) {
	if c.state == stateClosed {
		return
	}
	c.state, c.in, c.closing = stateIdle, nil, true
	c.peerClose = false
	l.scratch = appendProblem(l.scratch[:0], code, text, l.date)
	if answered := l.g.cfg.Answered; answered != nil {
		answered(Answer{Status: code})
	}
	l.send(c, l.scratch)
	l.next(c)
}

// refuseLate answers a request that did not become whole in time.
func (l *Loop) refuseLate(c *conn) { l.refuse(c, 408, "the request did not come in time") }
