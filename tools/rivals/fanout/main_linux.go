// SPDX-License-Identifier: MIT

// Command fanout is one small server of event streams on several engines, so that a
// benchmark differs in nothing but the engine: sse is ours, floor is a loop that writes
// and does nothing else, nethttp, fasthttp, r3labs, gosse and mercure are what a Go program
// would use. It is for Linux only.
//
//	GET /ping     200
//	GET /memory   bytes in use after a collection; not floor
//	GET /turn     sse: how long the longest turn of the loop worked, in milliseconds
//	GET /events   a stream of everything that is published
//	POST /pub     publishes the body as the data of an event
package main

import (
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"

	"m0serve.dev/tools/rivals/heap"
)

// An engine answers GET /events, and publishes.
type engine interface {
	http.Handler
	publish(data []byte) error
}

func main() {
	name := flag.String("engine", "nethttp", "sse, floor, nethttp, fasthttp, r3labs, gosse or mercure")
	addr := flag.String("addr", "127.0.0.1:0", "where to listen")
	flag.Parse()
	if err := run(*name, *addr); err != nil {
		fmt.Fprintln(os.Stderr, "fanout:", err)
		os.Exit(1)
	}
}

func run(name, addr string) error {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	fmt.Printf("listening on http://%s\n", ln.Addr())
	var e engine
	switch name {
	case "floor":
		return serveFloor(ln)
	case "fasthttp":
		return serveFast(ln)
	case "sse":
		e = newHub()
	case "nethttp":
		e = newChannels()
	case "r3labs":
		e = newR3labs()
	case "gosse":
		e = newGoSSE()
	case "mercure":
		if e, err = newMercure(); err != nil {
			return err
		}
	default:
		return fmt.Errorf("there is no engine %q", name)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ping", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /memory", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, heap.InUse())
	})
	mux.Handle("GET /events", e)
	mux.HandleFunc("POST /pub", func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		if err == nil {
			err = e.publish(data)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	if name == "sse" {
		return serveOurs(ln, mux)
	}
	return http.Serve(ln, mux)
}
