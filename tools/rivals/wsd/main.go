// SPDX-License-Identifier: MIT

// Command wsd sends WebSocket messages back, on several engines, so that a benchmark
// differs in nothing but the engine: native is ours, nethttp is ours over net/http, gws
// is the rival.
//
//	GET /         a WebSocket that is an echo
//	GET /memory   bytes in use on the heap and on stacks, behind a collection
package main

import (
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/lxzan/gws"

	"m0serve.dev/http/server"
	"m0serve.dev/http/ws"
	"m0serve.dev/tools/rivals/heap"
)

// messageMax is what a message may have: the largest of the Autobahn suite has 16 MiB.
const messageMax = 64 << 20

func main() {
	engine := flag.String("engine", "native", "native, nethttp or gws")
	addr := flag.String("addr", "127.0.0.1:0", "where to listen")
	deflate := flag.Bool("deflate", false, "compress messages where a client offers it")
	context := flag.Bool("context", false, "… and let its messages refer to earlier ones")
	flag.Parse()
	ln, err := net.Listen("tcp", *addr)
	if err == nil {
		fmt.Printf("listening on http://%s\n", ln.Addr())
		err = serve(*engine, ln, *deflate, *context)
	}
	fmt.Fprintln(os.Stderr, "wsd:", err)
	os.Exit(1)
}

func serve(engine string, ln net.Listener, deflate, context bool) error {
	options := &ws.Options{MessageBytes: messageMax, QueueBytes: messageMax}
	if deflate {
		options.Compression = &ws.Compression{ClientContext: context}
	}
	switch engine {
	case "native":
		srv, err := server.New(server.Config{Handler: server.HandlerFunc(func(x *server.Exchange) {
			if string(x.Request().Path) == "/memory" {
				_, _ = x.WriteString(heap.InUse())
				return
			}
			_ = ws.AcceptExchange(x, options, echo) // what is no opening was answered
		})})
		if err != nil {
			return err
		}
		return srv.Serve(ln)
	case "nethttp":
		return serveHTTP(ln, func(w http.ResponseWriter, r *http.Request) {
			_ = ws.Accept(w, r, options, echo) // the same
		})
	case "gws":
		return serveGWS(ln, deflate, context)
	}
	return fmt.Errorf("there is no engine %q", engine)
}

var echo = ws.Handler{Message: func(c *ws.Conn, op ws.Op, data []byte) {
	_ = c.Send(op, data) // a peer that is too slow is closed
}}

type gwsEcho struct{ gws.BuiltinEventHandler }

func (gwsEcho) OnOpen(c *gws.Conn) { _ = c.SetDeadline(time.Time{}) }

func (gwsEcho) OnPing(c *gws.Conn, payload []byte) { _ = c.WritePong(payload) }

func (gwsEcho) OnMessage(c *gws.Conn, m *gws.Message) {
	_ = c.WriteMessage(m.Opcode, m.Bytes())
	_ = m.Close()
}

func serveGWS(ln net.Listener, deflate, context bool) error {
	up := gws.NewUpgrader(gwsEcho{}, &gws.ServerOption{
		CheckUtf8Enabled: true, ReadMaxPayloadSize: messageMax, WriteMaxPayloadSize: messageMax,
		PermessageDeflate: gws.PermessageDeflate{Enabled: deflate, Threshold: 128,
			ClientContextTakeover: context},
	})
	return serveHTTP(ln, func(w http.ResponseWriter, r *http.Request) {
		if c, err := up.Upgrade(w, r); err == nil {
			go c.ReadLoop() // as its README does: the handler's stack is larger
		}
	})
}

func serveHTTP(ln net.Listener, socket http.HandlerFunc) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /memory", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, heap.InUse())
	})
	mux.Handle("GET /", socket)
	return http.Serve(ln, mux)
}
