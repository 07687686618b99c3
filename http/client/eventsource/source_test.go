// SPDX-License-Identifier: MIT

package eventsource

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"m0serve.dev/http/client"
	"m0serve.dev/http/wire"
)

const opened = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"

// A server gives each connection the next answer and closes it; behind the last
// it says 204. It belongs to a bubble of fake time.
type server struct {
	answers []string
	bytes   bool // one byte a write
	silent  bool // stays open behind its answer

	mu    sync.Mutex
	ids   []string // of the requests, "-" for none
	times []time.Duration
	start time.Time
}

func (s *server) dial(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	go s.serve(far)
	return near, nil
}

func (s *server) serve(c net.Conn) {
	defer c.Close()
	in := bufio.NewReader(c)
	req, err := http.ReadRequest(in)
	if err != nil {
		return
	}
	s.mu.Lock()
	n := len(s.ids)
	id := "-"
	if v, found := req.Header["Last-Event-Id"]; found {
		id = v[0]
	}
	s.ids = append(s.ids, id)
	s.times = append(s.times, time.Since(s.start))
	s.mu.Unlock()
	if req.Header.Get("Accept") != "text/event-stream" || req.Header.Get("Cache-Control") == "" {
		return
	}
	answer := "HTTP/1.1 204 No Content\r\n\r\n"
	if n < len(s.answers) {
		answer = s.answers[n]
	}
	for b := []byte(answer); len(b) > 0; {
		k := len(b)
		if s.bytes {
			k = 1
		}
		if _, err := c.Write(b[:k]); err != nil {
			return
		}
		b = b[k:]
	}
	if s.silent {
		_, _ = in.ReadByte()
	}
}

// open makes a source that reads from s.
func (s *server) open(cfg Config) (*Source, func()) {
	s.start = time.Now()
	c := client.New(client.Config{Dial: s.dial})
	cfg.URL = "http://a/events"
	return New(c, cfg), c.Close
}

// collect writes down what comes, as "id|name|data".
func collect(ctx context.Context, src *Source) (all []string) {
	for e := range src.Events(ctx) {
		all = append(all, e.ID+"|"+e.Name+"|"+e.Data)
	}
	return all
}

// formats are streams and what a client has of them: the cases of the format
// tests of the web platform, written anew. Each has "id|name|data" an event.
var formats = map[string]struct {
	stream string
	want   []string
}{
	"data":           {"data: a\n\n", []string{"|message|a"}},
	"no space":       {"data:a\n\n", []string{"|message|a"}},
	"one space goes": {"data:  a\n\n", []string{"|message| a"}},
	"a tab stays":    {"data:\ta\n\n", []string{"|message|\ta"}},
	"lines":          {"data: a\ndata: b\ndata\n\n", []string{"|message|a\nb\n"}},
	"no colon":       {"data\n\n", []string{"|message|"}},
	"no colon twice": {"data\ndata\n\ndata:x\n\n", []string{"|message|\n",
		"|message|x"}},
	"other fields": {"dat: x\ndataa: x\nDATA: x\n data: x\n\ndata:a\n\n",
		[]string{"|message|a"}},
	"no end, no event": {"data: a\n\ndata: b\n", []string{"|message|a"}},
	"name": {"event: n\ndata: a\n\ndata: b\n\n", []string{"|n|a",
		"|message|b"}},
	"empty name":        {"event: \ndata: a\n\n", []string{"|message|a"}},
	"name without data": {"event: n\n\ndata: a\n\n", []string{"|message|a"}},
	"id": {"id: 1\ndata: a\n\ndata: b\n\n", []string{"1|message|a",
		"1|message|b"}},
	"id without data": {"id: 1\n\ndata: a\n\n", []string{"1|message|a"}},
	"id emptied": {"id: 1\ndata: a\n\nid\ndata: b\n\n", []string{"1|message|a",
		"|message|b"}},
	"id with NUL": {"id: 1\ndata: a\n\nid: \x002\ndata: b\n\n",
		[]string{"1|message|a", "1|message|b"}},
	"NUL in data": {"data: \x00\n\n", []string{"|message|\x00"}},
	"BOM": {"\uFEFFdata: a\n\n\uFEFFdata: b\n\ndata: c\n\n",
		[]string{"|message|a", "|message|c"}},
	"two BOMs":  {"\uFEFF\uFEFFdata: a\n\ndata: b\n\n", []string{"|message|b"}},
	"not UTF-8": {"data: \xff\xc3(\n\n", []string{"|message|\uFFFD\uFFFD("}},
	"UTF-8":     {"data: ok\u2026\n\n", []string{"|message|ok\u2026"}},
	"comments": {"data: 1\r:\x00\n:\r\ndata: 2\n: x\rdata: 3\n:data: no\r\n\n",
		[]string{"|message|1\n2\n3"}},
	"CR":            {"data: a\rdata: b\r\r", []string{"|message|a\nb"}},
	"CRLF":          {"data: a\r\ndata: b\r\n\r\n", []string{"|message|a\nb"}},
	"all line ends": {"data: a\r\ndata\ndata: b\r\n\r", []string{"|message|a\n\nb"}},
	"leading CRLF":  {"\r\n\r\ndata: a\n\n", []string{"|message|a"}},
	"retry that is none": {"retry: 1s\nretry: -1\nretry:\ndata: a\n\n",
		[]string{"|message|a"}},
	"retry does not end a line": {"retry: 1000\ndata: a\n\n", []string{"|message|a"}},
}

// TestFormats delivers each stream whole, byte by byte, and in chunks.
func TestFormats(t *testing.T) {
	for name, f := range formats {
		for _, mode := range []string{"whole", "bytes", "chunks"} {
			t.Run(name+"/"+mode, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					answer := opened + "\r\n" + f.stream
					if mode == "chunks" {
						var chunks []byte
						for i := range len(f.stream) {
							chunks = wire.AppendChunk(chunks, []byte(f.stream[i:i+1]))
						}
						answer = opened + wire.LineChunked + "\r\n" + string(chunks) + wire.LastChunk
					}
					srv := &server{answers: []string{answer}, bytes: mode == "bytes"}
					src, done := srv.open(Config{})
					defer done()
					got := collect(t.Context(), src)
					if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", f.want) || src.Err() != nil {
						t.Errorf("%q is %q, %v; want %q", f.stream, got, src.Err(), f.want)
					}
				})
			})
		}
	}
}

// TestReturns: what is sent and waited for before each return.
func TestReturns(t *testing.T) {
	stream := func(text string) string { return opened + "\r\n" + text }
	cut := opened + wire.LineChunked + "\r\n7\r\ndata: a"
	for _, c := range []struct {
		name    string
		cfg     Config
		answers []string
		ids     string
		least   []time.Duration // between requests; half as much more at most
	}{
		{"a clean end", Config{}, []string{stream("data: a\n\n")}, "- -",
			[]time.Duration{retryDefault}},
		{"an id", Config{}, []string{stream("id: 7\ndata: a\n\n"), stream("data: b\n\n")}, "- 7 7",
			[]time.Duration{retryDefault, retryDefault}},
		{"an id to begin with", Config{LastID: "5"}, []string{stream(": x\n\n")}, "5 5", nil},
		{"an id without data", Config{}, []string{stream("id: 8\n\n")}, "- 8", nil},
		{"an id that is not whole", Config{},
			[]string{stream("id: 7\ndata: a\n\nid: 8\ndata: b\n")},
			"- 7", nil},
		{"an id that is emptied", Config{LastID: "5"}, []string{stream("id\n\n")}, "5 -", nil},
		{"an id in UTF-8", Config{}, []string{stream("id: \u2026\n\n")}, "- \u2026", nil},
		{"retry", Config{}, []string{stream("retry: 1500\n\n"), stream("data: x\n\n")}, "- - -",
			[]time.Duration{1500 * time.Millisecond, 1500 * time.Millisecond}},
		{"retry 0", Config{}, []string{stream("retry: 0\n\n")}, "- -",
			[]time.Duration{retryMinDefault}},
		{"retry for a day", Config{}, []string{stream("retry: 86400000\n\n")}, "- -",
			[]time.Duration{retryMaxDefault}},
		{"cut", Config{}, []string{cut}, "- -", []time.Duration{retryDefault}},
		{"failures in a row", Config{Retry: time.Second, RetryMax: 5 * time.Second},
			[]string{"", "", "", "", "", stream(""), ""}, "- - - - - - - -",
			[]time.Duration{time.Second,
				2 * time.Second, 4 * time.Second, 5 * time.Second, 5 * time.Second, time.Second,
				time.Second}},
		{"a status that passes", Config{Again: func(status int) bool { return status == 503 }},
			[]string{"HTTP/1.1 503 X\r\nContent-Length: 0\r\n\r\n"}, "- -",
			[]time.Duration{retryDefault}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv := &server{answers: c.answers}
				src, done := srv.open(c.cfg)
				defer done()
				if collect(t.Context(), src); src.Err() != nil {
					t.Errorf("Err = %v, want nil", src.Err())
				}
				if got := strings.Join(srv.ids, " "); got != c.ids {
					t.Errorf("Last-Event-ID of the requests: %s, want %s", got, c.ids)
				}
				for i, least := range c.least {
					if got := srv.times[i+1] - srv.times[i]; got < least || got > least*3/2 {
						t.Errorf("return %d behind %v, want %v and up to half more", i+1, got,
							least)
					}
				}
			})
		})
	}
}

func TestJitter(t *testing.T) {
	s := New(nil, Config{Retry: time.Second})
	if lo, hi := s.nextWait(0),
		s.nextWait(0.999); lo != time.Second || hi < 1490*time.Millisecond {
		t.Errorf("nextWait is between %v and %v, want 1s and 1.5s", lo, hi)
	}
}

// TestEnds: what is no event stream is not asked for again.
func TestEnds(t *testing.T) {
	const typed = "Content-Type: text/event-stream\r\n\r\n"
	for answer, want := range map[string]string{
		"HTTP/1.1 204 No Content\r\n\r\n":                                        "",
		"HTTP/1.1 404 X\r\nContent-Length: 0\r\n\r\n":                            "status 404",
		"HTTP/1.1 503 X\r\n" + typed + "data: x\n\n":                             "status 503",
		"HTTP/1.1 301 X\r\nLocation: http://a/\r\nContent-Length: 0\r\n\r\n":     "status 301",
		"HTTP/1.1 206 X\r\n" + typed + "data: x\n\n":                             "status 206",
		"HTTP/1.1 200 X\r\nContent-Type: text/html\r\n\r\ndata: x\n\n":           "no text/event-stream",
		"HTTP/1.1 200\r\nContent-Type: text/event-streams\r\n\r\ndata: x\n\n":    "no text/event-stream",
		"HTTP/1.1 200 X\r\n\r\ndata: x\n\n":                                      "no text/event-stream",
		opened + "\r\ndata: " + strings.Repeat("x", 200) + "\n\n":                "too long",
		"HTTP/1.1 200\r\nContent-Type: Text/Event-Stream; charset=utf-8\r\n\r\n": "",
		"HTTP/1.1 200 X\r\nContent-Type: text/event-stream;\r\n\r\n":             "",
	} {
		synctest.Test(t, func(t *testing.T) {
			srv := &server{answers: []string{answer}}
			src, done := srv.open(Config{EventMax: 100})
			defer done()
			got := collect(t.Context(), src)
			if err := fmt.Sprint(src.Err()); len(got) != 0 || want == "" && src.Err() != nil ||
				!strings.Contains(err, want) {
				t.Errorf("%q: %q, %v; want %q", answer, got, src.Err(), want)
			}
		})
	}
}

// TestLeaving: who leaves the loop goes on behind what was seen, also when more
// had come with it.
func TestLeaving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := &server{answers: []string{opened + "\r\nid: 1\ndata: a\n\nid: 2\ndata: b\n\n"}}
		src, done := srv.open(Config{})
		defer done()
		for e := range src.Events(t.Context()) {
			if e.Data != "a" {
				t.Errorf("got %q, want %q", e.Data, "a")
			}
			break
		}
		if src.LastID() != "1" || src.Err() != nil {
			t.Errorf("LastID %q, Err %v; want 1 and nil", src.LastID(), src.Err())
		}
		collect(t.Context(), src)
		if got := strings.Join(srv.ids, " "); got != "- 1" {
			t.Errorf("Last-Event-ID of the requests: %s, want - 1", got)
		}
	})
}

// TestContextEndsTheEvents at once: in the middle of a stream, and of a wait.
func TestContextEndsTheEvents(t *testing.T) {
	why := errors.New("enough")
	for name, srv := range map[string]*server{
		"stream": {answers: []string{opened + "\r\ndata: a\n\n"}, silent: true},
		"wait":   {answers: []string{opened + "\r\ndata: a\n\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				src, done := srv.open(Config{})
				defer done()
				time.AfterFunc(time.Second, func() { cancel(why) })
				got := collect(ctx, src)
				if len(got) != 1 || src.Err() != why || time.Since(srv.start) != time.Second {
					t.Errorf("%q, %v behind %v; want one event and %v behind 1s", got, src.Err(),
						time.Since(srv.start), why)
				}
			})
		})
	}
}

// TestQuiet: a stream that is silent for too long is lost, one with a heartbeat
// is not.
func TestQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := &server{answers: []string{opened + "\r\n"}, silent: true}
		var causes []error
		src, done := srv.open(Config{Quiet: 15 * time.Second, Retry: time.Second,
			Lost: func(cause error, _ time.Duration) { causes = append(causes, cause) }})
		defer done()
		collect(t.Context(), src)
		var e *client.Error
		if len(causes) != 1 || !errors.As(causes[0], &e) || e.Kind != client.Timeout {
			t.Errorf("lost by %v, want one timeout", causes)
		}
		if got := srv.times[1]; got < 16*time.Second || got > 16500*time.Millisecond {
			t.Errorf("came back behind %v, want 16s", got)
		}
	})
}
