// SPDX-License-Identifier: MIT

//go:build unix

package wsgibare

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"m0serve.dev/apps/internal/rawhttp"
)

// A talk is a case that takes more than a request and its answer.
type talk struct {
	name string
	run  func(t *testing.T, s *suite, id string)
}

var talks = []talk{
	{"environ-spoiled", talkEnvironSpoiled},
	{"environ-fields-of-before", talkFieldsOfBefore},
	{"environ-port-of-the-client", talkClientPort},
	{"environ-port-of-the-server", talkServerPort},
	{"pipelined", talkPipelined},
	{"pipelined-bodies", talkPipelinedBodies},
	{"pipelined-slow-first", talkPipelinedSlowFirst},
	{"pipelined-behind-close", talkPipelinedBehindClose},
	{"pipelined-behind-an-error", talkPipelinedBehindError},
	{"pipelined-behind-ignored-body", talkPipelinedBehindIgnored},
	{"pipelined-streams", talkPipelinedStreams},
	{"request-in-bytes", talkBytes},
	{"half-closed", talkHalfClosed},
	{"continue-when-read", talkContinue},
	{"continue-large", talkContinueLarge},
	{"continue-not-when-refused", talkContinueRefused},
	{"continue-not-in-http10", talkContinueOld},
	{"continue-body-at-once", talkContinueAtOnce},
	{"cut-length", talkCut(request("POST", "/body/record?id=$ID", "HTTP/1.1",
		[]string{"Content-Length: 10"}, "12345"))},
	{"cut-length-large", talkCut(request("POST", "/body/record?id=$ID", "HTTP/1.1",
		[]string{"Content-Length: 9000000"}, pattern(2_000_000)))},
	{"cut-chunk", talkCut(encoded("/body/record?id=$ID", "a\r\n12345"))},
	{"cut-chunks", talkCut(encoded("/body/record?id=$ID", "5\r\n12345\r\n"))},
	{"cut-last-chunk", talkCut(encoded("/body/record?id=$ID", "5\r\n12345\r\n0\r\n"))},
	{"cut-chunks-large", talkCut(encoded("/body/record?id=$ID",
		strings.Repeat("ffff\r\n"+pattern(0xffff)+"\r\n", 40)))},
	{"broken-chunk-large", talkBrokenLate},
	{"body-before-its-end", talkBodyStreams},
	{"body-kept", talkBodyKept},
	{"stream-piece-by-piece", talkGated},
	{"write-at-once", talkWriteAtOnce},
	{"client-leaves-a-stream", talkLeaves((*rawhttp.Conn).Close)},
	{"client-resets-a-stream", talkLeaves((*rawhttp.Conn).Reset)},
	{"client-leaves-between-pieces", talkLeavesBetween},
	{"client-does-not-read", talkDoesNotRead},
	{"many-clients", talkManyClients},
	{"threads-overlap", talkOverlap},
	{"thread-local", talkThreadLocal},
	{"no-request-is-mixed-up", talkNotMixedUp},
	{"like-the-last", talkLikeTheLast},
}

// on puts the id of the talk into a request.
func on(id, request string) string { return strings.ReplaceAll(request, "$ID", id) }

func talkEnvironSpoiled(t *testing.T, s *suite, id string) {
	c := s.dial(t)
	c.Send(get("/environ/spoil", "X-Old: 1"))
	expect(t, c, "GET", "200 OK", "spoiled")
	c.Send(get("/environ"))
	r := read(t, c, "GET")
	for _, fault := range checkEntries(r.Body, entries{
		"BARE_SPOILED": "-", "HTTP_X_OLD": "-", "PATH_INFO": `"/environ"`,
		"wsgi.multithread": "true", "REMOTE_ADDR": `"127.0.0.1"`,
	}) {
		t.Error(fault)
	}
}

func talkFieldsOfBefore(t *testing.T, s *suite, id string) {
	c := s.dial(t)
	c.Send(post("/environ?a=b", "x", "X-Old: 1", "Content-Type: a/b", "Cookie: a=b"))
	read(t, c, "POST")
	c.Send(get("/environ"))
	r := read(t, c, "GET")
	for _, fault := range checkEntries(r.Body, entries{
		"HTTP_X_OLD": "-", "HTTP_COOKIE": "-", "QUERY_STRING": `""`,
		"CONTENT_TYPE": `/^(""|)$/`, "CONTENT_LENGTH": `/^(""|)$/`,
	}) {
		t.Error(fault)
	}
}

func talkClientPort(t *testing.T, s *suite, id string) {
	c := s.dial(t)
	_, port, _ := strings.Cut(c.LocalAddr().String(), ":")
	c.Send(get("/environ"))
	r := read(t, c, "GET")
	for _, fault := range checkEntries(r.Body, entries{"REMOTE_PORT": strconv.Quote(port)}) {
		t.Error(fault)
	}
}

func talkServerPort(t *testing.T, s *suite, id string) {
	c := s.dial(t)
	_, port, _ := strings.Cut(c.RemoteAddr().String(), ":")
	c.Send(get("/environ"))
	r := read(t, c, "GET")
	for _, fault := range checkEntries(r.Body, entries{"SERVER_PORT": strconv.Quote(port)}) {
		t.Error(fault)
	}
}

func talkPipelined(t *testing.T, s *suite, id string) {
	c := s.dial(t)
	var all strings.Builder
	for i := range 50 {
		all.WriteString(get(fmt.Sprintf("/status?s=%d+P&body=%d", 210+i, i)))
	}
	c.Send(all.String())
	for i := range 50 {
		expect(t, c, "GET", fmt.Sprintf("%d P", 210+i), strconv.Itoa(i))
	}
}

func talkPipelinedBodies(t *testing.T, s *suite, id string) {
	c := s.dial(t)
	c.Send(post("/body/echo", "one") + chunks("/body/echo", "t", "wo") + get("/hello") +
		post("/body/echo", "") + post("/body/echo", "three"))
	for _, body := range []string{"one", "two", "hello", "", "three"} {
		expect(t, c, "POST", "200 OK", body)
	}
}

func talkPipelinedSlowFirst(t *testing.T, s *suite, id string) {
	c := s.dial(t)
	c.Send(get("/sleep?ms=100") + get("/hello") + get("/spin?ms=20") + get("/hello"))
	for _, body := range []string{"slept", "hello", "spun", "hello"} {
		expect(t, c, "GET", "200 OK", body)
	}
}

func talkPipelinedBehindClose(t *testing.T, s *suite, id string) {
	c := s.dial(t)
	c.Send(get("/hello", "Connection: close") + on(id, get("/sleep?id=$ID")))
	expect(t, c, "GET", "200 OK", "hello")
	if err := c.Ended(); err != nil {
		t.Error(err)
	}
	if events := s.events(t, id); events != "" {
		t.Errorf("a request behind the last one was served: %q", events)
	}
}

func talkPipelinedBehindError(t *testing.T, s *suite, id string) {
	c := s.dial(t)
	c.Send(get("/hello") + "GET /bad one HTTP/1.1\r\n\r\n" + on(id, get("/sleep?id=$ID")))
	expect(t, c, "GET", "200 OK", "hello")
	if r := read(t, c, "GET"); r.Status != "400 Bad Request" {
		t.Errorf("the bad request: %s, want 400", r.Status)
	}
	if err := c.Ended(); err != nil {
		t.Error(err)
	}
	if events := s.events(t, id); events != "" {
		t.Errorf("a request behind a bad one was served: %q", events)
	}
}

func talkPipelinedBehindIgnored(t *testing.T, s *suite, id string) {
	c := s.dial(t)
	body := get("/status?s=200+OK&body=smuggled")
	c.Send(post("/body/ignore", body) + chunks("/body/ignore", body) + get("/hello"))
	for _, want := range []string{"ignored", "ignored", "hello"} {
		expect(t, c, "POST", "200 OK", want)
	}
}

func talkPipelinedStreams(t *testing.T, s *suite, id string) {
	c := s.dial(t)
	c.Send(get("/chatty?n=3") + get("/start/lazy") + get("/write?w=a&r=b") + get("/chatty?n=2"))
	expect(t, c, "GET", "200 OK", "000000010002")
	expect(t, c, "GET", "202 Lazy", "lazy pieces")
	expect(t, c, "GET", "200 OK", "ab")
	expect(t, c, "GET", "200 OK", "00000001")
}

func talkBytes(t *testing.T, s *suite, id string) {
	c := s.dial(t)
	for _, b := range post("/body/echo", "abc", "X-A: b") {
		c.Send(string(b))
	}
	expect(t, c, "POST", "200 OK", "abc")
}

// A client that has sent all and ends its side is answered.
func talkHalfClosed(t *testing.T, s *suite, id string) {
	c := s.dial(t)
	c.Send(post("/body/echo", "abc"))
	if err := c.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	expect(t, c, "POST", "200 OK", "abc")
	if err := c.Ended(); err != nil {
		t.Error(err)
	}
}

// expectContinue reads the one bare answer 100 and sends the body then.
func expectContinue(t *testing.T, c *rawhttp.Conn, body string) {
	t.Helper()
	r, err := c.ReadHead("POST")
	if err != nil || r.Status != "100 Continue" || len(r.Fields) > 0 {
		t.Fatalf("got %+v, %v, want a bare 100 Continue", r, err)
	}
	go c.Send(body)
}

func talkContinue(t *testing.T, s *suite, id string) {
	for _, path := range []string{"/body/echo", "/body/elsewhere"} {
		c := s.dial(t)
		c.Send(request("POST", path, "HTTP/1.1",
			[]string{"Content-Length: 3", "Expect: 100-continue"}, ""))
		expectContinue(t, c, "abc")
		r := read(t, c, "POST")
		if r.Status != "200 OK" || r.Continues != 0 {
			t.Errorf("%s: %s behind %d more answers 100", path, r.Status, r.Continues)
		}
		for _, fault := range alive(c) {
			t.Error(fault)
		}
	}
}

func talkContinueLarge(t *testing.T, s *suite, id string) {
	c := s.dial(t)
	body := pattern(3 << 20)
	c.Send(request("POST", "/body/digest", "HTTP/1.1",
		[]string{fmt.Sprintf("Content-Length: %d", len(body)), "Expect: 100-Continue"}, ""))
	expectContinue(t, c, body)
	expect(t, c, "POST", "200 OK", digest(body))
}

// An application that never reads is not told the body: the final answer comes
// alone, and the connection ends, as nobody knows whether the body follows.
func talkContinueRefused(t *testing.T, s *suite, id string) {
	c := s.dial(t)
	c.Send(request("POST", "/body/refuse", "HTTP/1.1",
		[]string{"Content-Length: 9000000", "Expect: 100-continue"}, ""))
	r := expect(t, c, "POST", "413 Content Too Large", "too large")
	if r.Continues != 0 {
		t.Errorf("%d answers 100 before the refusal, want none", r.Continues)
	}
	if err := c.Ended(); err != nil {
		t.Error(err)
	}
}

func talkContinueOld(t *testing.T, s *suite, id string) {
	c := s.dial(t)
	c.Send(request("POST", "/body/echo", "HTTP/1.0",
		[]string{"Content-Length: 3", "Expect: 100-continue"}, "abc"))
	if r := expect(t, c, "POST", "200 OK", "abc"); r.Continues != 0 {
		t.Errorf("%d answers 100 to HTTP/1.0, want none", r.Continues)
	}
}

func talkContinueAtOnce(t *testing.T, s *suite, id string) {
	c := s.dial(t)
	c.Send(post("/body/echo", "abc", "Expect: 100-continue") + get("/hello"))
	expect(t, c, "POST", "200 OK", "abc")
	expect(t, c, "GET", "200 OK", "hello")
}

func talkManyClients(t *testing.T, s *suite, id string) {
	var wg sync.WaitGroup
	faults := make(chan string, 64)
	for i := range 32 {
		wg.Go(func() {
			c, err := rawhttp.Dial(s.p.URL)
			if err != nil {
				faults <- err.Error()
				return
			}
			defer c.Close()
			for j := range 20 {
				want := fmt.Sprintf("client %d request %d", i, j)
				c.Send(post("/body/echo", want))
				r, err := c.Read("POST")
				if err != nil || string(r.Body) != want {
					faults <- fmt.Sprintf("%q: %v, %v", want, r, err)
					return
				}
			}
		})
	}
	wg.Wait()
	close(faults)
	for f := range faults {
		t.Error(f)
	}
}

// Two slow views on two threads of a worker take the time of one.
func talkOverlap(t *testing.T, s *suite, id string) {
	begin := time.Now()
	var wg sync.WaitGroup
	for range 2 {
		c := s.dial(t)
		c.Send(get("/sleep?ms=1500"))
		wg.Go(func() { _, _ = c.Read("GET") })
	}
	wg.Wait()
	if took := time.Since(begin); took < 1500*time.Millisecond || took > 2900*time.Millisecond {
		t.Errorf("two views of 1.5 s took %v, want the time of one", took)
	}
}

// What a thread keeps for itself lives as long as the thread: a thread is seen again
// with its count, and there are no more threads than were asked for.
func talkThreadLocal(t *testing.T, s *suite, id string) {
	counts := map[string]int{}
	c := s.dial(t)
	for range 40 {
		c.Send(get("/local"))
		r := read(t, c, "GET")
		thread, count, ok := strings.Cut(strings.Trim(string(r.Body), "[]"), ", ")
		n, err := strconv.Atoi(count)
		if !ok || err != nil {
			t.Fatalf("/local: %q", r.Body)
		}
		if n <= counts[thread] {
			t.Fatalf("thread %s counts %d behind %d", thread, n, counts[thread])
		}
		counts[thread] = n
	}
	if len(counts) > 4 {
		t.Errorf("%d threads served, want at most 4", len(counts))
	}
}

// Answers belong to their requests while slow, quick, streamed and failing ones of
// many connections are under way.
func talkNotMixedUp(t *testing.T, s *suite, id string) {
	paths := []string{
		"/sleep?ms=3", "/status?s=201+A&body=%d", "/chatty?n=2", "/fail?at=middle",
		"/spin?ms=1", "/status?s=202+B&body=%d", "/start/lazy", "/fail",
	}
	bodies := []string{"slept", "%d", "00000001", "one ", "spun", "%d", "lazy pieces", ""}
	var wg sync.WaitGroup
	faults := make(chan string, 64)
	for i := range 8 {
		wg.Go(func() {
			var c *rawhttp.Conn
			for j := range 40 {
				k := (i + j) % len(paths)
				if c == nil {
					var err error
					if c, err = rawhttp.Dial(s.p.URL); err != nil {
						faults <- err.Error()
						return
					}
				}
				number := strconv.Itoa(1000*i + j)
				c.Send(get(strings.ReplaceAll(paths[k], "%d", number)))
				r, err := c.Read("GET")
				want := strings.ReplaceAll(bodies[k], "%d", number)
				if r == nil || want != "" && string(r.Body) != want ||
					err != nil && !errors.Is(err, rawhttp.ErrCut) {
					faults <- fmt.Sprintf("%s: %+v, %v, want %q", paths[k], r, err, want)
					return
				}
				if err != nil || strings.EqualFold(r.Get("Connection"), "close") {
					_ = c.Close()
					c = nil
				}
			}
			if c != nil {
				_ = c.Close()
			}
		})
	}
	wg.Wait()
	close(faults)
	for f := range faults {
		t.Error(f)
	}
}
