// SPDX-License-Identifier: MIT

// Command httpd is one small server on several engines, so that a benchmark
// differs in nothing but the engine: native and std are ours, nethttp and
// fasthttp are the rivals, floor is what the kernel takes of any of them.
//
//	GET /              13 bytes, or as many as -bytes says; ?sleep=MS and ?spin=MS block first
//	GET /slow?sleep=MS the same on a route of its own
//	GET /events        a stream that is held and says nothing, of native and nethttp
//	GET /takeovers     how many handlers have lost their loop, of native and std
//
// floor answers whatever it is asked with the 13 bytes.
package main

import (
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/server"
	"m0serve.dev/http/sse"
)

const contentType = "text/plain; charset=utf-8"

// body is what is answered; set once by main.
var body = "Hello, world!"

// An engine is what the flags ask for.
type engine struct {
	name     string
	takeover time.Duration // of ours
	loops    int           // of ours
}

func main() {
	var e engine
	flag.StringVar(&e.name, "engine", "native", "native, std, nethttp, fasthttp or floor")
	flag.DurationVar(&e.takeover, "takeover", 0,
		"the watchdog's step, of ours; negative: every handler runs off the loop")
	flag.IntVar(&e.loops, "loops", 0, "of ours; 0: one")
	addr := flag.String("addr", "127.0.0.1:0", "where to listen")
	procs := flag.Int("procs", 0, "GOMAXPROCS for the rivals; 0: their default")
	length := flag.Int("bytes", 0, "length of the answer; 0: Hello, world!")
	flag.Parse()
	if *length > 0 {
		body = strings.Repeat("x", *length)
	}
	ln, err := net.Listen("tcp", *addr)
	if err == nil {
		fmt.Printf("listening on http://%s\n", ln.Addr())
		if *procs > 0 {
			runtime.GOMAXPROCS(*procs)
		}
		err = e.serve(ln)
	}
	fmt.Fprintln(os.Stderr, "httpd:", err)
	os.Exit(1)
}

func (e engine) serve(ln net.Listener) error {
	switch e.name {
	case "native", "std":
		return e.serveOurs(ln)
	case "nethttp":
		return http.Serve(ln, http.HandlerFunc((&handlers{}).serveStd))
	case "fasthttp":
		return (&fasthttp.Server{Handler: serveFast, NoDefaultServerHeader: true}).Serve(ln)
	case "floor":
		return serveFloor(ln)
	}
	return fmt.Errorf("no engine is called %q", e.name)
}

func (e engine) serveOurs(ln net.Listener) error {
	h := &handlers{hub: sse.NewHub(sse.HubConfig{Bus: bus.Local()})}
	h.hub.Start()
	cfg := server.Config{Takeover: e.takeover, Loops: e.loops}
	if e.name == "native" {
		cfg.Handler = server.HandlerFunc(h.serveNative)
	} else {
		cfg.HTTP = http.HandlerFunc(h.serveStd)
	}
	srv, err := server.New(cfg)
	if err != nil {
		return err
	}
	h.stats = srv.Stats
	return srv.Serve(ln)
}
