// SPDX-License-Identifier: MIT

package socket

import (
	"crypto/rand"
	"fmt"
	"strings"

	"m0serve.dev/http/grip"
	"m0serve.dev/http/loop"
	"m0serve.dev/http/sse"
	"m0serve.dev/http/ws"
	"m0serve.dev/wsgi/internal/realtime"
)

// Accepts reports whether an answer accepts a socket in our own words.
func Accepts(a *realtime.Answer) bool {
	hold, _ := a.Said("M0-Hold")
	return hold == "websocket" && a.Status/100 == 2
}

// Accept makes the opening's connection a socket as the answer says, which Accepts or
// SpeaksGrip; it is the last thing a handler does. An answer that is not valid becomes
// 502.
func (s *Sockets) Accept(o *Opening, a *realtime.Answer) {
	err := a.Problem()
	switch {
	case err != nil:
	case Accepts(a):
		err = s.accept(o, a)
	default:
		err = s.acceptGrip(o, a)
	}
	if err != nil {
		s.wrong.Add(1)
		s.cfg.Log.Error("m0serve: an answer that accepts a WebSocket is not valid",
			"target", o.target, "err", err)
		o.x.Fail(502, "the application accepted the WebSocket in a way that is not valid")
	}
	o.x = nil // it is over with the handler; the opening stays
}

// accept accepts a socket that talks by messages.
func (s *Sockets) accept(o *Opening, a *realtime.Answer) error {
	k := &socket{s: s, opening: o}
	m := &messages{name: rand.Text()}
	if list, said := a.Said("M0-Channel"); said {
		m.channels = splitChannels(list)
	}
	if len(m.channels) > grip.MaxChannels {
		return fmt.Errorf("M0-Channel: %d channels, at most %d", len(m.channels), grip.MaxChannels)
	}
	notify, _ := a.Said("M0-Notify")
	m.tells = notify == "close"
	binary, err := opcodeOf(a.Said("M0-Opcode"))
	if err != nil {
		return err
	}
	k.talk = m
	return s.park(o, a, k, m.channels, func() { k.reply(binary, a.Body) })
}

// park subscribes k, answers 101 and gives it the connection. hello is called before
// anything else is sent.
func (s *Sockets) park(o *Opening, a *realtime.Answer, k *socket, channels []string,
	hello func()) (err error) {
	k.slot, err = s.cfg.Hub.Attach(sse.HoldOptions{Channels: channels, Quiet: true, Pass: k.pass,
		Limits: &s.limits})
	if err != nil {
		return fmt.Errorf("channel: %w", err)
	}
	k.feed.k = k
	for _, f := range a.Fields {
		if name := strings.ToLower(f.Name); name == "sec-websocket-protocol" || !isOfHandshake(name) {
			if err = o.x.Field(f.Name, f.Value); err != nil {
				k.slot.Closed(loop.ClosedByError)
				return fmt.Errorf("%s: %w", f.Name, err)
			}
		}
	}
	err = ws.AcceptExchange(o.x, &s.options, ws.Handler{
		Open: func(c *ws.Conn) {
			k.conn = c
			hello()
			k.slot.Park(&k.feed, false)
		},
		Message: func(_ *ws.Conn, op ws.Op, data []byte) { k.received(op, data) },
		Drained: func(*ws.Conn) { go k.feed.Wake() },
		Closed:  func(_ *ws.Conn, code ws.Code, reason string) { k.closed(code, reason) },
	})
	if err != nil {
		k.slot.Closed(loop.ClosedByError)
	}
	return err
}

// splitChannels reads a list of channels.
func splitChannels(list string) (names []string) {
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}
