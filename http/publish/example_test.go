// SPDX-License-Identifier: MIT

package publish_test

import (
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/loop"
	"m0serve.dev/http/publish"
	"m0serve.dev/http/sse"
)

// A program that is one process makes the socket and serves it; one with workers
// hands the listener to them, and each has a door.
func Example() {
	b := bus.Local()
	defer b.Close()
	socket, err := publish.Listen(publish.ListenConfig{Name: "127.0.0.1:8080"})
	if err != nil {
		log.Fatal(err)
	}
	defer socket.Close()
	door := publish.NewDoor(publish.Config{Bus: b})
	log.Print(door.Serve(socket.Listener()))
}

// Who has the key publishes by HTTP: one event as a form, or items of GRIP. A server
// gives the door an address of its own (server.Config.Handler).
func ExampleHTTPDoor() {
	b := bus.Local()
	defer b.Close()
	hub := sse.NewHub(sse.HubConfig{Bus: b})
	hub.Start()
	door := publish.NewHTTP(publish.HTTPConfig{
		Bus: b, Key: []byte("secret"), Log: slog.New(slog.DiscardHandler)})

	server := httptest.NewServer(loop.OverHTTP(door, 0))
	defer server.Close()
	form := url.Values{"channel": {"news"}, "data": {"hello"}}.Encode()
	for _, key := range []string{"secret", "guess"} {
		r, err := http.NewRequest("POST", server.URL+"/publish/", strings.NewReader(form))
		if err != nil {
			log.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Authorization", "Bearer "+key)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			log.Fatal(err)
		}
		_ = res.Body.Close()
		fmt.Println(res.StatusCode)
	}
	// Output:
	// 200
	// 401
}
