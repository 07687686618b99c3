// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"m0serve.dev/http/server"
	"m0serve.dev/http/sse"
)

// handlers answer on ours, and serveStd on net/http too, where the fields are nil.
type handlers struct {
	hub   *sse.Hub
	stats func() server.Stats
}

func (h *handlers) serveNative(x *server.Exchange) {
	if r := x.Request(); len(r.Target) > 1 {
		switch string(r.Path) {
		case "/events":
			if _, err := h.hub.HoldExchange(x, "", sse.HoldOptions{}); err != nil {
				panic(err)
			}
			return
		case "/takeovers":
			_, _ = fmt.Fprint(x, h.stats().Takeovers)
			return
		}
		block(r.RawQuery)
	}
	if err := x.Field("Content-Type", contentType); err != nil {
		panic(err)
	}
	_, _ = x.WriteString(body)
}

func (h *handlers) serveStd(w http.ResponseWriter, r *http.Request) {
	if len(r.RequestURI) > 1 {
		switch {
		case r.URL.Path == "/events" && h.hub == nil:
			holdStd(w, r)
			return
		case r.URL.Path == "/takeovers" && h.stats != nil:
			_, _ = fmt.Fprint(w, h.stats().Takeovers)
			return
		}
		block([]byte(r.URL.RawQuery))
	}
	w.Header().Set("Content-Type", contentType)
	_, _ = w.Write([]byte(body))
}

// holdStd holds a stream as net/http can: by a handler that does not return.
func holdStd(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	if http.NewResponseController(w).Flush() == nil {
		<-r.Context().Done()
	}
}

func serveFast(c *fasthttp.RequestCtx) {
	if query := c.URI().QueryString(); len(query) > 0 {
		block(query)
	}
	c.SetContentType(contentType)
	c.SetBodyString(body)
}

// block sleeps or computes for the milliseconds that the query asks for.
func block(query []byte) {
	name, value, _ := bytes.Cut(query, []byte("="))
	ms, err := strconv.Atoi(string(value))
	if err != nil {
		return
	}
	d := time.Duration(ms) * time.Millisecond
	switch string(name) {
	case "sleep":
		time.Sleep(d)
	case "spin":
		for end := time.Now().Add(d); time.Now().Before(end); {
		}
	}
}
