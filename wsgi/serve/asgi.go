// SPDX-License-Identifier: MIT

//go:build cgo && linux

package serve

import (
	"errors"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"m0serve.dev/http/loop"
	"m0serve.dev/http/server"
	"m0serve.dev/http/wire"
	"m0serve.dev/http/ws"
	engine "m0serve.dev/wsgi/internal/python"
)

// dataMax is the longest piece of a request body that goes to the application
// at once.
const dataMax = 64 << 10

// wsCredit is how many messages of a WebSocket may wait for the application.
const wsCredit = 64

// An asgi is the guest of the server: the event loop of the application. Post
// and Rouse may be called from anywhere; everything else is the thread of the
// event loop's.
type asgi struct {
	srv   *server.Server
	log   *slog.Logger
	front *front
	root  string
	path  []byte // room for one
	wsO   ws.Options
	wake  *waker
	pulse *pulse // nil: nobody asks whether the event loop turns

	calls  []*asgiCall // by token
	free   []uint32
	of     map[*loop.Exchange]*asgiCall
	swap   []news
	buf    [dataMax]byte
	timer  *time.Timer
	timeAt time.Time // when timer fires; zero: it does not run
	ended  bool

	inTurn atomic.Bool // the thread looks at queue before it leaves
	mu     sync.Mutex
	queue  []news // guarded by mu
}

// news is something that happened outside the event loop.
type news struct {
	kind   uint32 // of an engine event
	from   loop.News
	x      *loop.Exchange // nil: for call
	call   *asgiCall
	token  uint32 // of a subscription
	data   []byte
	isText bool
	code   ws.Code
	reason string
}

// An asgiCall is one call of the application.
type asgiCall struct {
	token  uint32
	x      *loop.Exchange // until its answer is complete
	conn   *ws.Conn       // once accepted
	wants  bool           // the next piece of the body
	slow   bool           // the application waits for Drained
	ending bool           // its answer is complete, but for what is on its way
	ended  bool           // Finish was called
	closed bool           // the WebSocket is
	credit atomic.Int64   // messages it may still post
}

func newASGI(
	srv *server.Server, log *slog.Logger, f *front, root string, p *pulse,
) (*asgi, error) {
	w, err := newWaker()
	if err != nil {
		return nil, err
	}
	a := &asgi{srv: srv, log: log, front: f, root: root, wake: w, pulse: p,
		of: map[*loop.Exchange]*asgiCall{}}
	a.wsO.Origins = []string{"*"} // the application's to check
	a.wsO.MessageBytes = 16 << 20
	a.wsO.QueueBytes = 4 << 20 // the application waits from half of it on
	a.timer = time.AfterFunc(time.Hour, a.Rouse)
	a.timer.Stop()
	return a, nil
}

// Rouse asks for a turn.
func (a *asgi) Rouse() { a.wake.wake() }

// Post takes news of an Exchange.
func (a *asgi) Post(x *loop.Exchange, what loop.News) { a.post(news{x: x, from: what}) }

func (a *asgi) post(n news) {
	a.mu.Lock()
	first := len(a.queue) == 0
	a.queue = append(a.queue, n)
	a.mu.Unlock()
	if first && !a.inTurn.Load() {
		a.wake.wake()
	}
}

// heard tells that something came for a subscription.
func (a *asgi) heard(token uint32) { a.post(news{kind: engine.EventHeard, token: token}) }

func (a *asgi) hasNews() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.queue) > 0
}

// Attach makes the calling thread the guest's. The first turn is asked for, since a
// stop may have come first: then the loop has ended, and only a turn says so.
func (a *asgi) Attach() (poller, wakes int, err error) {
	if poller, err = a.srv.Invite(a); poller < 0 {
		poller = a.wake.fd
	}
	a.pulse.begin(syscall.Gettid(), a.Rouse)
	a.Rouse()
	return poller, a.wake.fd, err
}

// Turn leads the engine for a turn.
func (a *asgi) Turn(out *engine.Events) {
	a.wake.quiet()
	a.pulse.turn()
	if a.ended {
		return
	}
	next, heard, ended := a.lead(out)
	for heard && !ended && out.Empty() {
		// The engine was promised another turn, and Python has no reason to ask.
		next, heard, ended = a.lead(out)
	}
	switch {
	case ended:
		a.ended = true
		a.pulse.end()
		out.Int(engine.EventEnded)
	case next >= 0 && out.Empty():
		a.setTimer(next)
	}
}

// lead is one turn of the engine, and the news of it, if heard any, as events.
func (a *asgi) lead(out *engine.Events) (next time.Duration, heard, ended bool) {
	a.inTurn.Store(true)
	next, ended = a.srv.Turn(a.hasNews)
	a.inTurn.Store(false)
	a.mu.Lock()
	a.queue, a.swap = a.swap[:0], a.queue
	a.mu.Unlock()
	for i := range a.swap {
		a.deliver(out, &a.swap[i])
	}
	clear(a.swap)
	return next, len(a.swap) > 0, ended
}

// setTimer makes sure of a turn in time.
func (a *asgi) setTimer(next time.Duration) {
	now := time.Now()
	at := now.Add(next)
	if a.timeAt.After(now) && !at.Before(a.timeAt.Add(-time.Millisecond)) {
		return
	}
	a.timeAt = at
	a.timer.Reset(next)
}

// deliver turns news into events.
func (a *asgi) deliver(out *engine.Events, n *news) {
	switch {
	case n.kind == engine.EventHeard:
		out.Int(n.kind)
		out.Int(n.token)
	case n.x == nil && n.call == nil:
		out.Int(n.kind)
	case n.x == nil:
		a.deliverSocket(out, n)
	case n.from == loop.Begins:
		a.begin(out, n.x)
	default:
		if c := a.of[n.x]; c != nil {
			a.deliverNews(out, c, n.from)
		}
	}
}

func (a *asgi) deliverNews(out *engine.Events, c *asgiCall, what loop.News) {
	switch what {
	case loop.Written:
		x := c.x
		drained, ended := x.Sent()
		if ended {
			a.forget(c, x)
		} else if drained && c.slow {
			c.slow = false
			c.tell(out, engine.EventDrained)
		}
	case loop.Readable:
		if c.wants && !c.ended { // its token may be another's already
			a.readBody(out, c)
		}
	case loop.Gone:
		if !c.ended {
			c.tell(out, engine.EventGone)
		}
	}
}

// readBody gives the application a piece of the body, if one is there.
func (a *asgi) readBody(out *engine.Events, c *asgiCall) {
	n, err := c.x.ReadNow(a.buf[:])
	switch {
	case errors.Is(err, loop.ErrNotYet):
		return
	case err != nil && err != io.EOF:
		c.wants = false // broken: the application is told that the client left
		c.tell(out, engine.EventGone)
		return
	}
	c.wants = false
	c.tell(out, engine.EventData)
	out.Text(a.buf[:n])
	out.Flag(err != io.EOF)
}

// begin starts a call for a request.
func (a *asgi) begin(out *engine.Events, x *loop.Exchange) {
	c := a.newCall(x)
	r := x.Request()
	if wire.EqualFold(r.Upgrade, "websocket") {
		a.beginSocket(out, c)
		return
	}
	c.tell(out, engine.EventRequest)
	out.Text(r.Method)
	a.appendScope(out, x, false)
	body, whole := x.Body()
	if out.Flag(whole); whole {
		out.Text(body)
	}
}

func (a *asgi) newCall(x *loop.Exchange) *asgiCall {
	c := &asgiCall{x: x}
	if n := len(a.free); n > 0 {
		c.token = a.free[n-1]
		a.free = a.free[:n-1]
		a.calls[c.token] = c
	} else {
		c.token = uint32(len(a.calls))
		a.calls = append(a.calls, c)
	}
	a.of[x] = c
	return c
}

// forget parts c from its Exchange, which is the engine's again and may be
// another request's already.
func (a *asgi) forget(c *asgiCall, x *loop.Exchange) {
	delete(a.of, x)
	c.x = nil
}

// call is the one of a token, nil when it is over.
func (a *asgi) call(token uint32) *asgiCall {
	if int(token) >= len(a.calls) {
		return nil
	}
	return a.calls[token]
}

// answering is the call of a token whose answer is not complete, nil otherwise.
func (a *asgi) answering(token uint32) *asgiCall {
	if c := a.call(token); c != nil && c.x != nil && !c.ending {
		return c
	}
	return nil
}

// setFields adds to the head of the answer; false: one of them is not valid.
func (c *asgiCall) setFields(fields engine.Fields) bool {
	for name, value := range fields.All() {
		if c.x.Field(name, value) != nil {
			return false
		}
	}
	return true
}

// tell begins an event about c.
func (c *asgiCall) tell(out *engine.Events, kind uint32) {
	out.Int(kind)
	out.Int(c.token)
}

// Respond begins an answer.
func (a *asgi) Respond(token uint32, status int, fields engine.Fields, body []byte,
	more bool) engine.Reply {
	c := a.answering(token)
	if c == nil {
		return engine.Gone
	}
	if status < 200 || status > 999 {
		return engine.Invalid
	}
	c.x.SetStatus(status)
	if !c.setFields(fields) {
		return engine.Invalid
	}
	return a.add(c, body, more)
}

// Send goes on with an answer.
func (a *asgi) Send(token uint32, body []byte, more bool) engine.Reply {
	c := a.answering(token)
	if c == nil {
		return engine.Gone
	}
	return a.add(c, body, more)
}

func (a *asgi) add(c *asgiCall, body []byte, more bool) engine.Reply {
	_ = c.x.Append(body) // too long or not allowed: the engine keeps the framing right
	if !more {
		a.end(c)
		return engine.OK
	}
	slow, err := c.x.Send()
	switch {
	case err != nil:
		return engine.Gone
	case slow:
		c.slow = true
		return engine.Slow
	}
	return engine.OK
}

// end completes the answer of c.
func (a *asgi) end(c *asgiCall) {
	x := c.x
	if c.ending = true; x.End() {
		a.forget(c, x)
	}
}

// Trailers adds trailer fields.
func (a *asgi) Trailers(token uint32, fields engine.Fields) engine.Reply {
	c := a.answering(token)
	if c == nil {
		return engine.Gone
	}
	for name, value := range fields.All() {
		if c.x.Trailer(name, value) != nil {
			return engine.Invalid
		}
	}
	return engine.OK
}

// Inform sends an interim response 103.
func (a *asgi) Inform(token uint32, fields engine.Fields) engine.Reply {
	c := a.answering(token)
	if c == nil {
		return engine.Gone
	}
	if c.x.InformNow(103, fields.All()) != nil {
		return engine.Invalid
	}
	return engine.OK
}

// Want asks for the next piece of the body.
func (a *asgi) Want(token uint32) {
	if c := a.call(token); c != nil && c.x != nil {
		c.wants = true
		a.Post(c.x, loop.Readable)
	}
}

// Finish ends a token. An answer that is not complete cannot become so.
func (a *asgi) Finish(token uint32) {
	c := a.call(token)
	if c == nil {
		return
	}
	if c.ended = true; c.x != nil && !c.ending {
		c.x.Fail(500, "the application returned without an answer")
		a.end(c)
	}
	if c.conn != nil && !c.closed {
		_ = c.conn.Close(ws.CodeNormal, "")
		return // Closed releases the token
	}
	a.release(c)
}

func (a *asgi) release(c *asgiCall) {
	a.calls[c.token] = nil
	a.free = append(a.free, c.token)
}

// Abort ends a token and breaks its answer off.
func (a *asgi) Abort(token uint32) {
	c := a.call(token)
	if c == nil {
		return
	}
	if c.x != nil && !c.ending {
		c.x.Abort()
		a.end(c)
	}
	if c.conn != nil && !c.closed {
		_ = c.conn.Close(ws.CodeInternal, "")
	}
	a.Finish(token)
}
