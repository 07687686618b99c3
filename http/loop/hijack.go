// SPDX-License-Identifier: MIT

package loop

// A hijackedConn is what is left of a connection that left its loop.
type hijackedConn struct {
	fd    int
	early []byte // what the peer sent behind the request
}

// Hijack takes the connection away from the loop, once the answers of earlier
// requests are written. The descriptor is the caller's; early is what the peer
// has sent behind the request. No answer is sent.
func (x *Exchange) Hijack() (fd int, early []byte, err error) {
	if x.started || x.hold != nil || x.hijacked || x.over != nil || x.asking != nil {
		return -1, nil, ErrStarted
	}
	x.detach()
	if err := x.await(); err != nil {
		return -1, nil, err
	}
	if err := x.ask(noteHijack); err != nil {
		return -1, nil, err
	}
	if err := x.await(); err != nil {
		return -1, nil, err
	}
	x.hijacked = true
	if x.turn != nil {
		early = append(early, x.turn.rest...)
	}
	return x.given.fd, append(early, x.given.early...), nil
}

// beginHijack gives x its connection as soon as everything is written.
func (l *Loop) beginHijack(x *Exchange) {
	c := x.c
	if c.x != x || c.state == stateClosed {
		x.reply(ErrGone)
		return
	}
	if c.hijack = true; !c.pending() {
		l.giveAway(c)
	}
}

func (l *Loop) giveAway(c *conn) {
	x := c.x
	x.given = hijackedConn{fd: int(c.fd), early: c.in}
	if err := l.k.Unwatch(l.poller, int(c.fd)); err != nil {
		l.g.cfg.Log.Error("loop: hijacked connection still watched", "error", err)
	}
	l.detachConn(c)
	c.x, c.in, c.body = nil, nil, nil
	l.g.leave()
	x.reply(nil)
}
