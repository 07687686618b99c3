// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"context"
	_ "embed"
	"html/template"
	"net/http"
	"strconv"
	"sync/atomic"

	"m0serve.dev/apps/internal/answer"
	"m0serve.dev/apps/internal/client"
	"m0serve.dev/apps/internal/examine"
	"m0serve.dev/apps/internal/ui"
	"m0serve.dev/datastar"
	"m0serve.dev/datastar/stream"
	"m0serve.dev/host"
	"m0serve.dev/http/config"
	"m0serve.dev/http/config/diagnosis"
	"m0serve.dev/http/middleware"
	"m0serve.dev/http/route"
)

//go:embed page.html.tmpl
var pageSource string

var pageTemplate = template.Must(template.New("page").Parse(pageSource))

// An app is the application in one worker.
type app struct {
	count  *atomic.Uint64 // on the page that all workers share; an int64 inside
	live   *stream.Stream
	client *client.Client
	worker string
}

// doctor is the application's part of --doctor.
func doctor(c *config.App, r *diagnosis.Report) { examine.Client(r, c.DatastarJS) }

func newHandler(ctx *host.Context) (http.Handler, error) {
	js, err := client.New(ctx.Config.DatastarJS)
	if err != nil {
		return nil, err
	}
	a := &app{count: &ctx.Page[0], client: js, worker: strconv.Itoa(ctx.Index)}
	a.live = stream.New(ctx.Hub, stream.Options{Channel: "count", Snapshot: a.snapshot(ctx)})

	rt := route.New()
	rt.HandleFunc("GET /", a.page)
	rt.HandleFunc("GET /count/stream", a.stream)
	rt.HandleFunc("POST /count/up", a.add(1))
	rt.HandleFunc("POST /count/down", a.add(^uint64(0)))
	rt.Handle("GET "+ui.Path, ui.Stylesheet())
	rt.Handle("GET "+client.Path, a.client)
	return answer.Named(ctx.Index, middleware.Health{}.Wrap(rt)), nil
}

// encode writes the count of this very moment: read after the frame has its id,
// so the frame with the highest id holds the last count.
func (a *app) encode(dst []byte) ([]byte, error) {
	doc := append([]byte(`{"count":`), strconv.FormatInt(int64(a.count.Load()), 10)...)
	return datastar.AppendPatchSignals(dst, append(doc, '}'), datastar.SignalsOptions{})
}

func (a *app) snapshot(ctx *host.Context) func(context.Context) ([]byte, uint64, error) {
	return func(context.Context) ([]byte, uint64, error) {
		id := ctx.Hub.LastID() // before the count, which may be newer
		events, err := a.encode(nil)
		return events, id, err
	}
}

// add serves one of the two buttons. delta wraps around like the count does.
func (a *app) add(delta uint64) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		a.count.Add(delta)
		if _, err := a.live.Publish(a.encode); err != nil {
			middleware.WriteProblem(w, r, middleware.Problem{
				Status: http.StatusServiceUnavailable, Detail: "not every worker could be told",
			})
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}
}

// stream opens a tab's stream with the count as it is and the worker that
// serves it.
func (a *app) stream(w http.ResponseWriter, r *http.Request) {
	hello, err := datastar.AppendPatchSignals(nil,
		[]byte(`{"live":true,"worker":"`+a.worker+`"}`), datastar.SignalsOptions{})
	if err == nil {
		hello, err = a.encode(hello)
	}
	if err == nil {
		err = a.live.Serve(w, r, hello)
	}
	if err != nil {
		middleware.WriteProblem(w, r, middleware.Problem{Status: http.StatusServiceUnavailable})
	}
}

func (a *app) page(w http.ResponseWriter, r *http.Request) {
	var html bytes.Buffer
	err := pageTemplate.Execute(&html, struct {
		Script template.HTML
		Count  int64
	}{a.client.Tag, int64(a.count.Load())})
	if err != nil {
		middleware.WriteProblem(w, r, middleware.Problem{})
		return
	}
	answer.Page(w, a.client.Policy(), html.Bytes())
}
