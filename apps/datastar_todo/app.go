// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"time"

	"m0serve.dev/apps/internal/answer"
	"m0serve.dev/apps/internal/client"
	"m0serve.dev/apps/internal/ui"
	"m0serve.dev/datastar"
	"m0serve.dev/datastar/stream"
	"m0serve.dev/host"
	"m0serve.dev/http/middleware"
	"m0serve.dev/http/route"
	"m0serve.dev/sqlite"
)

// channel is the name on the bus under which the list is broadcast.
const channel = "todos"

// An app is the application in one worker. It keeps no list of its own: what
// it knows is in the file that all workers share.
type app struct {
	store  *store
	live   *stream.Stream
	client *client.Client
	log    *slog.Logger
	worker string        // index, for the page
	pause  time.Duration // between rendering and numbering; a gate's knob
}

// newHandler builds the application in one worker: it opens the file, restores
// what was broadcast before, and lays out the routes.
func newHandler(ctx *host.Context) (http.Handler, error) {
	js, err := client.New(ctx.Config.DatastarJS)
	if err != nil {
		return nil, err
	}
	pause, err := renderPause()
	if err != nil {
		return nil, err
	}
	st, err := openStore(databaseOf(&ctx.Config), ctx.Config.Journal)
	if err != nil {
		return nil, fmt.Errorf("M0_DB: %w", err)
	}
	a := &app{store: st, client: js, log: ctx.Log, worker: strconv.Itoa(ctx.Index), pause: pause}
	a.live = stream.New(ctx.Hub, stream.Options{Channel: channel, Snapshot: a.snapshot})
	if err := a.restore(context.Background()); err != nil {
		return nil, err
	}
	return answer.Named(ctx.Index, a.routes()), nil
}

// renderPause is the knob that widens the race between two workers.
func renderPause() (time.Duration, error) {
	s := os.Getenv("M0_TODO_RENDER_PAUSE_MS")
	if s == "" {
		return 0, nil
	}
	ms, err := strconv.ParseUint(s, 10, 16)
	if err != nil {
		return 0, errors.New("M0_TODO_RENDER_PAUSE_MS=" + strconv.Quote(s) +
			": set it to a number of milliseconds, or not at all")
	}
	return time.Duration(ms) * time.Millisecond, nil
}

func (a *app) routes() http.Handler {
	rt := route.New()
	rt.HandleFunc("GET /", a.page)
	rt.HandleFunc("GET /todos/stream", a.stream)
	rt.HandleFunc("POST /todos", a.add)
	rt.HandleFunc("POST /todos/:id/toggle", a.onOne(toggle))
	rt.HandleFunc("DELETE /todos/done", func(w http.ResponseWriter, r *http.Request) {
		a.answer(w, r, a.mutate(r.Context(), clearDone(r.Context())))
	})
	rt.HandleFunc("DELETE /todos/:id", a.onOne(remove))
	rt.Handle("GET "+ui.Path, ui.Stylesheet())
	rt.Handle("GET "+client.Path, a.client)
	return middleware.Health{}.Wrap(rt)
}

// restore gives the stream what was broadcast before this process started, and
// broadcasts the last of it again: a worker killed after its commit and before
// its broadcast left that to us. Tabs that have it pass over it.
func (a *app) restore(ctx context.Context) error {
	events, err := a.store.events(ctx)
	if err != nil || len(events) == 0 {
		return err
	}
	for _, f := range events {
		a.live.Restore(f)
	}
	a.send(events[len(events)-1])
	return nil
}

// mutate makes one change and broadcasts the list that came of it.
func (a *app) mutate(ctx context.Context, change func(*sqlite.Tx) error) error {
	f, err := a.store.change(ctx, change, a.frame)
	if err != nil {
		return err
	}
	a.send(f)
	return nil
}

// send broadcasts a frame that is logged. One that some worker cannot take is
// not lost: the next frame holds the same, and the log has it for who asks.
func (a *app) send(f stream.Frame) {
	if err := a.live.Send(f); err != nil {
		a.log.Warn("datastar_todo: not every worker took the frame", "id", f.ID, "err", err)
	}
}

// frame renders and then numbers the list. It runs under the write lock.
func (a *app) frame(l list) (stream.Frame, error) {
	events, err := encodeList(l)
	if err != nil {
		return stream.Frame{}, err
	}
	time.Sleep(a.pause)
	return a.live.Number(func(dst []byte) ([]byte, error) { return append(dst, events...), nil })
}

// snapshot is the whole list, for a tab that comes back from too long ago.
func (a *app) snapshot(ctx context.Context) (events []byte, id uint64, err error) {
	l, last, err := a.store.now(ctx)
	if err != nil {
		return nil, 0, err
	}
	events, err = encodeList(l)
	return events, last, err
}

func encodeList(l list) ([]byte, error) {
	var html bytes.Buffer
	if err := renderList(&html, l); err != nil {
		return nil, err
	}
	return datastar.AppendPatchElements(nil, html.Bytes(), datastar.ElementsOptions{})
}
