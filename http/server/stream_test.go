// SPDX-License-Identifier: MIT

//go:build linux

package server_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"m0serve.dev/http/server"
)

func stdServer(t testing.TB, h http.HandlerFunc) (*server.Server, string) {
	t.Helper()
	return start(t, server.Config{HTTP: h})
}

func TestFlushReachesThePeerWhileTheHandlerWaits(t *testing.T) {
	seen := make(chan struct{})
	_, addr := stdServer(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "first")
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Errorf("Flush = %v", err)
		}
		<-seen
		_, _ = io.WriteString(w, "second")
	})
	res, err := http.Get("http://" + addr)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	first := make([]byte, 5)
	if _, err := io.ReadFull(res.Body, first); err != nil || string(first) != "first" {
		t.Fatalf("first piece = %q, %v", first, err)
	}
	close(seen)
	rest, err := io.ReadAll(res.Body)
	if err != nil || string(rest) != "second" {
		t.Errorf("rest = %q, %v, want second", rest, err)
	}
	if len(res.TransferEncoding) != 1 {
		t.Errorf("TransferEncoding = %v, want chunked", res.TransferEncoding)
	}
}

func TestBodyIsStreamedBothWays(t *testing.T) {
	_, addr := stdServer(t, func(w http.ResponseWriter, r *http.Request) {
		buf := make([]byte, 1000)
		for {
			n, err := r.Body.Read(buf)
			_, _ = w.Write(buf[:n])
			w.(http.Flusher).Flush()
			if err != nil {
				return
			}
		}
	})
	in, out := io.Pipe()
	res := make(chan *http.Response, 1)
	go func() {
		r, err := http.Post("http://"+addr, "text/plain", in)
		if err != nil {
			t.Errorf("Post = %v", err)
			close(res)
			return
		}
		res <- r
	}()
	r := io.Reader(nil)
	for i := range 5 {
		word := fmt.Sprintf("piece %d", i)
		_, _ = io.WriteString(out, word)
		if r == nil {
			answer := <-res
			if answer == nil {
				return
			}
			defer answer.Body.Close()
			r = answer.Body
		}
		got := make([]byte, len(word))
		if _, err := io.ReadFull(r, got); err != nil || string(got) != word {
			t.Fatalf("echo = %q, %v, want %q before the body ends", got, err, word)
		}
	}
	_ = out.Close()
	if rest, err := io.ReadAll(r); err != nil || len(rest) > 0 {
		t.Errorf("behind the body: %q, %v", rest, err)
	}
}

func TestLargeBodiesBothWays(t *testing.T) {
	_, addr := stdServer(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("body: %v", err)
		}
		_, _ = w.Write(body)
	})
	sent := bytes.Repeat([]byte("0123456789abcdef"), 300_000)
	for _, size := range []int{64<<10 - 1, 64 << 10, 64<<10 + 1, 256 << 10, 256<<10 + 1, len(sent)} {
		res, err := http.Post("http://"+addr, "text/plain", bytes.NewReader(sent[:size]))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || !bytes.Equal(got, sent[:size]) {
			t.Errorf("echo of %d bytes = %d bytes, %v", size, len(got), err)
		}
	}
}

func TestTrailersBothWays(t *testing.T) {
	_, addr := stdServer(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "X-Sum")
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(body)
		w.Header().Set("X-Sum", "seen "+r.Trailer.Get("X-In"))
		w.Header().Set(http.TrailerPrefix+"X-More", "late")
	})
	c, r := dial(t, addr)
	send(t, c, "POST / HTTP/1.1\r\nHost: a\r\nTrailer: X-In\r\nTransfer-Encoding: chunked\r\n\r\n"+
		"5\r\nhello\r\n0\r\nX-In: yes\r\n\r\n")
	res, body := answer(t, r, "POST")
	if sum, more := res.Trailer.Get("X-Sum"), res.Trailer.Get("X-More"); body != "hello" ||
		sum != "seen yes" || more != "late" {
		t.Errorf("answer = %q, trailers %q and %q, want hello, seen yes, late", body, sum, more)
	}
}

// A header of common fields is not walked through, so what joins them must be seen.
func TestTrailersJoinCommonFields(t *testing.T) {
	for _, before := range [][]string{nil, {"Content-Type"}, {"Content-Type", "X-Before"}} {
		_, addr := stdServer(t, func(w http.ResponseWriter, _ *http.Request) {
			for _, name := range before {
				w.Header().Set(name, "text/css")
			}
			_, _ = io.WriteString(w, "hello")
			w.Header().Set(http.TrailerPrefix+"X-More", "late")
		})
		c, r := dial(t, addr)
		send(t, c, helloRequest)
		res, body := answer(t, r, "GET")
		if more := res.Trailer.Get("X-More"); body != "hello" || more != "late" {
			t.Errorf("with %q: answer = %q, trailer %q, want hello, late", before, body, more)
		}
		for _, name := range before {
			if got := res.Header.Get(name); got != "text/css" {
				t.Errorf("with %q: %s = %q, want text/css", before, name, got)
			}
		}
	}
}

func TestContinueIsSentWhenTheBodyIsRead(t *testing.T) {
	_, addr := stdServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/noread" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(body)
	})
	const head = " HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n"
	c, r := dial(t, addr)
	send(t, c, "POST /read"+head)
	if line, err := r.ReadString('\n'); err != nil || line != "HTTP/1.1 100 Continue\r\n" {
		t.Fatalf("first line = %q, %v, want 100 Continue", line, err)
	}
	if _, err := r.Discard(2); err != nil {
		t.Fatal(err)
	}
	send(t, c, "hello")
	if res, body := answer(t, r, "POST"); body != "hello" || res.Close {
		t.Errorf("answer = %q, close %v, want hello and an open connection", body, res.Close)
	}
	send(t, c, "POST /noread"+head)
	if res, _ := answer(t, r, "POST"); res.StatusCode != 403 || !res.Close {
		t.Errorf("answer = %d, close %v, want 403 without 100, and a close", res.StatusCode, res.Close)
	}
}

func TestInformational(t *testing.T) {
	_, addr := stdServer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</a.css>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusNoContent)
	})
	c, r := dial(t, addr)
	send(t, c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	if res, _ := answer(t, r, "GET"); res.StatusCode != 103 || res.Header.Get("Link") == "" {
		t.Errorf("first answer = %d %v, want 103 with Link", res.StatusCode, res.Header)
	}
	if res, _ := answer(t, r, "GET"); res.StatusCode != 204 || res.ContentLength > 0 {
		t.Errorf("second answer = %d, want 204", res.StatusCode)
	}
}

// TestAnswerRules: what RFC 9110 says of HEAD, 204, 304, and what HTTP/1.0 gets.
func TestAnswerRules(t *testing.T) {
	_, addr := stdServer(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/204", "/304":
			var code int
			_, _ = fmt.Sscanf(r.URL.Path, "/%d", &code)
			w.WriteHeader(code)
			if _, err := io.WriteString(w, "x"); !errors.Is(err, http.ErrBodyNotAllowed) {
				t.Errorf("Write on %d = %v, want ErrBodyNotAllowed", code, err)
			}
		case "/stream":
			_, _ = io.WriteString(w, "a")
			w.(http.Flusher).Flush()
			_, _ = io.WriteString(w, "b")
		case "/short":
			w.Header().Set("Content-Length", "10")
			_, _ = io.WriteString(w, "abc")
		case "/long":
			w.Header().Set("Content-Length", "3")
			if _, err := io.WriteString(w, "abcd"); !errors.Is(err, http.ErrContentLength) {
				t.Errorf("Write beyond the length = %v, want ErrContentLength", err)
			}
			_, _ = io.WriteString(w, "abc")
		default:
			_, _ = io.WriteString(w, "body")
		}
	})
	for _, tt := range []struct{ request, want, lack string }{
		{"HEAD / HTTP/1.1\r\nHost: a", "Content-Length: 4\r\n", "body"},
		{"GET /204 HTTP/1.1\r\nHost: a", "HTTP/1.1 204 No Content\r\n", "Content-Length"},
		{"GET /304 HTTP/1.1\r\nHost: a", "HTTP/1.1 304 Not Modified\r\n", "Content-Length"},
		{"GET / HTTP/1.0\r\nConnection: keep-alive", "Connection: keep-alive\r\n", "chunked"},
		{"GET / HTTP/1.0", "Connection: close\r\n", "chunked"},
		{"GET /stream HTTP/1.0\r\nConnection: keep-alive", "\r\n\r\nab", "chunked"},
		{"HEAD /stream HTTP/1.1\r\nHost: a", "HTTP/1.1 200", "\r\n\r\n1"},
		{"GET /short HTTP/1.1\r\nHost: a", "Content-Length: 10\r\n", "HTTP/1.1 400"},
		{"GET /long HTTP/1.1\r\nHost: a", "\r\n\r\nabc", "abcd"},
		{"OPTIONS * HTTP/1.1\r\nHost: a", "Content-Length: 0\r\n", "body"},
	} {
		c, r := dial(t, addr)
		send(t, c, tt.request+"\r\n\r\n")
		_ = c.(*net.TCPConn).CloseWrite()
		raw, err := io.ReadAll(r)
		if err != nil {
			t.Errorf("%q: %v", tt.request, err)
		}
		if !strings.Contains(string(raw), tt.want) || strings.Contains(string(raw), tt.lack) {
			t.Errorf("%q answered %q, want %q in it and not %q", tt.request, raw, tt.want, tt.lack)
		}
	}
}

func TestPanicsAndGoexit(t *testing.T) {
	s, addr := start(t, server.Config{Log: quietLog(), HTTP: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Has("late") {
				time.Sleep(5 * time.Millisecond) // until the loop is taken
			}
			if r.URL.Query().Has("flush") {
				_, _ = io.WriteString(w, "begun")
				w.(http.Flusher).Flush()
			}
			switch r.URL.Path {
			case "/panic":
				panic("on purpose")
			case "/abort":
				panic(http.ErrAbortHandler)
			case "/goexit":
				runtime.Goexit()
			}
			_, _ = io.WriteString(w, "fine")
		})})
	for _, query := range []string{"", "?late", "?flush", "?late&flush"} {
		for _, path := range []string{"/panic", "/abort", "/goexit"} {
			c, r := dial(t, addr)
			send(t, c, "GET /fine HTTP/1.1\r\nHost: a\r\n\r\nGET "+path+query+" HTTP/1.1\r\nHost: a\r\n\r\n")
			if _, body := answer(t, r, "GET"); body != "fine" {
				t.Errorf("answer before %s = %q, want fine", path, body)
			}
			res, err := http.ReadResponse(r, nil)
			var body []byte
			if err == nil {
				body, err = io.ReadAll(res.Body)
			}
			whole := path == "/panic" && !strings.Contains(query, "flush")
			switch {
			case whole && (err != nil || res.StatusCode != 500):
				t.Errorf("%s%s = %v, %v, want a whole 500", path, query, res, err)
			case !whole && (err == nil || errors.Is(err, os.ErrDeadlineExceeded)):
				t.Errorf("%s%s = %q, %v, want a broken answer", path, query, body, err)
			}
		}
	}
	if got := s.Stats().Panics; got != 4 {
		t.Errorf("Stats.Panics = %d, want 4", got)
	}
	c, r := dial(t, addr)
	send(t, c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	if _, body := answer(t, r, "GET"); body != "fine" {
		t.Errorf("answer behind all = %q, want fine", body)
	}
}

func TestContextEndsWithTheConnection(t *testing.T) {
	cause := make(chan error, 1)
	started := make(chan struct{}, 1)
	_, addr := stdServer(t, func(w http.ResponseWriter, r *http.Request) {
		derived, cancel := context.WithCancel(r.Context())
		defer cancel()
		started <- struct{}{}
		select {
		case <-derived.Done():
			cause <- derived.Err()
		case <-time.After(5 * time.Second):
			cause <- errors.New("not cancelled")
		}
	})
	for _, how := range []string{"RST", "FIN", "half-close"} {
		c, r := dial(t, addr)
		send(t, c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
		<-started
		switch how {
		case "RST":
			_ = c.(*net.TCPConn).SetLinger(0)
			_ = c.Close()
		case "FIN":
			_ = c.Close()
		default:
			_ = c.(*net.TCPConn).CloseWrite()
		}
		if err := <-cause; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: context = %v, want Canceled", how, err)
		}
		if how == "half-close" {
			if res, _ := answer(t, r, "GET"); res.StatusCode != 200 {
				t.Errorf("half-closed client got %d, want its answer", res.StatusCode)
			}
		}
	}
}

func TestContextEndsWithTheHandlerAndHasValues(t *testing.T) {
	got := make(chan context.Context, 1)
	_, addr := stdServer(t, func(w http.ResponseWriter, r *http.Request) {
		ctx := r.Context()
		if ctx.Value(http.ServerContextKey) == nil {
			t.Error("no ServerContextKey")
		}
		if local, ok := ctx.Value(http.LocalAddrContextKey).(net.Addr); !ok {
			t.Errorf("LocalAddrContextKey = %v", local)
		}
		got <- ctx
	})
	c, r := dial(t, addr)
	send(t, c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	answer(t, r, "GET")
	select {
	case <-(<-got).Done():
	case <-time.After(5 * time.Second):
		t.Error("the context outlives the handler")
	}
}

func TestHijack(t *testing.T) {
	_, addr := stdServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/hijack" {
			_, _ = io.WriteString(w, "before")
			return
		}
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Errorf("Hijack = %v", err)
			return
		}
		defer conn.Close()
		if _, err := io.WriteString(w, "x"); !errors.Is(err, http.ErrHijacked) {
			t.Errorf("Write behind Hijack = %v, want ErrHijacked", err)
		}
		for range 2 {
			line, _ := rw.ReadString('\n')
			_, _ = rw.WriteString("echo " + line)
			_ = rw.Flush()
		}
	})
	c, r := dial(t, addr)
	send(t, c, "GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /hijack HTTP/1.1\r\nHost: a\r\n\r\nearly\n")
	if _, body := answer(t, r, "GET"); body != "before" {
		t.Errorf("answer before = %q", body)
	}
	for _, word := range []string{"early\n", "late\n"} {
		if word == "late\n" {
			send(t, c, word)
		}
		if line, err := r.ReadString('\n'); err != nil || line != "echo "+word {
			t.Errorf("line = %q, %v, want echo %q", line, err, word)
		}
	}
	if _, err := r.ReadByte(); err != io.EOF {
		t.Errorf("behind the end: %v, want EOF", err)
	}
}

func TestReadDeadlineOfTheHandler(t *testing.T) {
	got := make(chan error, 1)
	_, addr := stdServer(t, func(w http.ResponseWriter, r *http.Request) {
		rc := http.NewResponseController(w)
		if err := rc.SetReadDeadline(time.Now().Add(30 * time.Millisecond)); err != nil {
			t.Errorf("SetReadDeadline = %v", err)
		}
		_, err := io.ReadAll(r.Body)
		got <- err
	})
	c, r := dial(t, addr)
	send(t, c, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 200000\r\n\r\nbegin")
	if err := <-got; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Read = %v, want ErrDeadlineExceeded", err)
	}
	answer(t, r, "POST")
}

func TestWriteDeadlineOfTheHandler(t *testing.T) {
	got := make(chan error, 1)
	_, addr := stdServer(t, func(w http.ResponseWriter, r *http.Request) {
		rc := http.NewResponseController(w)
		if err := rc.SetWriteDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
			t.Errorf("SetWriteDeadline = %v", err)
		}
		var err error
		for err == nil { // more than the kernel takes
			_, err = w.Write(make([]byte, 1<<20))
		}
		got <- err
	})
	c, _ := dial(t, addr)
	send(t, c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	if err := <-got; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Write = %v, want ErrDeadlineExceeded", err)
	}
}

func TestTruncatedBodyIsAnError(t *testing.T) {
	got := make(chan error, 1)
	_, addr := stdServer(t, func(w http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(r.Body)
		got <- err
	})
	c, r := dial(t, addr)
	send(t, c, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n"+
		strings.Repeat("x", 70_000))
	_ = c.(*net.TCPConn).CloseWrite()
	if err := <-got; !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("Read = %v, want ErrUnexpectedEOF", err)
	}
	if res, _ := answer(t, r, "POST"); !res.Close {
		t.Error("the connection goes on behind a truncated body")
	}
}

func TestUnixSocket(t *testing.T) {
	s, err := server.New(server.Config{Handler: server.HandlerFunc(hello)})
	if err != nil {
		t.Fatal(err)
	}
	path := t.TempDir() + "/s"
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	send(t, c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	if _, body := answer(t, bufio.NewReader(c), "GET"); body != "Hello, World!" {
		t.Errorf("body = %q", body)
	}
	_ = s.Close()
	if err := <-served; !errors.Is(err, server.ErrClosed) {
		t.Errorf("Serve = %v, want ErrClosed", err)
	}
}
