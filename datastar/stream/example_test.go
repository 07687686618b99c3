// SPDX-License-Identifier: MIT

package stream_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"time"

	"m0serve.dev/datastar"
	"m0serve.dev/datastar/clienttest"
	"m0serve.dev/datastar/stream"
	"m0serve.dev/http/bus"
	"m0serve.dev/http/sse"
)

// A score that is live in every open page, and caught up in those that were in
// the background.
func Example() {
	hub := sse.NewHub(sse.HubConfig{Bus: bus.Local()}) // in a host: Context.Hub
	hub.Start()
	score := stream.New(hub, stream.Options{Channel: "score"})
	server := httptest.NewServer(score) // data-init="@get('/score?since=…')"
	defer server.Close()

	show := func(text string) {
		html := []byte(`<b id="score">` + text + `</b>`)
		if _, err := score.PatchElements(html, datastar.ElementsOptions{}); err != nil {
			panic(err)
		}
	}
	page := clienttest.Open(clienttest.Config{
		URL: server.URL + fmt.Sprintf("?since=%d", hub.LastID()),
	})
	defer page.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for _, text := range []string{"1:0", "1:1", "2:1"} {
		if text == "1:1" {
			page.Hide() // the person looks at another tab
		}
		show(text)
		if text == "2:1" {
			page.Show()
		}
	}
	for range 3 {
		event, err := page.Next(ctx)
		fmt.Println(event.Args["elements"], err)
	}
	// Output:
	// <b id="score">1:0</b> <nil>
	// <b id="score">1:1</b> <nil>
	// <b id="score">2:1</b> <nil>
}
