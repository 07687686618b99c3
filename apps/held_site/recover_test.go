// SPDX-License-Identifier: MIT

//go:build linux

package heldsite

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"m0serve.dev/apps/internal/smoketest"
	"m0serve.dev/http/grip"
)

// plan sets what the next link answers from now on.
func (s *site) plan(answers ...[]string) {
	s.t.Helper()
	var parts []string
	for _, a := range answers {
		parts = append(parts, "say="+url.QueryEscape(query(a...)))
	}
	s.get("200 OK", "/plan?"+strings.Join(parts, "&"))
}

// A call is one that the next link got.
type call struct{ Target, Last, Sig, Method string }

// calls are all of them.
func (s *site) calls() (all []call) {
	s.t.Helper()
	if err := json.Unmarshal(s.get("200 OK", "/calls").Body, &all); err != nil {
		s.t.Fatal(err)
	}
	return all
}

// reliable is a stream of the channel a, which the application has counted to an id.
func reliable(id string, parts ...string) []string {
	return append([]string{"Grip-Hold: stream", "Grip-Channel: a; prev-id=" + id,
		"Grip-Link: </next?page=2>; rel=next"}, parts...)
}

func TestGapIsAskedOfTheApplication(t *testing.T) {
	s := startGrip(t, 1)
	s.plan(reliable("3", "body=two three "))
	c, _, _ := s.open(say(reliable("1", "Content-Type: text/plain", "body=one ")...))
	s.items(streamed("a", "three ", "id", "3", "prev-id", "2"))
	s.wantPiece(c, "two three ")
	s.items(streamed("a", "four ", "id", "4", "prev-id", "3"))
	s.wantPiece(c, "four ")
	calls := s.calls()
	if len(calls) != 1 {
		t.Fatalf("the next link got %+v, want one call", calls)
	}
	if got := calls[0]; got.Target != "/next?page=2" || got.Last != "a; last-id=1" ||
		got.Method != "GET" {
		t.Errorf("the next link got %+v, want what comes behind 1", got)
	}
	if _, err := grip.Verify(calls[0].Sig, s.door.Key, now()); err != nil {
		t.Errorf("Grip-Sig of the next link: %v", err)
	}
}

// TestItemsBehindTheAnswerAreNotLost has an answer that is older than what was
// published while it was made.
func TestItemsBehindTheAnswerAreNotLost(t *testing.T) {
	s := startGrip(t, 1)
	s.plan(reliable("2", "body=two "))
	c, _, _ := s.open(say(reliable("1", "Content-Type: text/plain", "body=one ")...))
	s.items(streamed("a", "three ", "id", "3", "prev-id", "2"),
		streamed("a", "four ", "id", "4", "prev-id", "3"))
	s.wantPiece(c, "two ")
	got := s.piece(c)
	if got == "three " {
		got += s.piece(c)
	}
	if got != "three four " {
		t.Errorf("then came %q, want what was published meanwhile", got)
	}
}

func TestStreamThatIsBehindAsksAtOnce(t *testing.T) {
	s := startGrip(t, 1)
	s.plan(reliable("5", "body=all "))
	s.items(streamed("a", "five", "id", "5"))
	smoketest.Until(t, "the item at the worker", func() bool {
		return s.figure("m0_items_total") == 1
	})
	c, _, _ := s.open(say(reliable("1", "Content-Type: text/plain", "body=one ")...))
	s.wantPiece(c, "all ")
}

func TestHintAsksTheApplication(t *testing.T) {
	s := startGrip(t, 1)
	s.plan(reliable("2", "body=news "))
	c, _, _ := s.open(say(reliable("1", "Content-Type: text/plain", "body=one ")...))
	s.items(thing{"channel": "a", "http-stream": thing{"action": "hint"}})
	s.wantPiece(c, "news ")
}

// TestStreamsThatLackTheSameShareAQuestion is what a worker of one thread needs.
func TestStreamsThatLackTheSameShareAQuestion(t *testing.T) {
	s := startGrip(t, 1)
	s.plan(reliable("3", "body=two three "))
	var conns []*rawConn
	for range 50 {
		c, _, _ := s.open(say(reliable("1", "Content-Type: text/plain", "body=one ")...))
		conns = append(conns, c)
	}
	s.items(streamed("a", "three ", "id", "3", "prev-id", "2"))
	for _, c := range conns {
		s.wantPiece(c, "two three ")
	}
	if calls := s.calls(); len(calls) > 10 { // one that lacks it later asks again
		t.Errorf("the next link got %d calls for 50 streams, want them shared", len(calls))
	}
}

// TestPages is a next link without a hold: the application answers in parts.
func TestPages(t *testing.T) {
	s := startGrip(t, 1)
	page := func(i int) []string {
		return []string{fmt.Sprintf("Grip-Link: </next?page=%d>; rel=next", i+1),
			fmt.Sprintf("body=page %d ", i)}
	}
	s.plan(page(2), page(3), reliable("1", "body=live "))
	c, head, _ := s.open(say(append(page(1), "Content-Type: text/plain", "X-Own: kept")...))
	if head.Get("X-Own") != "kept" {
		t.Errorf("the head is %q, want that of the first page", head.Fields)
	}
	for _, want := range []string{"page 2 ", "page 3 ", "live "} {
		s.wantPiece(c, want)
	}
	s.items(streamed("a", "news", "id", "2", "prev-id", "1"))
	s.wantPiece(c, "news")
	if calls := s.calls(); len(calls) != 3 || calls[2].Target != "/next?page=4" {
		t.Errorf("the next link got %+v, want one call a page", calls)
	}
}

func TestLastPageEndsTheAnswer(t *testing.T) {
	s := startGrip(t, 1)
	s.plan([]string{"body=the end"})
	c, _, _ := s.open(say("Grip-Link: </next>; rel=next", "Content-Type: text/plain", "body=begin "))
	s.wantPiece(c, "the end")
	s.wantPiece(c, "")
	s.nothingHeld()
}

// TestFailureOfTheNextLinkIsTriedAgain fails once.
func TestFailureOfTheNextLinkIsTriedAgain(t *testing.T) {
	s := startGrip(t, 1)
	s.plan([]string{"status=503 Busy"}, reliable("3", "body=two three "))
	c, _, _ := s.open(say(reliable("1", "Content-Type: text/plain", "body=one ")...))
	s.items(streamed("a", "three ", "id", "3", "prev-id", "2"))
	s.wantPiece(c, "two three ")
}

// TestNextLinkWithoutAnAnswerCutsTheStream is never silent.
func TestNextLinkWithoutAnAnswerCutsTheStream(t *testing.T) {
	s := startGrip(t, 1)
	s.plan([]string{"status=404 Gone"})
	c, _, _ := s.open(say(reliable("1", "Content-Type: text/plain", "body=one ")...))
	s.items(streamed("a", "three ", "id", "3", "prev-id", "2"))
	if text, err := c.Piece(); err == nil {
		t.Errorf("the stream got %q, want a cut", text)
	}
	smoketest.Until(t, "a log line", func() bool {
		return strings.Contains(s.Log(), "/next?page=2") && strings.Contains(s.Log(), "status 404")
	})
}

// TestQuietLinkIsAsked is the backstop for what was lost without a trace.
func TestQuietLinkIsAsked(t *testing.T) {
	s := startGrip(t, 1)
	s.plan(reliable("2", "body=two "))
	c, _, _ := s.open(say("Grip-Hold: stream", "Grip-Channel: a; prev-id=1",
		"Grip-Link: </next>; rel=next; timeout=1", "Content-Type: text/plain", "body=one "))
	s.wantPiece(c, "two ")
}

// TestGoneLinkIsTold posts once for each client that left by itself.
func TestGoneLinkIsTold(t *testing.T) {
	s := startGrip(t, 1)
	s.plan([]string{"status=204 No Content"})
	link := func(who string) string { return "Grip-Link: </next?" + who + ">; rel=gone" }
	closed, _, _ := s.open(stream("Grip-Channel: c", link("closed")))
	s.items(thing{"channel": "c", "http-stream": thing{"action": "close"}})
	s.wantPiece(closed, "")
	s.nothingHeld()
	c, _, _ := s.open(stream("Grip-Channel: a", link("stream")))
	p := s.park("Grip-Hold: response", "Grip-Channel: b", link("poll"))
	c.Close()
	p.Close()
	s.nothingHeld()
	var calls []call
	smoketest.Until(t, "two calls", func() bool { calls = s.calls(); return len(calls) >= 2 })
	for _, got := range calls {
		if got.Method != "POST" || got.Target == "/next?closed" || len(calls) != 2 {
			t.Errorf("the gone links got %+v, want one post each of the stream and the poll", calls)
		}
	}
}
