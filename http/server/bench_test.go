// SPDX-License-Identifier: MIT

//go:build linux

package server_test

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"m0serve.dev/http/server"
)

// noDeadline lifts the deadline that dial sets.
var noDeadline time.Time

const helloRequest = "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n"

// A pinger sends one batch of requests and takes the answers, without
// allocating, so that what is counted is the server's.
type pinger struct {
	c    net.Conn
	raw  []byte
	want int
	buf  [64 << 10]byte
}

func newPinger(t testing.TB, addr, request string, batch int) *pinger {
	t.Helper()
	c, r := dial(t, addr)
	_ = c.SetDeadline(noDeadline)
	send(t, c, request)
	res, body := answer(t, r, "GET")
	head := len("HTTP/1.1 200 OK\r\n\r\n")
	for name, values := range res.Header {
		head += len(name) + len(": \r\n") + len(values[0])
	}
	return &pinger{c: c, raw: []byte(strings.Repeat(request, batch)), want: batch * (head + len(body))}
}

func (p *pinger) ping(t testing.TB) {
	if _, err := p.c.Write(p.raw); err != nil {
		t.Fatal(err)
	}
	for got := 0; got < p.want; {
		n, err := p.c.Read(p.buf[:])
		if err != nil {
			t.Fatal(err)
		}
		got += n
	}
}

func stdHello(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain")
	_, _ = io.WriteString(w, "Hello, World!")
}

// TestNativeAllocatesNothing counts over a whole process, client included.
func TestNativeAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	_, addr := start(t, server.Config{Handler: server.HandlerFunc(hello)})
	for _, request := range []string{helloRequest, browserRequest, postRequest} {
		p := newPinger(t, addr, request, 1)
		if got := testing.AllocsPerRun(500, func() { p.ping(t) }); got != 0 {
			t.Errorf("%.20q: %v allocations, want 0", request, got)
		}
	}
}

// TestStdAllocatesLittle are bounds that may only fall: what the types of net/http ask
// for, see the package comment, and what the handler allocates itself.
func TestStdAllocatesLittle(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	_, addr := stdServer(t, stdHello)
	for request, most := range map[string]float64{helloRequest: 6, browserRequest: 9} {
		p := newPinger(t, addr, request, 1)
		if got := testing.AllocsPerRun(500, func() { p.ping(t) }); got > most {
			t.Errorf("%.20q: %v allocations, want at most %v", request, got, most)
		}
	}
}

const (
	browserRequest = "GET /hello?a=b HTTP/1.1\r\nHost: localhost:8080\r\n" +
		"User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0\r\n" +
		"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n" +
		"Accept-Language: en-US,en;q=0.5\r\nAccept-Encoding: gzip, deflate, br, zstd\r\n" +
		"Connection: keep-alive\r\nCookie: session=0123456789abcdef; theme=dark\r\n" +
		"Upgrade-Insecure-Requests: 1\r\nSec-Fetch-Dest: document\r\nSec-Fetch-Mode: navigate\r\n" +
		"Sec-Fetch-Site: none\r\n\r\n"
	postRequest = "POST /hello HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"
)

func BenchmarkNative(b *testing.B) {
	_, addr := start(b, server.Config{Handler: server.HandlerFunc(hello)})
	benchServer(b, addr)
}

func BenchmarkStd(b *testing.B) {
	_, addr := stdServer(b, stdHello)
	benchServer(b, addr)
}

// BenchmarkOffLoop hands every request over.
func BenchmarkOffLoop(b *testing.B) {
	_, addr := start(b, server.Config{Handler: server.HandlerFunc(hello), Takeover: -1})
	benchServer(b, addr)
}

// BenchmarkNetHTTP is the same handler on net/http, for comparison in one run.
func BenchmarkNetHTTP(b *testing.B) {
	_, addr := start(b, server.Config{NetHTTP: true, HTTP: http.HandlerFunc(stdHello)})
	benchServer(b, addr)
}

func benchServer(b *testing.B, addr string) {
	for _, bb := range []struct {
		name, request string
		batch         int
	}{
		{"hello", helloRequest, 1},
		{"browser", browserRequest, 1},
		{"pipelined16", helloRequest, 16},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				p := newPinger(b, addr, bb.request, bb.batch)
				for pb.Next() {
					p.ping(b)
				}
			})
		})
	}
}
