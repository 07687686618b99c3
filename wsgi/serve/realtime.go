// SPDX-License-Identifier: MIT

//go:build cgo && linux

package serve

import (
	"cmp"
	"os"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/loop"
	"m0serve.dev/wsgi/internal/options"
	"m0serve.dev/wsgi/internal/realtime"
)

// openRealtime is behind --realtime: what answers say of holds is done.
func (h *host) openRealtime() {
	if h.o.Realtime {
		h.live = realtime.New(realtime.Config{Hub: h.hub, Log: h.log,
			Ask: func(a loop.Asking) error { return h.srv.Ask(a) }})
	}
}

// receiveReserved takes the frames of the bus under names of the server that the hub
// has no use for. The hub starts behind openRealtime.
func (h *host) receiveReserved(f bus.Frame) {
	if h.live != nil {
		h.live.Receive(f)
	}
}

// dismiss ends what is held, for a drain.
func (h *host) dismiss() {
	if app := h.front.app; app != nil && app.sockets != nil {
		app.sockets.Drain()
	}
	if h.live != nil {
		h.live.Drain()
	}
	h.hub.Drain(retryBase, retryJitter)
}

// speaksGrip reports whether the application finds in GRIP_URL that it is served by GRIP:
// it comes with --publish-http, or is the operator's, who named another door. Requests are
// signed then, and WebSockets offered as events.
func speaksGrip() bool { return os.Getenv(options.GripURL) != "" }

// newSigner makes what the application knows the server by; nil: it does not.
func (h *host) newSigner() *realtime.Signer {
	if !speaksGrip() {
		return nil
	}
	return realtime.NewSigner(h.o.PublishKey, cmp.Or(h.o.PublishIssuer, gripIssuer))
}
