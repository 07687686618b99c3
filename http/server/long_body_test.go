// SPDX-License-Identifier: MIT

//go:build linux

package server_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"m0serve.dev/http/server"
)

// TestLongBodiesAreAwaitedWithinABudget: a handler has all of a long body and is
// on the loop, as long as the budget has room; then bodies are streamed as ever.
func TestLongBodiesAreAwaitedWithinABudget(t *testing.T) {
	handler := func(x *server.Exchange) {
		onLoop := x.OnLoop()
		_, whole := x.Body()
		n, err := io.Copy(io.Discard, x)
		fmt.Fprintf(x, "%d %v %v %v", n, err, whole, onLoop)
	}
	_, addr := start(t, server.Config{Handler: server.HandlerFunc(handler), ReadAheadLong: 1 << 20,
		Takeover: time.Minute}) // copying is not what this is about
	ask := func(size int) string {
		res, err := http.Post("http://"+addr+"/", "text/plain",
			strings.NewReader(strings.Repeat("x", size)))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	long, streamed := "1048576 <nil> true true", "1048576 <nil> false false"
	for range 3 {
		if got := ask(1 << 20); got != long {
			t.Errorf("1 MiB: %q, want %q", got, long)
		}
	}
	if got, want := ask(1<<20+1), "1048577 <nil> false false"; got != want {
		t.Errorf("1 MiB and a byte: %q, want %q", got, want)
	}
	// Clients that announce a long body and do not send it use the budget up. One
	// that comes while an answered body has the last place is streamed itself, so
	// there is one more at each try.
	var idle []net.Conn
	announce := func() {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		idle = append(idle, conn)
		fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\nx", 1<<20)
	}
	for range 63 {
		announce()
	}
	await(t, "the budget is used up", func() bool { announce(); return ask(1<<20) == streamed })
	for _, conn := range idle {
		conn.Close()
	}
	await(t, "the budget is given back", func() bool { return ask(1<<20) == long })
}

// await polls until cond, for ten seconds.
func await(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !cond(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within 10 s: %s", what)
		}
	}
}

// TestLongAnswers: pipelined answers about as long as what is sent apart from the head, with
// their length declared or not, to HEAD, and at the end of the connection, arrive as written
// and in order.
func TestLongAnswers(t *testing.T) {
	pattern := make([]byte, 3<<20)
	for i := range pattern {
		pattern[i] = byte(i>>8 ^ i)
	}
	handler := func(x *server.Exchange) {
		n, _ := strconv.Atoi(string(x.Request().Path[1:]))
		if string(x.Request().RawQuery) == "declared" {
			x.SetLength(int64(n))
		}
		if !x.WriteWhole(pattern[:n]) {
			x.Fail(500, "too long")
		}
	}
	// Every handler runs to its end on the loop, where answers are put together.
	_, addr := start(t, server.Config{Handler: server.HandlerFunc(handler), Takeover: time.Minute})
	c, r := dial(t, addr)
	var requests strings.Builder
	type ask struct {
		method string
		size   int
	}
	var asks []ask
	for _, size := range []int{1, 65535, 65536, 131071, 131072, 131073, 1 << 20, 3 << 20} {
		for _, method := range []string{"GET", "HEAD"} {
			for _, query := range []string{"", "?declared"} {
				asks = append(asks, ask{method, size})
				fmt.Fprintf(&requests, "%s /%d%s HTTP/1.1\r\nHost: a\r\n\r\n", method, size, query)
			}
		}
	}
	asks = append(asks, ask{"GET", 300_000})
	requests.WriteString("GET /300000 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
	go func() { _, _ = io.WriteString(c, requests.String()) }()
	for _, a := range asks {
		res, err := http.ReadResponse(r, &http.Request{Method: a.method})
		if err != nil {
			t.Fatalf("%s of %d bytes: %v", a.method, a.size, err)
		}
		body, err := io.ReadAll(res.Body)
		want := pattern[:a.size]
		if a.method == "HEAD" {
			want = nil
		}
		if err != nil || !bytes.Equal(body, want) || res.ContentLength != int64(a.size) {
			t.Fatalf("%s of %d bytes: length %d, got %d bytes, %v", a.method, a.size,
				res.ContentLength, len(body), err)
		}
	}
	if _, err := r.ReadByte(); err != io.EOF {
		t.Errorf("behind the last answer: %v, want the end", err)
	}
}
