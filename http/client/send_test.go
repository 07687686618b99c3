// SPDX-License-Identifier: MIT

package client

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"m0serve.dev/http/wire"
)

// A noisy stream tells that it was closed and fails where it is told to.
type noisy struct {
	io.Reader
	closed chan struct{}
}

func newNoisy(r io.Reader) *noisy { return &noisy{r, make(chan struct{}, 8)} }

func (n *noisy) Close() error {
	n.closed <- struct{}{}
	return nil
}

var errNoisy = errors.New("no more of this")

func TestBodies(t *testing.T) {
	long := strings.Repeat("0123456789abcdef", 20_000)
	for _, c := range []struct {
		name string
		req  Request
		want string // behind the method and path
	}{
		{"nothing", Request{Method: "POST"}, ""},
		{"short", Request{Method: "PUT", Body: []byte("hello")}, "hello"},
		{"long", Request{Method: "POST", Body: []byte(long)}, long},
		{"GET with a body", Request{Method: "GET", Body: []byte("q")}, "q"},
		{"chunks", Request{Method: "POST", Stream: strings.NewReader(long)}, long},
		{"chunks, none", Request{Method: "POST", Stream: strings.NewReader("")}, ""},
		{"stream of a length", Request{Method: "POST", Stream: strings.NewReader(long), Length: 100_001},
			long[:100_001]},
		{"trailers", Request{Method: "POST", Stream: strings.NewReader("x"),
			Trailers: func() []Field { return []Field{{"X-Sum", "7"}} }}, "x X-Sum=7"},
	} {
		t.Run(c.name, func(t *testing.T) {
			srv := newScripted(t)
			cl := newClient(t, Config{})
			c.req.URL = "http://" + srv.listen() + "/p?q"
			for range 1 + min(1, len(c.req.Body)) {
				var resp Response
				if err := cl.Do(within(t), &c.req, &resp); err != nil || string(resp.Body) != "usual" {
					t.Fatalf("Do = %q, %v", resp.Body, err)
				}
			}
			for _, got := range srv.seen() {
				if want := "0 " + c.req.method() + " /p?q " + c.want; got != want {
					t.Errorf("the server saw %.60q of %d bytes, want %.60q of %d", got, len(got), want, len(want))
				}
			}
		})
	}
}

// TestBodyThatFails: half a request is never taken for a whole one.
func TestBodyThatFails(t *testing.T) {
	for _, c := range []struct {
		name   string
		stream io.Reader
		length int64
		trail  []Field
		want   error
	}{
		{"short of its length", strings.NewReader("hello"), 6, nil, io.ErrUnexpectedEOF},
		{"fails", io.MultiReader(strings.NewReader("hello"), errReader{}), 0, nil, errNoisy},
		{"fails, of a length", io.MultiReader(strings.NewReader("hello"), errReader{}), 9, nil, errNoisy},
		{"trailer of framing", strings.NewReader("x"), 0, []Field{{"Content-Length", "1"}}, errTrailer},
		{"trailer with a line", strings.NewReader("x"), 0, []Field{{"X", "1\r\nY: 2"}},
			wire.ErrEncodeValue},
	} {
		t.Run(c.name, func(t *testing.T) {
			srv := newScripted(t)
			cl := newClient(t, Config{Dial: srv.pipe})
			body := newNoisy(c.stream)
			req := Request{Method: "PUT", URL: "http://a/", Stream: body, Length: c.length}
			if c.trail != nil {
				req.Trailers = func() []Field { return c.trail }
			}
			err := cl.Do(within(t), &req, new(Response))
			if kindOfError(err) != Body || !errors.Is(err, c.want) {
				t.Errorf("Do = %v, want %v of kind %v", err, c.want, Body)
			}
			<-body.closed
			if seen := srv.seen(); len(seen) != 0 {
				t.Errorf("the server took %q for a request", seen)
			}
		})
	}
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, errNoisy }

// TestAnswerBeforeTheBody: a server may refuse a body that it has not read, and
// may close or not. The answer is heard, the connection is not used again.
func TestAnswerBeforeTheBody(t *testing.T) {
	const refusal = "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno"
	for _, end := range []ending{hang, shut} {
		for _, stream := range []bool{false, true} {
			srv := newScripted(t, script{send: refusal, end: end, early: true})
			c := newClient(t, Config{Dial: srv.pipe})
			req := Request{Method: "POST", URL: "http://a/", Body: make([]byte, 1<<20)}
			body := newNoisy(strings.NewReader(strings.Repeat("x", 1<<20)))
			if stream {
				req.Body, req.Stream = nil, body
			}
			var resp Response
			ctx, cancel := context.WithTimeout(within(t), patience/2)
			err := c.Do(ctx, &req, &resp)
			cancel()
			if err != nil || resp.Status != 413 || string(resp.Body) != "no" {
				t.Errorf("Do = %d %q, %v; want 413 %q", resp.Status, resp.Body, err, "no")
			}
			if stream {
				<-body.closed
			}
			if s := c.Stats(); s.Open != 0 {
				t.Errorf("%+v, want the connection closed", s)
			}
		}
	}
}

// TestRefused: what cannot be sent as it is reaches no server.
func TestRefused(t *testing.T) {
	dial := func(_ context.Context, _, addr string) (net.Conn, error) {
		t.Errorf("dialed %s", addr)
		return nil, errNoisy
	}
	c := newClient(t, Config{Dial: dial})
	field := func(name, value string) Request { return Request{Fields: []Field{{name, value}}} }
	for name, req := range map[string]Request{
		"value with CRLF":     field("X", "a\r\nEvil: 1"),
		"value with LF":       field("X", "a\nEvil: 1"),
		"value with CR":       field("X", "a\rb"),
		"value with NUL":      field("X", "a\x00b"),
		"name with CRLF":      field("X\r\nEvil", "1"),
		"name with space":     field("X ", "1"),
		"name with colon":     field("X:", "1"),
		"no name":             field("", "1"),
		"Host":                field("HOST", "b"),
		"Content-Length":      field("content-length", "5"),
		"Transfer-Encoding":   field("Transfer-Encoding", "chunked"),
		"Connection":          field("Connection", "X"),
		"Keep-Alive":          field("Keep-Alive", "1"),
		"Proxy-Connection":    field("Proxy-Connection", "close"),
		"TE":                  field("TE", "trailers"),
		"Trailer":             field("Trailer", "X"),
		"Upgrade":             field("Upgrade", "websocket"),
		"Expect":              field("Expect", "100-continue"),
		"method with space":   {Method: "GET / HTTP/1.1\r\nX:"},
		"method with LF":      {Method: "GET\n"},
		"CONNECT":             {Method: "CONNECT"},
		"TRACE with a body":   {Method: "TRACE", Body: []byte("x")},
		"no scheme":           {URL: "a/b"},
		"ftp":                 {URL: "ftp://a/"},
		"no host":             {URL: "http:///b"},
		"port alone":          {URL: "http://:80/"},
		"path with space":     {URL: "http://a/b c"},
		"path with CRLF":      {URL: "http://a/b\r\nEvil: 1"},
		"path in 8 bits":      {URL: "http://a/\xfc"},
		"query with space":    {URL: "http://a/?a b"},
		"host with CRLF":      {URL: "http://a\r\nEvil: 1/"},
		"host with space":     {URL: "http://a b/"},
		"host with user":      {URL: "http://me:pw@a/"},
		"host in 8 bits":      {URL: "http://b\xfccher/"},
		"host with backslash": {URL: "http://a\\b/"},
		"port no number":      {URL: "http://a:http/"},
		"port out of range":   {URL: "http://a:65536/"},
		"IPv6 without end":    {URL: "http://[::1/"},
		"Host with CRLF":      {Host: "a\r\nEvil: 1"},
		"two bodies":          {Body: []byte("x"), Stream: strings.NewReader("x")},
		"length of no stream": {Length: 5},
		"trailers, no stream": {Trailers: func() []Field { return nil }},
	} {
		if req.URL == "" {
			req.URL = "http://a/"
		}
		if err := c.Do(within(t), &req, new(Response)); kindOfError(err) != Refused {
			t.Errorf("%s: Do = %v, want %v", name, err, Refused)
		}
	}
}

// TestHead reads what is sent, and where it is sent to.
func TestHead(t *testing.T) {
	for _, c := range []struct {
		cfg              Config
		req              Request
		want, addr, name string
	}{
		{Config{}, Request{URL: "http://a"}, "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "a:80", "a"},
		{Config{}, Request{URL: "HTTP://A.B:80/x?y#z"}, "GET /x?y HTTP/1.1\r\nHost: a.b\r\n\r\n", "a.b:80",
			"a.b"},
		{Config{}, Request{URL: "https://[::1]?a/b"}, "GET /?a/b HTTP/1.1\r\nHost: [::1]\r\n\r\n",
			"[::1]:443", "::1"},
		{Config{}, Request{URL: "https://[::1]:8443/", Host: "b"}, "GET / HTTP/1.1\r\nHost: b\r\n\r\n",
			"[::1]:8443", "::1"},
		{Config{UserAgent: "u"}, Request{URL: "http://a:81/", Fields: []Field{{"A", "1"}, {"a", "2"}}},
			"GET / HTTP/1.1\r\nHost: a:81\r\nA: 1\r\na: 2\r\nUser-Agent: u\r\n\r\n", "a:81", "a"},
		{Config{UserAgent: "u", NoKeepAlive: true}, Request{URL: "http://a:/",
			Fields: []Field{{"user-agent", "me"}}},
			"GET / HTTP/1.1\r\nHost: a\r\nuser-agent: me\r\nConnection: close\r\n\r\n", "a:80", "a"},
		{Config{}, Request{Method: "PATCH", URL: "http://a/"},
			"PATCH / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", "a:80", "a"},
	} {
		to, err := parseURL(c.req.URL)
		if err != nil {
			t.Errorf("parseURL(%q): %v", c.req.URL, err)
		}
		head, err := c.req.appendHead(nil, &to, &c.cfg)
		if string(head) != c.want || err != nil {
			t.Errorf("appendHead(%+v) = %q, %v; want %q", c.req, head, err, c.want)
		}
		if addr, name := to.key.address(); addr != c.addr || name != c.name {
			t.Errorf("address of %s: %s and %s, want %s and %s", c.req.URL, addr, name, c.addr, c.name)
		}
	}
}
