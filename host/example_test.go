// SPDX-License-Identifier: MIT

package host_test

import (
	"io"
	"net/http"
	"time"

	"m0serve.dev/host"
	"m0serve.dev/http/sse"
)

// The smallest application is a handler.
func Example() {
	main := func() { host.Main(host.App{Name: "hello", Handler: newHandler}) }
	_ = main // it serves until the process is told to stop
}

func newHandler(c *host.Context) (http.Handler, error) {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "hello\n")
	}), nil
}

// A clock tells every open stream of every worker the time, once a second.
func Example_producer() {
	main := func() {
		host.Main(host.App{Name: "clock", Handler: newStreams, Producer: newClock})
	}
	_ = main
}

func newStreams(c *host.Context) (http.Handler, error) {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := c.Hub.Hold(w, r, sse.HoldOptions{Channels: []string{"time"}}); err != nil {
			http.Error(w, "no stream", http.StatusServiceUnavailable)
		}
	}), nil
}

type clock struct{}

func newClock(c *host.Context) (host.Producer, error) { return clock{}, nil }

func (clock) Step(out *host.Publisher) (time.Duration, error) {
	_, err := out.PublishEvent("time", sse.Event{Name: "tick", Data: time.Now().String()})
	return time.Second, err
}
