// SPDX-License-Identifier: MIT

package ws_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"

	"m0serve.dev/http/bus"
	"m0serve.dev/http/ws"
)

// A room says to everybody what one of them says.
type room struct{ conns sync.Map }

func (r *room) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	_ = ws.Accept(w, req, nil, ws.Handler{ // an opening that is none was answered
		Open: func(c *ws.Conn) { r.conns.Store(c, true) },
		Message: func(_ *ws.Conn, op ws.Op, data []byte) {
			r.conns.Range(func(c, _ any) bool {
				_ = c.(*ws.Conn).Send(op, data) // one that is too slow is closed
				return true
			})
		},
		Closed: func(c *ws.Conn, _ ws.Code, _ string) { r.conns.Delete(c) },
	})
}

// A chat, over net/http here; on package server it needs no goroutine.
func ExampleAccept() {
	server := httptest.NewServer(&room{})
	defer server.Close()
	ann, bob := enter(server), enter(server)

	_, _ = ann.Write(ws.AppendMasked(nil, ws.OpText, true, [4]byte{1, 2, 3, 4}, []byte("hello")))
	answer := make([]byte, 7)
	_, _ = io.ReadFull(bob, answer)
	fmt.Printf("bob: %s\n", answer[2:])
	// Output: bob: hello
}

// A chat of any number of processes: what one says is published, and every worker has
// it sent to those who have joined. Here it is one process.
func ExampleHub() {
	hub := ws.NewHub(ws.HubConfig{Bus: bus.Local()})
	hub.Start()
	chat := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = ws.Accept(w, r, nil, ws.Handler{
			Open: func(c *ws.Conn) { _ = hub.Join(c, "chat") },
			Message: func(_ *ws.Conn, op ws.Op, data []byte) {
				_, _ = hub.Publish("chat", op, data)
			},
		})
	})

	server := httptest.NewServer(chat)
	defer server.Close()
	ann, bob := enter(server), enter(server)
	_, _ = ann.Write(ws.AppendMasked(nil, ws.OpText, true, [4]byte{1, 2, 3, 4}, []byte("hello")))
	answer := make([]byte, 7)
	_, _ = io.ReadFull(bob, answer)
	fmt.Printf("bob: %s\n", answer[2:])
	// Output: bob: hello
}

// enter opens a socket.
func enter(server *httptest.Server) io.ReadWriter {
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
	r := bufio.NewReader(conn)
	if _, err := http.ReadResponse(r, nil); err != nil {
		panic(err)
	}
	return struct {
		io.Reader
		io.Writer
	}{r, conn}
}
