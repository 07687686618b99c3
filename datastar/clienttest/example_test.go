// SPDX-License-Identifier: MIT

package clienttest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"m0serve.dev/datastar/clienttest"
)

// A server that breaks its first stream off inside an event whose id stands
// before its data: the page never gets that event.
func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Last-Event-ID") == "" {
			fmt.Fprint(w, "event: datastar-patch-elements\nid: 1\ndata: elem")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
		fmt.Fprint(w, "event: datastar-patch-elements\nid: 2\ndata: elements <p>two</p>\n\n")
	}))
	defer server.Close()

	tab := clienttest.Open(clienttest.Config{
		URL:   server.URL,
		Sleep: func(_ context.Context, d time.Duration) { fmt.Println("waits", d) },
	})
	defer tab.Close()
	for {
		event, err := tab.Next(context.Background())
		var end *clienttest.EndError
		if errors.As(err, &end) {
			fmt.Println(end)
			return
		}
		fmt.Println(event.Args["elements"])
	}
	// Output:
	// waits 1s
	// <p>two</p>
	// clienttest: the stream ended cleanly, the client stays away
}
