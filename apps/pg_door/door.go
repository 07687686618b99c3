// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"m0serve.dev/apps/internal/answer"
	"m0serve.dev/host"
	"m0serve.dev/http/bus"
	"m0serve.dev/http/config"
	"m0serve.dev/http/middleware"
	"m0serve.dev/http/sse"
	"m0serve.dev/wsgi/pglisten"
)

// A door is what handler and producer of one process share.
type door struct {
	dsn      *pglisten.DSN                     // nil: none was given
	listener atomic.Pointer[pglisten.Listener] // nil in every worker but the first
}

func (d *door) settings() []config.Setting {
	return []config.Setting{{
		Flag: "pg-listen", Env: "M0_PG_LISTEN", Value: "DSN", Secret: true,
		Help: "where PostgreSQL is, and who asks",
		Set: func(v string) (err error) {
			d.dsn, err = pglisten.ParseDSN(v)
			return err
		},
	}}
}

// newHandler serves /events?channel=a, a stream of what is published to a, and
// /door, the figures of the listener, which is in worker 0 alone.
func (d *door) newHandler(c *host.Context) (http.Handler, error) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /events", func(w http.ResponseWriter, r *http.Request) {
		channel := r.URL.Query().Get("channel")
		if err := c.Hub.Hold(w, r, sse.HoldOptions{Channels: []string{channel}}); err != nil {
			middleware.WriteProblem(w, r, middleware.Problem{
				Status: http.StatusServiceUnavailable, Detail: "the stream could not be opened",
			})
		}
	})
	mux.HandleFunc("GET /door", func(w http.ResponseWriter, r *http.Request) {
		l := d.listener.Load()
		if l == nil {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(l.Stats())
	})
	return answer.Named(c.Index, mux), nil
}

// newListener reads two times of the smoke: M0_PG_CHECK_EVERY and M0_PG_ANSWER_WITHIN
// (10s).
func (d *door) newListener(c *host.Context) (host.Producer, error) {
	if d.dsn == nil {
		return nil, errors.New("M0_PG_LISTEN: set it to postgres://user:password@host/database")
	}
	every, err := duration("M0_PG_CHECK_EVERY")
	if err != nil {
		return nil, err
	}
	within, err := duration("M0_PG_ANSWER_WITHIN")
	if err != nil {
		return nil, err
	}
	l := pglisten.New(pglisten.Config{
		DSN: d.dsn, CheckEvery: every, AnswerWithin: within, Log: c.Log,
		Publish: func(channel string, e sse.Event) error {
			// A worker that does not take an event costs its own streams that event.
			_, err := c.Publisher.PublishEvent(channel, e)
			if errors.Is(err, bus.ErrRefused) {
				return nil
			}
			return err
		},
	})
	d.listener.Store(l)
	return listening{l}, nil
}

func duration(name string) (time.Duration, error) {
	v := os.Getenv(name)
	if v == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(v)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%s=%q: set it to a time like 500ms", name, v)
	}
	return d, nil
}

// listening is a producer with one step, which lasts as long as the worker.
type listening struct{ l *pglisten.Listener }

// Step listens until the service stops.
func (p listening) Step(out *host.Publisher) (time.Duration, error) {
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		<-out.Stopping()
		cancel()
	}()
	p.l.Run(ctx)
	<-stopped
	return time.Hour, nil // nobody waits for it: the service stops
}
