// SPDX-License-Identifier: MIT

// Command gnetd is httpd's small answer on gnet, with the least of a parser: a request
// line of three words and the end of the head. It looks at no field, so a connection ends
// when its client ends it, and it has no limits, no timeouts and no handlers that may
// block.
//
// It is a program of its own because whoever links gnet has the ticking goroutines of its
// pool of workers, and never comes to rest.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/panjf2000/gnet/v2"
)

const (
	contentType = "text/plain; charset=utf-8"
	body        = "Hello, world!"
)

var (
	headEnd = []byte("\r\n\r\n")
	lineEnd = []byte("\r\n")
)

// A server answers all connections on one loop.
type server struct {
	gnet.BuiltinEventEngine
	addr   string
	answer atomic.Pointer[[]byte] // of this second; the ticker has a goroutine of its own
	out    []byte                 // the answers of what one read brought
}

func main() {
	addr := flag.String("addr", "127.0.0.1:0", "where to listen")
	flag.Parse()
	err := serve(*addr)
	fmt.Fprintln(os.Stderr, "gnetd:", err)
	os.Exit(1)
}

// serve finds a port where none is given: gnet opens its listeners itself.
func serve(addr string) error {
	ln, err := net.Listen("tcp", addr)
	if err == nil {
		addr = ln.Addr().String()
		err = ln.Close()
	}
	if err != nil {
		return err
	}
	return gnet.Run(&server{addr: addr}, "tcp://"+addr,
		gnet.WithNumEventLoop(1), gnet.WithTicker(true), gnet.WithTCPNoDelay(gnet.TCPNoDelay))
}

// OnBoot implements gnet.EventHandler.
func (s *server) OnBoot(gnet.Engine) gnet.Action {
	s.OnTick()
	fmt.Printf("listening on http://%s\n", s.addr)
	return gnet.None
}

// OnTick implements gnet.EventHandler. It makes the answer anew each second, for its date.
func (s *server) OnTick() (time.Duration, gnet.Action) {
	now := time.Now()
	answer := fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nDate: %s\r\n"+
		"Content-Length: %d\r\n\r\n%s", contentType, now.UTC().Format(http.TimeFormat),
		len(body), body)
	s.answer.Store(&answer)
	return now.Truncate(time.Second).Add(time.Second).Sub(now), gnet.None
}

// OnTraffic implements gnet.EventHandler. It answers every whole request that has come
// with one write.
func (s *server) OnTraffic(c gnet.Conn) gnet.Action {
	in, err := c.Peek(-1)
	if err != nil {
		return gnet.Close
	}
	answer, used := *s.answer.Load(), 0
	s.out = s.out[:0]
	for {
		end := bytes.Index(in[used:], headEnd)
		if end < 0 {
			break
		}
		line, _, _ := bytes.Cut(in[used:used+end+len(lineEnd)], lineEnd)
		if method, rest, ok := bytes.Cut(line, []byte(" ")); !ok || len(method) == 0 ||
			!bytes.HasSuffix(rest, []byte(" HTTP/1.1")) {
			return gnet.Close
		}
		used += end + len(headEnd)
		s.out = append(s.out, answer...)
	}
	if _, err := c.Discard(used); err != nil {
		return gnet.Close
	}
	if len(s.out) > 0 {
		if _, err := c.Write(s.out); err != nil {
			return gnet.Close
		}
	}
	return gnet.None
}
