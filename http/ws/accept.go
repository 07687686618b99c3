// SPDX-License-Identifier: MIT

package ws

import (
	"fmt"
	"net/http"

	"m0serve.dev/http/loop"
)

// Accept makes the request a WebSocket; it is the last thing a handler does, as
// long after its start as it likes. On the server of this module it parks the
// connection and returns; what belongs behind the end of the socket stands in
// h.Closed. Over plain net/http it returns when the socket is closed, nil then.
//
// The answer carries the header fields that are set on w. A request that is no
// opening handshake, or comes from a page of a foreign site (Options.Origins), is
// answered here, and the error is an *Error. o may be nil.
func Accept(w http.ResponseWriter, r *http.Request, o *Options, h Handler) error {
	o = orDefault(o)
	fields, agreed, err := o.open(OpeningOf(r))
	if err != nil {
		w.Header().Set("Sec-WebSocket-Version", Version)
		http.Error(w, err.Reason, err.Status)
		return err
	}
	header := w.Header()
	for _, f := range fields {
		if f.value != "" {
			header.Set(f.name, f.value)
		}
	}
	c := newConn(o, agreed, h)
	holder, parks := loop.HolderOf(w)
	if !parks {
		return serveHere(w, r, c)
	}
	w.WriteHeader(http.StatusSwitchingProtocols)
	held, _, holdErr := holder.HoldConn(c)
	return c.begin(held, holdErr)
}

// AcceptExchange is Accept for a native handler. The Exchange must be served by a
// loop, not by loop.OverHTTP.
func AcceptExchange(x *loop.Exchange, o *Options, h Handler) error {
	o = orDefault(o)
	fields, agreed, err := o.open(OpeningOfRequest(x.Request()))
	if err != nil {
		x.SetStatus(err.Status)
		_ = x.Field("Sec-WebSocket-Version", Version) // plain values
		_ = x.Field("Content-Type", "text/plain; charset=utf-8")
		_, _ = x.WriteString(err.Reason + "\n") // the peer may be gone
		return err
	}
	x.SetStatus(http.StatusSwitchingProtocols)
	for _, f := range fields {
		if f.value == "" {
			continue
		}
		if err := x.Field(f.name, f.value); err != nil {
			return fmt.Errorf("ws: accept: %w", err)
		}
	}
	c := newConn(o, agreed, h)
	held, _, holdErr := x.HoldConn(c)
	return c.begin(held, holdErr)
}

// begin starts a connection that was parked, or was not.
func (c *Conn) begin(held loop.Held, err error) error {
	if err != nil {
		return fmt.Errorf("ws: accept: %w", err)
	}
	c.park(held)
	if c.handler.Open != nil {
		c.handler.Open(c)
	}
	return nil
}

func orDefault(o *Options) *Options {
	if o == nil {
		return &Options{}
	}
	return o
}

type field struct{ name, value string }

// open checks the handshake and returns the fields of the answer; one without a
// value is left out.
func (o *Options) open(opening Opening) ([5]field, agreement, *Error) {
	accept, err := opening.Accept()
	if err == nil {
		err = opening.CheckOrigin(o.Origins)
	}
	if err != nil {
		o.counts.refused.Add(1)
		return [5]field{}, agreement{}, err.(*Error) // neither gives another
	}
	agreed := o.Compression.agree(opening.Extensions)
	return [5]field{
		{"Upgrade", "websocket"}, {"Connection", "Upgrade"}, {"Sec-WebSocket-Accept", accept},
		{"Sec-WebSocket-Protocol", opening.choose(o.Protocols)},
		{"Sec-WebSocket-Extensions", agreed.String()},
	}, agreed, nil
}
