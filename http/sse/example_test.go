// SPDX-License-Identifier: MIT

package sse_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/sse"
)

// A journal behind a plain net/http handler: nothing else of the package is
// needed.
func ExampleJournal() {
	journal := sse.NewJournal(64, 0)
	for id := uint64(1); id <= 3; id++ {
		body, err := sse.Append(nil, sse.Event{ID: fmt.Sprint(id), Data: fmt.Sprint("event ", id)})
		if err != nil {
			panic(err)
		}
		journal.Insert(sse.NewFrame(id, "news", "", body))
	}
	handler := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		missed := journal.CatchUp(r.Header.Get("Last-Event-ID"), 3, func() {
			fmt.Fprint(w, "event: reset\ndata: \n\n")
		})
		for _, frame := range missed {
			_, _ = w.Write(frame.Body())
		}
	}
	for _, id := range []string{"2", "ancient"} {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Last-Event-ID", id)
		handler(w, r)
		fmt.Print(w.Body)
	}
	// Output:
	// id: 3
	// data: event 3
	//
	// event: reset
	// data:
}

// Every open page gets what is published, on every worker of the service.
func ExampleHub() {
	b := bus.Local() // in a host: the bus of the service
	defer b.Close()
	hub := sse.NewHub(sse.HubConfig{Bus: b})
	hub.Start()

	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The first event tells the page that it is connected.
		err := hub.Hold(w, r, sse.HoldOptions{
			Channels: []string{"news"}, Hello: []byte("event: hello\ndata: \n\n"),
		})
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
	}))
	defer server.Close()
	defer server.CloseClientConnections()

	res, err := http.Get(server.URL)
	if err != nil {
		panic(err)
	}
	defer res.Body.Close()
	var parser sse.Parser
	buf := make([]byte, 1024)
	for done := false; !done; {
		n, err := res.Body.Read(buf)
		if err != nil {
			panic(err)
		}
		_ = parser.Feed(buf[:n], func(e sse.Event) {
			fmt.Println(strings.TrimSpace(e.Name + " " + e.Data))
			switch e.Name {
			case "hello":
				_, _ = hub.PublishEvent("news", sse.Event{Name: "score", Data: "1:0"})
			case "score":
				done = true
			}
		})
	}
	// Output:
	// hello
	// score 1:0
}
