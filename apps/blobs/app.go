// SPDX-License-Identifier: MIT

package main

import (
	_ "embed"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"m0serve.dev/apps/internal/answer"
	"m0serve.dev/apps/internal/ui"
	"m0serve.dev/host"
	"m0serve.dev/http/loop"
	"m0serve.dev/http/middleware"
	"m0serve.dev/http/route"
	"m0serve.dev/http/sse"
)

var (
	//go:embed page.html
	page []byte
	//go:embed page.css
	pageCSS []byte
	//go:embed js/main.js
	mainJS []byte
	//go:embed js/film.js
	filmJS []byte
	//go:embed js/paint.js
	paintJS []byte
	//go:embed js/hand.js
	handJS []byte
)

// An app is the application in one worker.
type app struct {
	context *host.Context
	board   *board
	period  time.Duration
	limits  sse.Limits // of a stream
}

// queueFrames is what may wait for a client that reads slowly: what is older than
// that is no longer worth seeing.
const queueFrames = 20

func (r *rate) newHandler(c *host.Context) (http.Handler, error) {
	a := &app{
		context: c, board: openBoard(c), period: r.period(),
		limits: sse.Limits{Frames: queueFrames, Policy: sse.DropOldest},
	}
	if err := a.board.claim(); err != nil {
		return nil, err
	}
	rt := route.New()
	rt.HandleFunc("GET /", func(w http.ResponseWriter, _ *http.Request) {
		answer.Page(w, ui.Policy, page)
	})
	rt.HandleFunc("GET /events", a.stream)
	rt.HandleFunc("POST /drops", a.drop)
	rt.HandleFunc("GET /stats", a.stats)
	rt.Handle("GET "+ui.Path, ui.Stylesheet())
	rt.Handle("GET /page.css", answer.File("text/css; charset=utf-8", pageCSS))
	for name, script := range map[string][]byte{
		"main": mainJS, "film": filmJS, "paint": paintJS, "hand": handJS,
	} {
		rt.Handle("GET /js/"+name+".js", answer.File("text/javascript; charset=utf-8", script))
	}
	return answer.Named(c.Index, middleware.Health{}.Wrap(rt)), nil
}

// stream opens a stream with the board as it is, and no step is missing behind that;
// what its client missed before is over.
func (a *app) stream(w http.ResponseWriter, r *http.Request) {
	since := a.context.Hub.LastID() // before the board is read, which may be newer
	if a.board.join() {
		a.wake()
	}
	r.Header.Del("Last-Event-ID")
	err := a.context.Hub.Hold(w, r, sse.HoldOptions{
		Channels: []string{channel}, Since: since, Hello: a.hello(), Limits: &a.limits,
		OnClose: func(loop.Reason) { a.board.leave() },
	})
	if err != nil {
		middleware.WriteProblem(w, r, middleware.Problem{
			Status: http.StatusServiceUnavailable, Detail: "the stream could not be opened",
		})
	}
}

// wake tells the producer, wherever it is, that somebody looks. The frame stands
// outside the order of ids and has no body: it is only heard.
func (a *app) wake() {
	if err := a.context.Hub.Send(wakeChannel, "", 0, nil); err != nil {
		a.context.Log.Warn("blobs: the producer was not told that somebody looks", "err", err)
	}
}

// hello is the board at this moment, and who shows it.
func (a *app) hello() []byte {
	_, blobs := a.board.all()
	f := frame{
		step: a.board.words[wordSteps].Load(), viewers: a.board.viewers(), period: a.period,
		blobs: blobs,
	}
	data := f.append(nil)
	hello, _ := sse.Append(nil, sse.Event{Name: "board", Data: string(data)}) // digits: no line ends
	return hello
}

// dropBytes bounds a drop.
const dropBytes = 1 << 10

// drop puts a drop into the box; it is on the board with the next step.
func (a *app) drop(w http.ResponseWriter, r *http.Request) {
	doc, err := io.ReadAll(http.MaxBytesReader(w, r.Body, dropBytes))
	if err != nil {
		status := http.StatusBadRequest
		if tooLong := (*http.MaxBytesError)(nil); errors.As(err, &tooLong) {
			status = http.StatusRequestEntityTooLarge
		}
		middleware.WriteProblem(w, r, middleware.Problem{Status: status})
		return
	}
	word, err := parseDrop(doc)
	if err != nil {
		middleware.WriteProblem(w, r, middleware.Problem{
			Status: http.StatusBadRequest, Detail: err.Error(),
		})
		return
	}
	if !a.board.put(word) {
		w.Header().Set("Retry-After", "1")
		middleware.WriteProblem(w, r, middleware.Problem{
			Status: http.StatusServiceUnavailable, Detail: "the drop box is full",
		})
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

// stats are one worker's view of the service.
type stats struct {
	Worker  int           `json:"worker"` // that answered
	Viewers int           `json:"viewers"`
	Resting bool          `json:"resting"`
	Steps   uint64        `json:"steps"`
	LastID  uint64        `json:"last_id"` // of the last step
	Blobs   int           `json:"blobs"`
	Workers []workerStats `json:"workers"`
}

type workerStats struct {
	Index   int    `json:"index"`
	PID     int    `json:"pid"`
	State   string `json:"state"`
	Viewers int    `json:"viewers"`
	Refused uint64 `json:"refused"` // steps and other events that did not reach it
}

func (a *app) stats(w http.ResponseWriter, _ *http.Request) {
	b := a.board
	viewers, places := b.viewersOf(), 0
	for place := range blobsMax {
		if _, ok := b.load(place); ok {
			places++
		}
	}
	s := stats{
		Worker: a.context.Index, Resting: b.words[wordResting].Load() != 0,
		Steps: b.words[wordSteps].Load(), LastID: b.words[wordLastID].Load(), Blobs: places,
	}
	for _, worker := range a.context.Stats() {
		if a.context.Workers == 1 {
			worker.PID = b.pid // one that serves alone has no number on the host's page
		}
		n := viewers[worker.PID]
		s.Viewers += n
		s.Workers = append(s.Workers, workerStats{
			Index: worker.Index, PID: worker.PID, State: worker.State, Viewers: n,
			Refused: worker.Drops,
		})
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(s)
}
