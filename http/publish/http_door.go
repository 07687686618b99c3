// SPDX-License-Identifier: MIT

package publish

import (
	"log/slog"
	"net/netip"
	"sync/atomic"
	"time"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/loop"
)

// HTTPConfig says how an HTTPDoor works. Bus and Key are required.
type HTTPConfig struct {
	Bus *bus.Bus
	// Key is what publishers sign their tokens with, or send as it is. Without
	// one nobody is believed.
	Key    []byte
	Issuer string // iss of a token, and the user of Basic; "": any
	// Local, if it is valid, is the address of the door: then only peers on this
	// machine are believed, who come from the loopback or from that address.
	Local netip.Addr
	Log   *slog.Logger // nil: slog.Default
}

// An HTTPDoor publishes what is posted to /publish/, as the publish address of a
// GRIP proxy does. It is a handler for the loops of [m0serve.dev/http/server] and
// waits for nothing but the body. Its methods may be called from any goroutine.
//
// The body is {"items": [...]} in JSON, or a form with the fields channel, data,
// event and id, which is one event for plain EventSource clients. Of a body with
// something wrong in it nothing is published.
type HTTPDoor struct {
	cfg HTTPConfig
	now func() time.Time
	complaints

	stats struct {
		items, events, refused, denied atomic.Uint64
		dropped, nobody                atomic.Uint64
	}
}

// NewHTTP makes a door.
func NewHTTP(c HTTPConfig) *HTTPDoor {
	log := c.Log
	if log == nil {
		log = slog.Default()
	}
	return &HTTPDoor{cfg: c, now: time.Now, complaints: complaints{log: log}}
}

// HTTPStats are the counters of an HTTPDoor.
type HTTPStats struct {
	Items   uint64 // of GRIP, published
	Events  uint64 // of forms, published
	Refused uint64 // requests that are wrong, and published nothing
	Denied  uint64 // requests of somebody who is not believed
	Dropped uint64 // of what was published, what some worker did not take
	Nobody  uint64 // items and events that no worker took
}

// Stats returns the counters.
func (d *HTTPDoor) Stats() HTTPStats {
	s := &d.stats
	return HTTPStats{
		Items: s.items.Load(), Events: s.events.Load(), Refused: s.refused.Load(),
		Denied: s.denied.Load(), Dropped: s.dropped.Load(), Nobody: s.nobody.Load(),
	}
}

// Serve answers a request.
func (d *HTTPDoor) Serve(x *loop.Exchange) {
	json, acceptable := acceptsJSON(x.Request())
	r := d.reply(x, acceptable)
	r.write(x, json)
}

// reply decides about a request. What costs least comes first: no body is read of
// somebody who is not believed.
func (d *HTTPDoor) reply(x *loop.Exchange, acceptable bool) reply {
	switch string(x.Request().Path) {
	case "/publish", "/publish/":
	case "/":
		return reply{status: 200, text: "Publish with POST /publish/"}
	default:
		return reply{status: 404, text: "Not found: publish with POST /publish/"}
	}
	if string(x.Request().Method) != "POST" {
		return reply{status: 405, text: "Method not allowed: publish with POST",
			name: "Allow", value: "POST"}
	}
	if r, err := d.believe(x); err != nil {
		d.stats.denied.Add(1)
		d.complain("a publisher is not believed", err, "peer", x.Peer())
		return r
	}
	var r reply
	if !acceptable {
		r = reply{status: 406, text: "Not acceptable: answers are text/plain or application/json"}
	} else if body, err := readBody(x); err != nil {
		r = refuseBody(err)
	} else {
		r = d.publish(x.Request(), body)
	}
	if r.status/100 == 4 {
		d.stats.refused.Add(1)
	}
	return r
}
