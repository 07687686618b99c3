// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"log/slog"
	"net/http"
	"os"
	"time"

	"m0serve.dev/host"
	"m0serve.dev/http/config"
	"m0serve.dev/http/etag"
	"m0serve.dev/http/middleware"
	"m0serve.dev/http/route"
)

// An app is the application: its notes, and who may write them.
type app struct {
	notes   store
	writers map[string]string // names by their tokens
}

func newApp() *app {
	a := &app{writers: make(map[string]string)}
	_, _ = a.notes.add("hello") // there is room for the first one
	return a
}

func (a *app) settings() []config.Setting {
	return []config.Setting{{
		Env: "NOTES_TOKEN", Value: "TOKEN", Secret: true,
		Help: "the token of those who may write; unset: nobody may",
		Set: func(token string) error {
			if len(token) < 8 {
				return errors.New("it needs 8 characters at least")
			}
			a.writers[token] = "writer"
			return nil
		},
	}}
}

// newHandler puts the parts around each other, from the inside out: the routes,
// weak tags for what has none, other origins, health, the log, and the id that
// all of them name.
func (a *app) newHandler(*host.Context) (http.Handler, error) {
	auth := middleware.Auth{
		Realm:   "notes",
		Schemes: []middleware.Scheme{middleware.Bearer(middleware.Secrets(a.writers))},
	}
	rt := route.New()
	rt.HandleFunc("GET /notes", a.list)
	rt.HandleFunc("GET /notes/:id", a.show)
	for pattern, write := range map[string]http.HandlerFunc{
		"POST /notes": a.create, "PUT /notes/:id": a.replace, "DELETE /notes/:id": a.remove,
	} {
		h, err := auth.Wrap(write)
		if err != nil {
			return nil, err
		}
		rt.Handle(pattern, h)
	}
	h, err := middleware.CORS{
		Origins: []string{"*"}, Methods: []string{"PUT", "DELETE"},
		Headers: []string{"Authorization", "Content-Type", "If-Match", "If-None-Match"},
		Expose:  []string{"ETag", "Location", "X-Request-Id"}, MaxAge: 10 * time.Minute,
	}.Wrap(etag.Tagger{}.Wrap(rt))
	if err != nil {
		return nil, err
	}
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	return middleware.RequestID{}.Wrap(middleware.AccessLog(log, middleware.Health{}.Wrap(h))), nil
}
