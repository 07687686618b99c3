// SPDX-License-Identifier: MIT

//go:build unix

package host

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"m0serve.dev/http/server"
	"m0serve.dev/http/ws"
)

// TestSocketsHearWhatIsPublished: sockets get what is published to the channels that
// they have joined, and a drain closes them with 1012 when it begins, on the loop and
// over net/http.
func TestSocketsHearWhatIsPublished(t *testing.T) {
	for _, netHTTP := range []bool{false, true} {
		begun, release := make(chan struct{}), make(chan struct{})
		app := App{
			Handler: func(c *Context) (http.Handler, error) {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/slow" {
						close(begun)
						<-release
						return
					}
					_ = ws.Accept(w, r, nil, ws.Handler{
						Open: func(conn *ws.Conn) { _ = c.Sockets.Join(conn, "chat") },
						Message: func(_ *ws.Conn, op ws.Op, data []byte) {
							if _, err := c.Sockets.Publish("chat", op, data); err != nil {
								t.Error(err)
							}
						},
					})
				}), nil
			},
			Config: func(_ *Context, cfg *server.Config) { cfg.NetHTTP = netHTTP },
		}
		url, _, exit := started(t, app)
		ann, bob := enter(t, url), enter(t, url)
		ann.send("hello")
		ann.want("\x81\x05hello")
		bob.want("\x81\x05hello")
		go func() { _, _ = http.Get(url + "/slow") }() // it holds the drain up
		<-begun
		left := make(chan int, 1)
		go func() { left <- stop(t, exit) }()
		for _, s := range []*socket{ann, bob} {
			s.want("\x88\x02\x03\xf4") // 1012
			s.answerClose()
		}
		close(release)
		if code := <-left; code != 0 {
			t.Errorf("net/http %v: exit %d, want 0", netHTTP, code)
		}
	}
}

// A socket is a client.
type socket struct {
	t *testing.T
	net.Conn
	in *bufio.Reader
}

func enter(t *testing.T, url string) *socket {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(patience / 4))
	fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
	s := &socket{t: t, Conn: conn, in: bufio.NewReader(conn)}
	if res, err := http.ReadResponse(s.in, nil); err != nil || res.StatusCode != 101 {
		t.Fatalf("opening: %v, %v", res, err)
	}
	return s
}

func (s *socket) send(text string) {
	s.t.Helper()
	if _, err := s.Write(ws.AppendMasked(nil, ws.OpText, true, [4]byte{}, []byte(text))); err != nil {
		s.t.Fatal(err)
	}
}

func (s *socket) want(frame string) {
	s.t.Helper()
	got := make([]byte, len(frame))
	if _, err := io.ReadFull(s.in, got); err != nil || string(got) != frame {
		s.t.Fatalf("read = %q, %v; want %q", got, err, frame)
	}
}

func (s *socket) answerClose() {
	_, _ = s.Write(ws.AppendMasked(nil, ws.OpClose, true, [4]byte{}, []byte("\x03\xf4")))
}
