// SPDX-License-Identifier: MIT

package server_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"

	"m0serve.dev/http/server"
)

// An ordinary http.Handler on the loop.
func Example() {
	s, err := server.New(server.Config{
		HTTP: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, "hello, %s", r.URL.Query().Get("name"))
		}),
	})
	if err != nil {
		panic(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	served := make(chan error)
	go func() { served <- s.Serve(ln) }()

	res, err := http.Get("http://" + ln.Addr().String() + "/?name=gopher")
	if err != nil {
		panic(err)
	}
	body, _ := io.ReadAll(res.Body)
	_ = res.Body.Close()
	fmt.Println(string(body))

	http.DefaultClient.CloseIdleConnections()
	fmt.Println(s.Shutdown(context.Background()), <-served)
	// Output:
	// hello, gopher
	// <nil> server: closed
}

// A native handler reads the request in place and appends its answer.
func ExampleHandlerFunc() {
	s, err := server.New(server.Config{
		Handler: server.HandlerFunc(func(x *server.Exchange) {
			_ = x.Field("Content-Type", "text/plain")
			_, _ = x.Write(x.Request().Path)
		}),
	})
	if err != nil {
		panic(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go func() { _ = s.Serve(ln) }()
	defer s.Close()

	res, err := http.Get("http://" + ln.Addr().String() + "/a/path")
	if err != nil {
		panic(err)
	}
	body, _ := io.ReadAll(res.Body)
	_ = res.Body.Close()
	fmt.Println(string(body))
	// Output: /a/path
}
