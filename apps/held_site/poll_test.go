// SPDX-License-Identifier: MIT

//go:build linux

package heldsite

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"m0serve.dev/apps/internal/rawhttp"
	"m0serve.dev/apps/internal/smoketest"
)

// park opens a long poll and waits until the server holds it.
func (s *site) park(parts ...string) *rawhttp.Conn {
	s.t.Helper()
	before := s.held()
	c := s.send("GET", say(parts...))
	s.awaitHeld(before + 1)
	return c
}

func (s *site) awaitHeld(want int) {
	s.t.Helper()
	smoketest.Until(s.t, fmt.Sprint(want, " held answers"), func() bool { return s.held() == want })
}

func TestLongPollIsAnsweredByTheFirstEvent(t *testing.T) {
	s := start(t, 1, metrics(t))
	for name, spelling := range map[string][]string{
		"short": {"M0-Hold: response", "M0-Channel: a, b"},
		"grip":  {"Grip-Hold: response", "Grip-Channel: a", "Grip-Channel: b"},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.of(t)
			c := s.park(append(spelling, "Content-Type: text/plain", "X-Own: kept",
				"status=201 Created", "body=nothing")...)
			s.publish("b", "first\nline", "event=note")
			r := s.read(c, "201 Created", "the poll")
			if string(r.Body) != "first\nline" || r.Get("Content-Type") != "text/plain" ||
				r.Get("X-Own") != "kept" || r.Framing != rawhttp.Length {
				t.Errorf("%v %q; want the data with the application's fields", r.Fields, r.Body)
			}
			for _, line := range r.Fields {
				if isOurs(line) {
					t.Errorf("the client got %q", line)
				}
			}
			s.nothingHeld()
		})
	}
}

// TestLongPollKeepsItsConnection: behind its answer the next request is answered, a long
// poll or not, and one that the client had sent ahead too.
func TestLongPollKeepsItsConnection(t *testing.T) {
	s := start(t, 1, metrics(t))
	ask := "GET " + say("M0-Hold: response", "M0-Channel: a", "body=nothing") + " HTTP/1.1\r\n" +
		"Host: a\r\n\r\n"
	c := s.park("M0-Hold: response", "M0-Channel: a")
	for i := range 5 {
		s.publish("a", fmt.Sprint(i))
		r := s.read(c, "200 OK", "a poll")
		if string(r.Body) != fmt.Sprint(i) || r.Get("Connection") != "" {
			t.Errorf("poll %d got %q, Connection: %q; want %d and none", i, r.Body,
				r.Get("Connection"), i)
		}
		c.Send(ask)
		s.awaitHeld(1)
	}
	c.Send("GET /worker HTTP/1.1\r\nHost: a\r\n\r\n") // ahead of its time
	s.publish("a", "last")
	s.read(c, "200 OK", "the last poll")
	if r := s.read(c, "200 OK", "/worker"); len(r.Body) == 0 {
		t.Error("the request behind the poll has an empty answer")
	}
	s.nothingHeld()
}

// TestLongPollSaysWhatItsConnectionDoes: it ends where the client wants it to, or did not
// say otherwise in HTTP/1.0.
func TestLongPollSaysWhatItsConnectionDoes(t *testing.T) {
	s := start(t, 1, metrics(t))
	for _, k := range []struct{ version, line, want string }{
		{"HTTP/1.1", "Connection: close", "close"},
		{"HTTP/1.0", "X-A: 1", "close"},
		{"HTTP/1.0", "Connection: keep-alive", "keep-alive"},
	} {
		c := s.sendAs(k.version, "GET", say("M0-Hold: response", "M0-Channel: a"), k.line)
		s.awaitHeld(1)
		s.publish("a", "x")
		r := s.read(c, "200 OK", "the poll")
		if got := r.Get("Connection"); got != k.want || string(r.Body) != "x" {
			t.Errorf("%s, %s: %q, Connection: %q; want %q", k.version, k.line, r.Body, got, k.want)
		}
		if k.want == "close" {
			if err := c.Ended(); err != nil {
				t.Errorf("%s, %s: %v", k.version, k.line, err)
			}
		} else {
			c.Send("GET /worker HTTP/1.0\r\n\r\n")
			s.read(c, "200 OK", "/worker")
		}
		s.nothingHeld()
	}
}

// TestLongPollEndsWithTheApplicationsAnswer asks for less than the least time.
func TestLongPollEndsWithTheApplicationsAnswer(t *testing.T) {
	s := start(t, 1, metrics(t))
	began := time.Now()
	polls := map[string]*rawhttp.Conn{
		"200 OK": s.park("Grip-Hold: response", "Grip-Channel: a", "Grip-Timeout: 1", "body=nothing"),
		"304 Not Modified": s.park("Grip-Hold: response", "Grip-Channel: a", "Grip-Timeout: 5",
			"Grip-Status: 304"),
		"204 No Content": s.park("status=204 No Content", "M0-Hold: response", "M0-Channel: a",
			"Grip-Timeout: 5"),
	}
	time.Sleep(time.Until(began.Add(3 * time.Second))) // the answers are read within 5 s
	for status, c := range polls {
		r := s.read(c, status, "the poll")
		if want := map[string]string{"200 OK": "nothing"}[status]; string(r.Body) != want {
			t.Errorf("%s with %q, want %q", status, r.Body, want)
		}
		if took := time.Since(began); took < 4500*time.Millisecond {
			t.Errorf("%s after %v, want 5 s", status, took)
		}
	}
}

func TestDrainAnswersLongPollsAndCutsStreams(t *testing.T) {
	s := start(t, 1, metrics(t))
	poll := s.park("M0-Hold: response", "M0-Channel: a", "body=nothing")
	stream, _, _ := s.open(say("M0-Channel: a"))
	plain, _, _ := s.open(say("Grip-Hold: stream", "Grip-Channel: a", "Content-Type: text/plain",
		"body=hi"))
	s.Signal(t, syscall.SIGTERM)
	r := s.read(poll, "200 OK", "the poll")
	if string(r.Body) != "nothing" || r.Get("Connection") != "close" {
		t.Errorf("the poll got %q, Connection: %q; want the application's answer, and close",
			r.Body, r.Get("Connection"))
	}
	if got := s.piece(stream); len(got) < 8 || got[:7] != "retry: " {
		t.Errorf("the stream got %q, want a time to wait", got)
	}
	for name, c := range map[string]*rawhttp.Conn{"stream": stream, "plain": plain} {
		if text, err := c.Piece(); err == nil {
			t.Errorf("%s got %q, want a cut without a last chunk", name, text)
		}
	}
	if status := s.Wait(t); status != 0 {
		t.Errorf("status %d after the drain, want 0", status)
	}
}

// TestClientsThatLeaveLeaveNothing looks at the metrics.
func TestClientsThatLeaveLeaveNothing(t *testing.T) {
	s := start(t, 1, metrics(t))
	for range 50 {
		s.open(say("M0-Channel: a"))
		s.park("M0-Hold: response", "M0-Channel: a")
	}
	if n := s.held(); n != 100 {
		t.Errorf("%d answers are held, want 100", n)
	}
	for _, c := range s.conns {
		c.Close()
	}
	s.nothingHeld()
}
