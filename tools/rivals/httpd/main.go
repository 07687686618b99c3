// SPDX-License-Identifier: MIT

// Command httpd is one small server on several engines, so that a benchmark
// differs in nothing but the engine: native and std are ours, nethttp and
// fasthttp are the rivals, floor is what the kernel takes of any of them.
//
//	GET /              13 bytes, or as many as -bytes says; ?sleep=MS and ?spin=MS block first
//	GET /slow?sleep=MS the same on a route of its own
package main

import (
	"bytes"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"m0serve.dev/http/server"
)

const contentType = "text/plain; charset=utf-8"

// body is what is answered; set once by main.
var body = "Hello, world!"

func main() {
	engine := flag.String("engine", "native", "native, std, nethttp, fasthttp or floor")
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
		err = serve(*engine, ln)
	}
	fmt.Fprintln(os.Stderr, "httpd:", err)
	os.Exit(1)
}

func serve(engine string, ln net.Listener) error {
	cfg := server.Config{}
	switch engine {
	case "native":
		cfg.Handler = server.HandlerFunc(serveNative)
	case "std":
		cfg.HTTP = http.HandlerFunc(serveStd)
	case "nethttp":
		return http.Serve(ln, http.HandlerFunc(serveStd))
	case "fasthttp":
		return (&fasthttp.Server{Handler: serveFast}).Serve(ln)
	case "floor":
		return serveFloor(ln)
	default:
		return fmt.Errorf("no engine is called %q", engine)
	}
	srv, err := server.New(cfg)
	if err != nil {
		return err
	}
	return srv.Serve(ln)
}

func serveNative(x *server.Exchange) {
	if query := x.Request().RawQuery; len(query) > 0 {
		block(query)
	}
	if err := x.Field("Content-Type", contentType); err != nil {
		panic(err)
	}
	_, _ = x.WriteString(body)
}

func serveStd(w http.ResponseWriter, r *http.Request) {
	if r.URL.RawQuery != "" {
		block([]byte(r.URL.RawQuery))
	}
	w.Header().Set("Content-Type", contentType)
	_, _ = w.Write([]byte(body))
}

func serveFast(c *fasthttp.RequestCtx) {
	if query := c.URI().QueryString(); len(query) > 0 {
		block(query)
	}
	c.SetContentType(contentType)
	c.SetBodyString(body)
}

// block sleeps or computes for the milliseconds that the query asks for.
func block(query []byte) {
	name, value, _ := bytes.Cut(query, []byte("="))
	ms, err := strconv.Atoi(string(value))
	if err != nil {
		return
	}
	d := time.Duration(ms) * time.Millisecond
	switch string(name) {
	case "sleep":
		time.Sleep(d)
	case "spin":
		for end := time.Now().Add(d); time.Now().Before(end); {
		}
	}
}
