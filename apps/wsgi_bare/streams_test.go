// SPDX-License-Identifier: MIT

//go:build unix

package wsgibare

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"m0serve.dev/apps/internal/rawhttp"
)

// talkCut sends a part of a request and leaves: the application must not take it
// for the whole.
func talkCut(part string) func(*testing.T, *suite, string) {
	return func(t *testing.T, s *suite, id string) {
		c := s.dial(t)
		c.Send(on(id, part))
		if err := c.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		r, err := c.Read("POST")
		if err == nil && strings.HasPrefix(r.Status, "2") {
			t.Errorf("a body that was cut is answered %s %.100q", r.Status, r.Body)
		}
		if err := c.Ended(); err != nil {
			t.Error(err)
		}
		s.notComplete(t, id)
	}
}

// notComplete makes sure that the application did not see a whole body. A request
// on another connection orders the look behind what is under way.
func (s *suite) notComplete(t *testing.T, id string) {
	t.Helper()
	deadline := time.Now().Add(rawhttp.Patience)
	for s.events(t, id) == "called" && time.Now().Before(deadline) {
		time.Sleep(2 * time.Millisecond)
	}
	if events := s.events(t, id); events != "" && events != "called,error" {
		t.Errorf("the application saw %q, want nothing or an error", events)
	}
}

func talkBrokenLate(t *testing.T, s *suite, id string) {
	c := s.dial(t)
	body := strings.Repeat("ffff\r\n"+pattern(0xffff)+"\r\n", 40) + "oops\r\n"
	c.Send(on(id, encoded("/body/record?id=$ID", body)))
	r, err := c.Read("POST")
	if err == nil && strings.HasPrefix(r.Status, "2") {
		t.Errorf("a broken body is answered %s %.100q", r.Status, r.Body)
	}
	if err := c.Ended(); err != nil {
		t.Error(err)
	}
	s.notComplete(t, id)
}

// A large body reaches the application while it is sent, and what it answers
// meanwhile reaches the client.
func talkBodyStreams(t *testing.T, s *suite, id string) {
	c := s.dial(t)
	half := pattern(4 << 20)
	c.Send(request("POST", "/body/echo/pieces", "HTTP/1.1",
		[]string{fmt.Sprintf("Content-Length: %d", 2*len(half))}, ""))
	go c.Send(half)
	r, err := c.ReadHead("POST")
	if err != nil || r.Status != "200 OK" || r.Framing != rawhttp.Chunked {
		t.Fatalf("head before the body was sent: %+v, %v", r, err)
	}
	var got strings.Builder
	for got.Len() < len(half)/2 {
		piece, err := c.Piece()
		if err != nil {
			t.Fatalf("behind %d bytes: %v", got.Len(), err)
		}
		got.WriteString(piece)
	}
	go c.Send(half)
	for got.Len() < 2*len(half) {
		piece, err := c.Piece()
		if err != nil {
			t.Fatalf("behind %d bytes: %v", got.Len(), err)
		}
		got.WriteString(piece)
	}
	if got.String() != half+half {
		t.Error("the body came back changed")
	}
}

func talkBodyKept(t *testing.T, s *suite, id string) {
	c := s.dial(t)
	c.Send(post("/body/keep", "abc") + get("/hello"))
	expect(t, c, "POST", "200 OK", "kept")
	expect(t, c, "GET", "200 OK", "hello")
	c.Send(get("/body/kept") + get("/hello"))
	if r := read(t, c, "GET"); r.Status != "200 OK" {
		t.Errorf("reading the body of before: %s %q, want 200 whatever it gives", r.Status, r.Body)
	}
	expect(t, c, "GET", "200 OK", "hello")
}

// PEP 3333 wants no block delayed: each piece arrives before the next is made.
func talkGated(t *testing.T, s *suite, id string) {
	c := s.dial(t)
	c.Send(on(id, get("/gated?id=$ID&n=3")))
	if r, err := c.ReadHead("GET"); err != nil || r.Framing != rawhttp.Chunked {
		t.Fatalf("head: %+v, %v", r, err)
	}
	for _, want := range []string{"first,", "piece 0,", "piece 1,", "piece 2,", ""} {
		piece, err := c.Piece()
		if err != nil || piece != want {
			t.Fatalf("piece %q, %v, want %q", piece, err, want)
		}
		if want != "" {
			s.ask(t, "/gate/open?id="+id)
		}
	}
	s.waitEvents(t, id, "iter,next,next,next,next,end,close")
}

func talkWriteAtOnce(t *testing.T, s *suite, id string) {
	c := s.dial(t)
	c.Send(on(id, get("/write/gated?id=$ID")))
	if _, err := c.ReadHead("GET"); err != nil {
		t.Fatalf("head while write() waits: %v", err)
	}
	if piece, err := c.Piece(); err != nil || piece != "written," {
		t.Fatalf("piece %q, %v, want what was written", piece, err)
	}
	s.ask(t, "/gate/open?id="+id)
	if piece, err := c.Piece(); err != nil || piece != "returned" {
		t.Fatalf("piece %q, %v, want what was returned", piece, err)
	}
}

// talkLeaves has the client leave an endless stream: it is closed once and no
// piece is drawn any more.
func talkLeaves(leave func(*rawhttp.Conn) error) func(*testing.T, *suite, string) {
	return func(t *testing.T, s *suite, id string) {
		c := s.dial(t)
		c.Send(on(id, get("/endless?id=$ID")))
		if _, err := c.ReadHead("GET"); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Piece(); err != nil {
			t.Fatal(err)
		}
		if err := leave(c); err != nil {
			t.Fatal(err)
		}
		s.waitClosed(t, id)
	}
}

// waitClosed waits for the one close() behind an iterable that did not end.
func (s *suite) waitClosed(t *testing.T, id string) {
	t.Helper()
	deadline := time.Now().Add(rawhttp.Patience)
	events := s.events(t, id)
	for !strings.HasSuffix(events, ",close") && time.Now().Before(deadline) {
		time.Sleep(2 * time.Millisecond)
		events = s.events(t, id)
	}
	if strings.Count(events, "close") != 1 || !strings.HasSuffix(events, ",close") {
		t.Errorf("events %.60q … %q, want one close at the end", events,
			events[max(0, len(events)-60):])
	}
}

func talkLeavesBetween(t *testing.T, s *suite, id string) {
	c := s.dial(t)
	c.Send(on(id, get("/stream?id=$ID&n=1000&ms=20")))
	if _, err := c.ReadHead("GET"); err != nil {
		t.Fatal(err)
	}
	if err := c.Reset(); err != nil {
		t.Fatal(err)
	}
	s.waitClosed(t, id)
	if n := strings.Count(s.events(t, id), "next"); n > 500 {
		t.Errorf("%d pieces were drawn behind the end of the client", n)
	}
}

// A client that does not read is not produced for: the iterable waits with it.
func talkDoesNotRead(t *testing.T, s *suite, id string) {
	c := s.dial(t)
	c.Send(on(id, get("/endless?id=$ID")))
	if _, err := c.ReadHead("GET"); err != nil {
		t.Fatal(err)
	}
	drawn := func() int { return strings.Count(s.events(t, id), "next") }
	last, still := -1, 0
	deadline := time.Now().Add(rawhttp.Patience)
	for still < 20 && time.Now().Before(deadline) {
		n := drawn()
		if n == last {
			still++
		} else {
			still = 0
		}
		last = n
		time.Sleep(10 * time.Millisecond)
	}
	if still < 20 || last > 1000 {
		t.Errorf("%d pieces of 64 KiB drawn for a client that reads none", last)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	s.waitClosed(t, id)
}
