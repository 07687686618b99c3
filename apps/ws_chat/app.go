// SPDX-License-Identifier: MIT

package main

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	"m0serve.dev/apps/internal/answer"
	"m0serve.dev/apps/internal/examine"
	"m0serve.dev/apps/internal/ui"
	"m0serve.dev/host"
	"m0serve.dev/http/bus"
	"m0serve.dev/http/config"
	"m0serve.dev/http/config/diagnosis"
	"m0serve.dev/http/middleware"
	"m0serve.dev/http/route"
	"m0serve.dev/http/ws"
)

var (
	//go:embed page.html
	page []byte
	//go:embed page.css
	pageCSS []byte
	//go:embed js/main.js
	mainJS []byte
	//go:embed js/line.js
	lineJS []byte
	//go:embed js/log.js
	logJS []byte
)

// The words of the page that all workers share: what was refused, by any of them.
const (
	countLong   = iota // texts
	countFast          // texts
	countTyping        // signs of typing
	countAgain         // texts that were known already
	countCut           // sockets that were closed for what was refused
	countWords
)

// An app is the application in one worker.
type app struct {
	context *host.Context
	store   *store
	options ws.Options // of every socket

	mu      sync.Mutex      // guards what is below
	inside  map[string]int  // sockets of this worker by room
	telling map[string]bool // rooms that will be told who is there
}

// databaseOf is the file that M0_DB names.
func databaseOf(c *config.App) string { return cmp.Or(c.DB, "chat.db") }

// doctor is the application's part of --doctor.
func doctor(c *config.App, r *diagnosis.Report) { examine.Database(r, databaseOf(c)) }

func newHandler(c *host.Context) (http.Handler, error) {
	st, err := openStore(databaseOf(&c.Config), func() map[int]bool {
		pids := map[int]bool{os.Getpid(): true} // who serves alone has no number there
		for _, w := range c.Stats() {
			pids[w.PID] = true
		}
		return pids
	})
	if err != nil {
		return nil, fmt.Errorf("M0_DB: %w", err)
	}
	a := &app{
		context: c, store: st, inside: make(map[string]int), telling: make(map[string]bool),
		options: ws.Options{MessageBytes: messageBytes, Compression: &ws.Compression{}},
	}
	rooms, err := st.sweep()
	if err != nil {
		return nil, errors.Join(err, st.db.Close())
	}
	for _, room := range rooms {
		a.tell(room)
	}
	return answer.Named(c.Index, middleware.Health{}.Wrap(a.routes())), nil
}

func (a *app) routes() http.Handler {
	rt := route.New()
	rt.HandleFunc("GET /", func(w http.ResponseWriter, _ *http.Request) {
		answer.Page(w, ui.Policy, page)
	})
	rt.HandleFunc("GET /socket", func(w http.ResponseWriter, r *http.Request) {
		v := &visitor{app: a}
		_ = ws.Accept(w, r, &a.options, ws.Handler{ // a refusal is answered
			Open: v.open, Message: v.message, Closed: v.closed,
		})
	})
	rt.HandleFunc("GET /stats", a.stats)
	rt.Handle("GET "+ui.Path, ui.Stylesheet())
	rt.Handle("GET /page.css", answer.File("text/css; charset=utf-8", pageCSS))
	for name, script := range map[string][]byte{"main": mainJS, "line": lineJS, "log": logJS} {
		rt.Handle("GET /js/"+name+".js", answer.File("text/javascript; charset=utf-8", script))
	}
	return rt
}

// channelOf is a room's name on the bus.
func channelOf(room string) string { return "room/" + room }

// publish sends to every socket in a room, at all workers. One whose queue is full has
// its sockets closed: they come back and ask for what they missed.
func (a *app) publish(room string, what any) error {
	_, err := a.context.Sockets.Publish(channelOf(room), ws.OpText, encode(what))
	if errors.Is(err, bus.ErrRefused) {
		a.context.Log.Warn("ws_chat: not every worker took a message", "err", err)
		return nil
	}
	return err
}

// settle is how long comings and goings are collected before a room is told.
const settle = 100 * time.Millisecond

// come counts a socket of a room.
func (a *app) come(room string) {
	a.mu.Lock()
	a.inside[room]++
	a.mu.Unlock()
	a.tellSoon(room)
}

// leave is the opposite. The last of this worker tells the others at once: the worker
// has perhaps not long to live.
func (a *app) leave(room string) {
	a.mu.Lock()
	a.inside[room]--
	last := a.inside[room] == 0
	if last {
		delete(a.inside, room)
	}
	a.mu.Unlock()
	if last {
		a.tell(room)
	} else {
		a.tellSoon(room)
	}
}

func (a *app) tellSoon(room string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.telling[room] {
		return
	}
	a.telling[room] = true
	time.AfterFunc(settle, func() {
		a.mu.Lock()
		delete(a.telling, room)
		a.mu.Unlock()
		a.tell(room)
	})
}

// tell tells a room who is there.
func (a *app) tell(room string) {
	err := a.store.here(room, func(p people) error {
		return a.publish(room, present{"here", p})
	})
	if err != nil {
		a.context.Log.Warn("ws_chat: a room was not told who is there", "err", err)
	}
}

func (a *app) count(word int) { a.context.Page[word].Add(1) }

// stats are one worker's view of the service.
type stats struct {
	Worker  int    `json:"worker"`  // that answered
	Sockets int    `json:"sockets"` // of it, that are in a room
	Rooms   int    `json:"rooms"`   // that they are in
	Foreign uint64 `json:"foreign"` // openings that this worker refused
	Long    uint64 `json:"long"`    // texts that any worker refused, and so on
	Fast    uint64 `json:"fast"`
	Typing  uint64 `json:"typing"`
	Again   uint64 `json:"again"`
	Cut     uint64 `json:"cut"`
}

func (a *app) stats(w http.ResponseWriter, _ *http.Request) {
	hub, counts := a.context.Sockets.Stats(), a.context.Page
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(encode(stats{
		Worker: a.context.Index, Sockets: hub.Sockets, Rooms: hub.Channels,
		Foreign: a.options.Stats().Refused,
		Long:    counts[countLong].Load(), Fast: counts[countFast].Load(),
		Typing: counts[countTyping].Load(), Again: counts[countAgain].Load(),
		Cut: counts[countCut].Load(),
	}))
}

// encode writes what has no part that cannot be written.
func encode(what any) []byte {
	doc, err := json.Marshal(what)
	if err != nil {
		panic("ws_chat: encode: " + err.Error())
	}
	return doc
}
