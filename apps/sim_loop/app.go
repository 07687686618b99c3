// SPDX-License-Identifier: MIT

package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"m0serve.dev/apps/internal/answer"
	"m0serve.dev/apps/internal/ui"
	"m0serve.dev/host"
	"m0serve.dev/http/middleware"
	"m0serve.dev/http/route"
	"m0serve.dev/http/sse"
)

var (
	//go:embed page.html
	page []byte
	//go:embed page.css
	pageCSS []byte
	//go:embed page.js
	pageJS []byte
)

// An app is the application in one worker. Nothing that it draws knows which arm steps.
type app struct {
	context *host.Context
	sim     *sim
	onLoop  bool // for the figures alone
}

func (m *arm) newHandler(c *host.Context) (http.Handler, error) {
	a := &app{context: c, sim: &sim{c.Page}, onLoop: m.onLoop}
	rt := route.New()
	rt.HandleFunc("GET /", func(w http.ResponseWriter, _ *http.Request) {
		answer.Page(w, ui.Policy, page)
	})
	rt.HandleFunc("GET /events", a.stream)
	rt.HandleFunc("GET /stats", a.stats)
	rt.Handle("GET "+ui.Path, ui.Stylesheet())
	rt.Handle("GET /page.css", answer.File("text/css; charset=utf-8", pageCSS))
	rt.Handle("GET /page.js", answer.File("text/javascript; charset=utf-8", pageJS))
	return answer.Named(c.Index, middleware.Health{}.Wrap(rt)), nil
}

// stream opens a stream: a new one begins with the last minute, one that comes back
// gets what it missed, or the last minute where that is too much.
func (a *app) stream(w http.ResponseWriter, r *http.Request) {
	o := sse.HoldOptions{
		Channels: []string{channel},
		Snapshot: func(context.Context) ([]byte, uint64, error) {
			id := a.context.Hub.LastID()
			return a.history(id), id, nil
		},
	}
	if r.Header.Get("Last-Event-ID") == "" {
		o.Since = a.context.Hub.LastID() // before the history, which may be newer
		o.Hello = a.history(0)
	}
	if err := a.context.Hub.Hold(w, r, o); err != nil {
		middleware.WriteProblem(w, r, middleware.Problem{
			Status: http.StatusServiceUnavailable, Detail: "the stream could not be opened",
		})
	}
}

// history is the event of the last states, under id; 0: without one.
func (a *app) history(id uint64) []byte {
	first, states := a.sim.history()
	data := fmt.Appendf(nil, `{"first":%d,"period":%d,"states":[`, first, period.Milliseconds())
	for i, s := range states {
		if i > 0 {
			data = append(data, ',')
		}
		data = append(appendState(append(data, '{'), s), '}')
	}
	e := sse.Event{Name: "history", Data: string(append(data, "]}"...))}
	if id != 0 {
		e.ID = strconv.FormatUint(id, 10)
	}
	event, _ := sse.Append(nil, e) // digits: no line ends
	return event
}

// stats are one worker's view of the service.
type stats struct {
	Worker int    `json:"worker"` // that answered
	Steps  uint64 `json:"steps"`
	OnLoop bool   `json:"on_loop"`
}

func (a *app) stats(w http.ResponseWriter, _ *http.Request) {
	s := stats{Worker: a.context.Index, Steps: a.sim.number(), OnLoop: a.onLoop}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(s)
}
