// SPDX-License-Identifier: MIT

package socket

import (
	"crypto/rand"
	"errors"
	"fmt"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/grip"
	"m0serve.dev/http/loop"
	"m0serve.dev/http/ws"
	"m0serve.dev/wsgi/internal/realtime"
)

// batchMax is how many bytes of messages one request has, unless a single message is
// longer.
const batchMax = 200_000

// events is the talk of GRIP, WebSocket-over-HTTP: requests to the target of the
// socket with the events since the last one, answered by events. The socket's mu
// guards what stands below it.
type events struct {
	id     string            // Connection-Id
	answer grip.SocketAnswer // the one that accepted: it has the prefix of messages

	meta     grip.Meta // Meta-*
	sent     []note    // in the request that is not answered
	replayed int       // bytes that are sent again
	detached bool      // the application is done with it
	times    times
}

// OpensGrip reports whether an opening is offered as a WebSocket-over-HTTP first.
func (s *Sockets) OpensGrip() bool { return s.cfg.Grip }

// Grip is the request that offers the opening as a WebSocket-over-HTTP.
func (o *Opening) Grip() []byte {
	o.id = rand.Text()
	return appendEvents(nil, o, nil, 0, grip.AppendEvent(nil, grip.Event{Type: grip.EventOpen}))
}

// appendEvents makes a request with events.
func appendEvents(dst []byte, o *Opening, meta grip.Meta, replayed int, body []byte) []byte {
	dst = o.appendHead(dst, o.target)
	dst = appendLine(dst, "Accept", grip.EventsType)
	dst = appendLine(dst, "Content-Type", grip.EventsType)
	dst = appendLine(dst, "Connection-Id", o.id)
	dst = appendLine(dst, "Sec-WebSocket-Extensions", "grip")
	dst = grip.AppendMetaFields(dst, meta)
	if replayed > 0 {
		dst = appendLine(dst, "Content-Bytes-Replayed", fmt.Sprint(replayed))
	}
	return appendBody(dst, body)
}

// SpeaksGrip reports whether the answer to Grip accepts the opening.
func SpeaksGrip(a *realtime.Answer) bool {
	said, err := grip.ParseSocketAnswer(grip.All(a.Fields))
	return a.Status == 200 && (err != nil || said.Events)
}

// acceptGrip accepts a socket that talks by events.
func (s *Sockets) acceptGrip(o *Opening, a *realtime.Answer) error {
	said, err := grip.ParseSocketAnswer(grip.All(a.Fields))
	if err != nil {
		return err
	}
	list, err := grip.ParseEvents(a.Body)
	switch {
	case err != nil:
		return err
	case len(list) == 0 && said.Interval <= 0:
		return errors.New("no event, and no Keep-Alive-Interval either")
	case len(list) > 0 && list[0].Type != grip.EventOpen:
		return fmt.Errorf("the first event is %s, want OPEN", list[0].Type)
	}
	k := &socket{s: s, opening: o}
	e := &events{id: o.id, answer: said}
	k.talk = e
	return s.park(o, a, k, nil, func() {
		e.take(k, said)
		if err := e.obey(k, list); err != nil {
			k.invalid(err)
		}
		e.restart(k)
	})
}

func (e *events) closedLocked() bool {
	e.times.stop()
	return !e.detached
}

// requestLocked makes a request of as many events as fit.
func (e *events) requestLocked(k *socket) []byte {
	if e.detached {
		k.waiting, k.bytes = nil, 0
		return nil
	}
	var body []byte
	e.sent = e.sent[:0]
	for len(k.waiting) > 0 && (len(e.sent) == 0 || len(body)+len(k.waiting[0].data) <= batchMax) {
		n, _ := k.popLocked()
		body = grip.AppendEvent(body, eventOf(&n))
		e.sent = append(e.sent, n)
	}
	if len(e.sent) == 0 && !k.poked {
		return nil
	}
	return appendEvents(nil, k.opening, e.meta, e.replayed, body)
}

// eventOf is what happened as the application is told.
func eventOf(n *note) grip.Event {
	switch {
	case n.op == ws.OpText:
		return grip.Event{Type: grip.EventText, Content: n.data}
	case n.op == ws.OpBinary:
		return grip.Event{Type: grip.EventBinary, Content: n.data}
	case n.code == ws.CodeNoStatus:
		return grip.CloseEvent(0, "")
	case n.code.Travels():
		return grip.CloseEvent(int(n.code), n.reason)
	}
	return grip.Event{Type: grip.EventDisconnect}
}

// answered takes the application's answer to events.
func (e *events) answered(k *socket, x *loop.Exchange) {
	if code, reason := codeOf(x.Status()); code != 0 {
		k.end(code, reason)
		return
	}
	said, err := grip.ParseSocketAnswer(x.AnswerFields())
	if err == nil && !said.Events {
		err = errors.New("it is no application/websocket-events")
	}
	var list []grip.Event
	if err == nil {
		list, err = grip.ParseEvents(x.AnswerBody())
	}
	if err == nil {
		e.take(k, said)
		err = e.obey(k, list)
	}
	if err != nil {
		k.invalid(err)
		return
	}
	e.restart(k)
}

// take does what the fields of an answer say.
func (e *events) take(k *socket, said grip.SocketAnswer) {
	k.mu.Lock()
	defer k.mu.Unlock()
	e.meta = said.SetMeta(e.meta)
	if said.Interval >= 0 {
		e.times.every = said.Interval
	}
	e.replayed = 0
	if said.Accepted >= 0 && !k.deaf {
		e.giveBackLocked(k, said.Accepted)
	}
	e.sent = nil
}

// giveBackLocked lets what was not accepted wait again, ahead of everything else.
func (e *events) giveBackLocked(k *socket, accepted int) {
	for i, n := range e.sent {
		if len(n.data) <= accepted {
			accepted -= len(n.data)
			continue
		}
		n.data = n.data[accepted:]
		back := append([]note{n}, e.sent[i+1:]...)
		for _, n := range back {
			e.replayed += len(n.data)
		}
		// Without news the same request would be made at once, and again.
		k.stalled = accepted == 0 && i == 0 && len(k.waiting) == 0
		k.waiting = append(back, k.waiting...)
		k.bytes += e.replayed
		return
	}
}

// obey does what events of the application say, in order.
func (e *events) obey(k *socket, list []grip.Event) error {
	for _, event := range list {
		to, content := e.answer.Route(event)
		switch to {
		case grip.ToControl:
			c, err := grip.ParseControl(content, bus.CheckName)
			if err == nil {
				err = e.control(k, &c)
			}
			if err != nil {
				return err
			}
		case grip.ToClient:
			if err := e.send(k, event, content); err != nil {
				return err
			}
		}
	}
	return nil
}

// send sends an event to the client.
func (e *events) send(k *socket, event grip.Event, content []byte) error {
	m := message{data: content}
	switch event.Type {
	case grip.EventText:
		m.op = ws.OpText
	case grip.EventBinary:
		m.op = ws.OpBinary
	case grip.EventPing:
		m.op = ws.OpPing
	case grip.EventPong:
		m.op = ws.OpPong
	case grip.EventClose:
		code, reason, err := event.CloseCode()
		if err != nil {
			return err
		}
		if m.op, m.code, m.data = ws.OpClose, ws.Code(code), []byte(reason); code == 0 {
			m.code, m.data = ws.CodeNoStatus, nil
		}
		e.leave(k)
	case grip.EventDisconnect:
		e.leave(k)
		m.op, m.code = ws.OpClose, ws.CodeGoingAway
	default: // OPEN
		return nil
	}
	k.deliver(&m)
	return nil
}

// leave is the end of all requests.
func (e *events) leave(k *socket) {
	k.mu.Lock()
	e.detached, k.deaf = true, true
	k.mu.Unlock()
}
