// SPDX-License-Identifier: MIT

package eventsource_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"m0serve.dev/http/client"
	"m0serve.dev/http/client/eventsource"
)

func Example() {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Last-Event-ID") == "2" {
			w.WriteHeader(http.StatusNoContent) // there are no more
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "retry: 1\nid: 1\ndata: hello\n\n", "id: 2\ndata: again\n\n")
	}))
	defer srv.Close()
	web := client.New(client.Config{})
	defer web.Close()

	src := eventsource.New(web, eventsource.Config{URL: srv.URL})
	for e := range src.Events(context.Background()) {
		fmt.Println(e.ID, e.Name, e.Data)
	}
	fmt.Println("ended:", src.Err())
	// Output:
	// 1 message hello
	// 2 message again
	// ended: <nil>
}
