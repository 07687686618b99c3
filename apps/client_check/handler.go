// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"m0serve.dev/apps/internal/answer"
	"m0serve.dev/host"
	"m0serve.dev/http/client"
	"m0serve.dev/http/sse"
)

const (
	longBytes = 3 << 20 // of /long
	lastEvent = 5       // of /events
)

// newHandler serves an answer of each shape, and /check, which asks for them
// all through the client.
func newHandler(c *host.Context) (http.Handler, error) {
	web := client.New(client.Config{HeadTimeout: 5 * time.Second, UserAgent: "client_check"})
	mux := http.NewServeMux()
	mux.HandleFunc("/echo", serveEcho)
	mux.HandleFunc("GET /long", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("x", longBytes))
	})
	mux.HandleFunc("GET /status/{code}", func(w http.ResponseWriter, r *http.Request) {
		code, err := strconv.Atoi(r.PathValue("code"))
		if err != nil || code < 200 || code > 599 {
			code = http.StatusNotFound
		}
		w.Header().Set("Location", "/echo")
		w.WriteHeader(code)
	})
	mux.HandleFunc("GET /pieces", servePieces)
	mux.HandleFunc("GET /close", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close")
		_, _ = io.WriteString(w, "bye")
	})
	mux.HandleFunc("GET /broken", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "half of it")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	mux.HandleFunc("GET /hang", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.HandleFunc("GET /events", serveEvents)
	mux.HandleFunc("GET /check", func(w http.ResponseWriter, r *http.Request) {
		serveReport(w, r, web)
	})
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "client_check asks itself: see /check\n")
	})
	return answer.Named(c.Index, mux), nil
}

// serveEcho gives back the body, and says how it came.
func serveEcho(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("X-Seen", fmt.Sprintf("%s %d %s", r.Method, r.ContentLength,
		r.Trailer.Get("X-Sum")))
	_, _ = w.Write(body)
}

// servePieces sends early hints, three chunks and a trailer.
func servePieces(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Link", "</style.css>; rel=preload")
	w.WriteHeader(http.StatusEarlyHints)
	w.Header().Set("Trailer", "X-Sum")
	for _, piece := range []string{"one ", "two ", "three"} {
		_, _ = io.WriteString(w, piece)
		_ = http.NewResponseController(w).Flush()
	}
	w.Header().Set("X-Sum", "3")
}

// serveEvents gives two events behind the last one that the client has, and
// ends; behind the last of all it says that there are no more.
func serveEvents(w http.ResponseWriter, r *http.Request) {
	last, err := strconv.Atoi(r.Header.Get("Last-Event-ID"))
	if err == nil && last >= lastEvent {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	var out []byte
	for id := last + 1; id <= min(last+2, lastEvent); id++ {
		e := sse.Event{ID: strconv.Itoa(id), Data: fmt.Sprint("number ", id), Retry: time.Millisecond}
		if out, err = sse.Append(out, e); err != nil {
			panic(err) // numbers are lines
		}
	}
	_, _ = w.Write(out)
}
