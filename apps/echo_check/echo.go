// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"io"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"

	"m0serve.dev/http/server"
	"m0serve.dev/http/wire"
)

// An echo is the application, in both kinds. It counts its calls by the port of
// the peer, so that a harness can ask how many requests of one connection came
// through, whatever was answered:
//
//	/handled/PORT  that number, which starts again at 0; not counted itself
//	/status/N      status N, 200 to 599
//	/big/N         N bytes
//	/noread        answers without reading the body
//	/ws            a WebSocket that echoes frames
//
// Everything else is answered with the body of the request.
type echo struct {
	handled [1 << 16]atomic.Uint32
}

// An order is what a path asks for.
type order struct {
	status int
	size   int // bytes of /big
	body   bool
	text   string // answer that is known already
}

func (e *echo) order(path string, peer uint16) order {
	name, arg, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if n, err := strconv.Atoi(arg); err == nil && n >= 0 {
		switch {
		case name == "handled" && n < len(e.handled):
			return order{status: 200, text: strconv.Itoa(int(e.handled[n].Swap(0)))}
		case name == "status" && n >= 200 && n < 600:
			e.handled[peer].Add(1)
			return order{status: n}
		case name == "big" && n <= 1<<30:
			e.handled[peer].Add(1)
			return order{status: 200, size: n}
		}
	}
	e.handled[peer].Add(1)
	return order{status: 200, body: path != "/noread"}
}

// Serve is the native application.
func (e *echo) Serve(x *server.Exchange) {
	path := string(x.Request().Path)
	o := e.order(path, x.Peer().Port())
	if path == "/ws" {
		e.serveWebSocket(x)
		return
	}
	var body []byte
	if o.body {
		read, whole := x.Body()
		body = read
		if !whole {
			var err error
			if body, err = io.ReadAll(x); err != nil {
				o.status, body = statusOf(err), nil
			}
		}
	}
	x.SetStatus(o.status)
	_ = x.Field("X-App", "1")
	_ = x.Field("X-Handler", "native")
	_ = x.Field("X-Path", path)
	o.write(x, body)
}

// ServeHTTP is the same application for net/http.
func (e *echo) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	peer, _ := netip.ParseAddrPort(r.RemoteAddr)
	path := r.URL.EscapedPath()
	o := e.order(path, peer.Port())
	if path == "/ws" {
		e.upgrade(w, r)
		return
	}
	var body []byte
	if o.body {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			o.status, body = statusOf(err), nil
		}
	}
	w.Header().Set("X-App", "1")
	w.Header().Set("X-Handler", "std")
	w.Header().Set("X-Path", path)
	w.WriteHeader(o.status)
	o.write(w, body)
}

// write sends the body; an error means that nobody is there to read it.
func (o *order) write(w io.Writer, body []byte) {
	_, _ = io.WriteString(w, o.text)
	_, _ = w.Write(body)
	var block [16 << 10]byte
	for left := o.size; left > 0; {
		n, err := w.Write(block[:min(left, len(block))])
		if err != nil {
			return
		}
		left -= n
	}
}

// statusOf is the answer to a body that could not be read.
func statusOf(err error) int {
	var bad wire.Error
	if errors.As(err, &bad) {
		return bad.Status()
	}
	return http.StatusBadRequest
}
