// SPDX-License-Identifier: MIT

package host_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"time"

	"m0serve.dev/host"
	"m0serve.dev/http/config"
	"m0serve.dev/http/metrics"
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

// All that is counted is shown at /metrics, by any worker.
func ExampleContext_Metrics() {
	newHandler := func(c *host.Context) (http.Handler, error) {
		reg := metrics.New()
		c.Metrics(reg)
		mux := http.NewServeMux()
		mux.Handle("GET /metrics", metrics.Handler(reg))
		return mux, nil
	}
	main := func() { host.Main(host.App{Name: "counted", Handler: newHandler}) }
	_ = main
}

// A notes is a state that views share.
type notes struct{ title string }

func newNotes(c *host.Context) (*notes, error) { return &notes{title: "Notes"}, nil }

func (n *notes) page(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, n.title) }

func (n *notes) change(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintln(w, "changed", r.PathValue("id"))
}

// A table of routes and a state are an application, and a part of a larger one.
func ExampleViews() {
	routes := host.Routes[*notes]{"GET /": (*notes).page, "POST /notes/:id": (*notes).change}
	main := func() {
		host.Main(host.App{Name: "notes", MaxWorkers: 1,
			Handler: host.Views[*notes]{State: newNotes, Routes: routes}.Handler})
	}
	_ = main

	w := httptest.NewRecorder()
	routes.With(&notes{}).ServeHTTP(w, httptest.NewRequest("POST", "/notes/7", nil))
	fmt.Print(w.Body)
	// Output: changed 7
}

// A word of memory that all workers share counts visitors.
func ExampleApp_pageSlots() {
	main := func() {
		host.Main(host.App{Name: "count", Handler: newCounter,
			PageSlots: func(workers int) int { return 1 }})
	}
	_ = main
}

func newCounter(c *host.Context) (http.Handler, error) {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "visitor", c.Page[0].Add(1))
	}), nil
}

// An application's own setting is a flag and a variable, and is in --help.
func ExampleApp_settings() {
	main := func() {
		greeting := ""
		host.Main(host.App{Name: "hello", Handler: greet(&greeting), Settings: []config.Setting{{
			Flag: "greeting", Env: "HELLO_GREETING", Value: "TEXT", Default: "hello",
			Help: "what everybody is told", Set: config.Text(&greeting),
		}}})
	}
	_ = main
}

func greet(word *string) func(*host.Context) (http.Handler, error) {
	return func(*host.Context) (http.Handler, error) {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintln(w, *word)
		}), nil
	}
}
