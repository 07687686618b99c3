// SPDX-License-Identifier: MIT

package client_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"m0serve.dev/http/client"
)

// hello is a server for the examples.
func hello() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprintf(w, "%s %s %s", r.Method, r.URL, body)
	}))
}

func Example() {
	srv := hello()
	defer srv.Close()

	web := client.New(client.Config{})
	defer web.Close()

	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	resp, err := web.Get(ctx, srv.URL+"/news")
	if err != nil {
		log.Fatal(err)
	}
	kind, _ := resp.Field("content-type")
	fmt.Printf("%d %s: %s\n", resp.Status, kind, resp.Body)
	// Output: 200 text/plain: GET /news
}

// One Request and one Response for many requests: nothing is allocated.
func ExampleClient_Do() {
	srv := hello()
	defer srv.Close()
	web := client.New(client.Config{})
	defer web.Close()

	req := client.Request{Method: "PUT", URL: srv.URL + "/x"}
	var resp client.Response
	for i := range 3 {
		req.Body = fmt.Append(req.Body[:0], "number ", i)
		if err := web.Do(context.Background(), &req, &resp); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s\n", resp.Body)
	}
	// Output:
	// PUT /x number 0
	// PUT /x number 1
	// PUT /x number 2
}

// A body that is sent while it is made, and an answer that is read while it comes.
func ExampleClient_Open() {
	srv := hello()
	defer srv.Close()
	web := client.New(client.Config{})
	defer web.Close()

	s, err := web.Open(context.Background(), &client.Request{
		Method: "POST", URL: srv.URL + "/up", Stream: strings.NewReader("a long story")})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	all, err := io.ReadAll(s)
	fmt.Printf("%s %v\n", all, err)
	// Output: POST /up a long story <nil>
}
