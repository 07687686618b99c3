// SPDX-License-Identifier: MIT

package realtime

import (
	"fmt"
	"sync"
	"time"

	"m0serve.dev/http/grip"
	"m0serve.dev/http/loop"
	"m0serve.dev/http/sse"
	"m0serve.dev/http/wire"
	"m0serve.dev/wsgi/internal/realtime/clock"
)

// A poll is one long poll. It is answered once, by whatever comes first: an item, an
// event, its timeout or the end of the server. It is the loop.Source of its
// connection; mu guards what stands below it.
type poll struct {
	s       *Service
	own     *Answer // the application's, for the timeout
	in      subscriber
	timeout clock.Sleeper
	slot    *sse.Slot // only to hear of what is published; set before it is parked
	gone    *question // nil: the application does not hear that the client went away
	keeps   bool      // the connection goes on behind the answer
	isOld   bool      // … of HTTP/1.0, whose answers have to say so

	mu     sync.Mutex
	held   loop.Held // nil until it is parked
	done   bool      // there is an answer, or nobody to get one
	answer []byte    // to be sent; nil when it was
}

// poll parks x until something is published.
func (s *Service) poll(x *loop.Exchange, a *Answer, in *grip.Instruct) (err error) {
	if a.Status < 200 {
		return fmt.Errorf("realtime: status %d is no answer", a.Status)
	}
	p := &poll{s: s, own: a, in: newSubscriber(in), keeps: x.Keeps(), isOld: x.Request().Minor == 0}
	p.timeout.Waker = p
	if p.gone, err = newGone(x, in.Gone); err != nil {
		return err
	}
	p.slot, err = s.hub.Attach(sse.HoldOptions{
		Channels: p.in.names(), Pass: p.pass, Quiet: true, OnClose: p.left,
	})
	if err != nil {
		return err
	}
	held, err := x.HoldBare(p, p.keeps)
	if err != nil {
		p.slot.Closed(loop.ClosedByError)
		return fmt.Errorf("realtime: hold: %w", err)
	}
	p.slot.Park(held, false)
	if p.park(held); !s.keep(p) || s.isBehind(in.Channels) {
		p.giveUp() // the client asks again, and so the application
	}
	s.clock.Set(&p.timeout, time.Now().Add(in.Timeout))
	return nil
}

// keep makes p known to Drain; false: that was already.
func (s *Service) keep(p *poll) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.polls[p] = struct{}{}
	return !s.draining
}

// isDraining reports whether no connection is to go on.
func (s *Service) isDraining() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.draining
}

func (p *poll) park(held loop.Held) {
	p.mu.Lock()
	p.held = held
	answered := p.answer != nil
	p.mu.Unlock()
	if answered {
		held.Close(loop.EndClean)
	}
}

// pass answers with the first frame that is an answer for this poll. Nothing goes
// through the slot.
func (p *poll) pass(f *sse.Frame) *sse.Frame {
	if answer := p.answerTo(f); answer != nil {
		p.settle(answer)
	}
	return nil
}

// answerTo is the whole answer that a frame makes; nil: none.
func (p *poll) answerTo(f *sse.Frame) []byte {
	d, isItem := f.Note().(*delivery)
	if !isItem {
		data, ok := DataOf(f.Body())
		if !ok {
			return nil
		}
		return p.append(p.own.Status, p.own.Reason, p.own.Fields, data)
	}
	r := d.item.Response
	switch {
	case r == nil:
		return nil
	case r.Action == grip.Hint: // the client asks again, and so the application
		return p.ownAnswer()
	case r.Action != grip.Send:
		return nil
	}
	p.mu.Lock()
	body, ok, err := p.in.filter(d.item, r.Filters, r.Body)
	p.mu.Unlock()
	switch {
	case err != nil:
		p.s.unfit(d.item, err)
		return p.ownAnswer()
	case !ok:
		return nil
	}
	return p.append(r.Code, r.Reason, r.Fields, body)
}

// append makes an answer in the framing that the request wants.
func (p *poll) append(status int, reason string, fields []Field, body []byte) []byte {
	connection := ""
	switch {
	case !p.keeps || p.s.isDraining():
		connection = wire.LineClose
	case p.isOld:
		connection = wire.LineKeepAlive
	}
	return appendAnswer(nil, status, reason, fields, body, connection)
}

// settle answers, unless that was done.
func (p *poll) settle(answer []byte) {
	p.mu.Lock()
	if p.done {
		p.mu.Unlock()
		return
	}
	p.done, p.answer = true, answer
	held := p.held
	p.mu.Unlock()
	if held != nil {
		held.Close(loop.EndClean) // of the answer
	}
}

// giveUp answers with what the application has said.
func (p *poll) giveUp() { p.settle(p.ownAnswer()) }

func (p *poll) ownAnswer() []byte {
	return p.append(p.own.Status, p.own.Reason, p.own.Fields, p.own.Body)
}

// Wake is the timeout.
func (p *poll) Wake(time.Time) { p.giveUp() }

// Next implements loop.Source. A frame in the slot is the hub's farewell.
func (p *poll) Next() []byte {
	if p.slot.NextFrame() != nil {
		p.giveUp()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	answer := p.answer
	p.answer = nil
	return answer
}

// Received implements loop.Source.
func (p *poll) Received([]byte) bool { return true }

// Closed implements loop.Source.
func (p *poll) Closed(why loop.Reason) { p.slot.Closed(why) }

// left is called once, when the poll is over.
func (p *poll) left(why loop.Reason) {
	p.mu.Lock()
	answered := p.done
	p.done = true
	p.mu.Unlock()
	if p.gone != nil && !answered && isGone(why) {
		p.s.asker.tell(*p.gone)
	}
	p.s.clock.Stop(&p.timeout)
	p.s.mu.Lock()
	delete(p.s.polls, p)
	p.s.mu.Unlock()
}
