// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"net"
	"net/http"
	"time"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/loop"
	"m0serve.dev/http/server"
	"m0serve.dev/http/sse"
)

// hub is ours as a Go program uses it: an ordinary handler whose last line holds.
type hub struct{ *sse.Hub }

func newHub() hub {
	h := hub{sse.NewHub(sse.HubConfig{Bus: bus.Local()})}
	h.Start()
	return h
}

func (h hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := h.Hold(w, r, sse.HoldOptions{Channels: []string{stream}}); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	}
}

func (h hub) publish(data []byte) error {
	_, err := h.PublishEvent(stream, sse.Event{Data: string(data)})
	return err
}

// serveOurs serves on our engine, and GET /turn says how long its longest turn worked,
// in milliseconds: the upper end of the last bucket that has any. How long it was by the
// clock says more about what else runs on the machine.
func serveOurs(ln net.Listener, mux *http.ServeMux) error {
	srv, err := server.New(server.Config{HTTP: mux})
	if err != nil {
		return err
	}
	mux.HandleFunc("GET /turn", func(w http.ResponseWriter, _ *http.Request) {
		var longest time.Duration
		for i, n := range srv.Stats().Turns.Worked {
			if n > 0 {
				longest = loop.TurnBound(i)
			}
		}
		_, _ = fmt.Fprint(w, float64(longest)/float64(time.Millisecond))
	})
	return srv.Serve(ln)
}
