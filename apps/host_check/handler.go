// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"

	"m0serve.dev/apps/internal/answer"
	"m0serve.dev/host"
	"m0serve.dev/http/middleware"
	"m0serve.dev/http/sse"
)

// newHandler serves /events, a stream of beats, /stats, and a word at /.
// M0_HOSTCHECK_MAKE_RAISES, a knob of the smoke, makes it fail ("1") or end
// the process ("crash").
func newHandler(c *host.Context) (http.Handler, error) {
	const knob = "M0_HOSTCHECK_MAKE_RAISES"
	switch os.Getenv(knob) {
	case "":
	case "crash":
		os.Exit(3)
	default:
		return nil, errors.New(knob + " is set")
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("host_check\n"))
	})
	mux.HandleFunc("GET /events", func(w http.ResponseWriter, r *http.Request) {
		if err := c.Hub.Hold(w, r, sse.HoldOptions{Channels: []string{channel}}); err != nil {
			middleware.WriteProblem(w, r, middleware.Problem{
				Status: http.StatusServiceUnavailable, Detail: "the stream could not be opened",
			})
		}
	})
	mux.HandleFunc("GET /wait", wait)
	mux.HandleFunc("GET /stats", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(statsOf(c))
	})
	return answer.Named(c.Index, mux), nil
}

// stats are one worker's view of the service.
type stats struct {
	Worker  int                `json:"worker"`
	Refused uint64             `json:"refused"`
	LastID  uint64             `json:"last_id"`
	Dropped uint64             `json:"dropped"` // requests beyond those that may block and wait
	Fleet   []host.WorkerStats `json:"fleet"`
}

func statsOf(c *host.Context) stats {
	return stats{
		Worker: c.Index, Refused: c.Publisher.Refused(), LastID: c.Publisher.LastID(),
		Dropped: c.Server().DroppedBlocking, Fleet: c.Stats(),
	}
}
