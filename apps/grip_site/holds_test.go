// SPDX-License-Identifier: MIT

//go:build linux

package gripsite

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"m0serve.dev/apps/internal/rawhttp"
)

// holds are streams of django-grip.
var holdCases = []testCase{
	{name: "signed", run: holdSigned},
	{name: "fields-of-a-client", run: holdFieldsOfAClient},
	{name: "not-held", run: func(t *testing.T, s *site) {
		for _, status := range []int{200, 404, 503} {
			a := s.get(t, fmt.Sprintf("/plain/?status=%d", status))
			if a.status != status || a.body != "plain\n" || a.head.Get("X-One") != "kept" {
				t.Errorf("/plain/ = %d %q, X-One %q; want %d as it is", a.status, a.body,
					a.head.Get("X-One"), status)
			}
		}
	}},
	{name: "example", run: func(t *testing.T, s *site) {
		f := s.open(t, "/example/").holds(t, "[stream open]\n")
		if a := s.posted(t, "/example/", "data", "hello"); a.body != "Ok\n" {
			t.Errorf("POST = %q, want Ok", a.body)
		}
		f.holds(t, "[stream open]\nhello\n")
	}},
	{name: "stream", run: func(t *testing.T, s *site) {
		c := channelOf(t)
		f := s.open(t, "/stream/?channel="+c).holds(t, "[open]\n")
		if f.status != 200 || f.head.Get("Content-Type") != "text/plain" ||
			f.head.Get("X-One") != "kept" || f.head.Get("Content-Length") != "" {
			t.Errorf("%d %v, want 200, the fields of the view and no length", f.status, f.head)
		}
		wantNoGrip(t, f.head)
		s.posted(t, "/publish/", "channel", c, "stream", "one")
		s.posted(t, "/publish/", "channel", c, "stream", "ü €\r\n\x00")
		f.holds(t, "[open]\noneü €\r\n\x00")
	}},
	{name: "empty-body", run: func(t *testing.T, s *site) {
		c := channelOf(t)
		f := s.open(t, "/stream/?body=&channel="+c) // the head comes all the same
		s.posted(t, "/publish/", "channel", c, "stream", "first")
		f.holds(t, "first")
	}},
	{name: "several-channels", run: func(t *testing.T, s *site) {
		c := channelOf(t)
		f := s.open(t, fmt.Sprintf("/stream/?channel=%s-a&channel=%[1]s-b", c)).holds(t, "[open]\n")
		s.posted(t, "/publish/", "channel", c+"-b", "stream", "b;")
		s.posted(t, "/publish/", "channel", c+"-c", "stream", "c;")
		s.posted(t, "/publish/", "channel", c+"-a", "stream", "a;")
		f.holds(t, "[open]\nb;a;")
	}},
	{name: "other-channel", run: func(t *testing.T, s *site) {
		c := channelOf(t)
		f := s.open(t, "/stream/?channel="+c).holds(t, "[open]\n")
		s.posted(t, "/publish/", "channel", c+"x", "stream", "not here")
		s.posted(t, "/publish/", "channel", c[:len(c)-1], "stream", "nor here")
		s.posted(t, "/publish/", "channel", strings.ToUpper(c), "stream", "nor there")
		s.posted(t, "/publish/", "channel", c, "stream", "here")
		f.holds(t, "[open]\nhere")
	}},
	{name: "close", run: func(t *testing.T, s *site) {
		c := channelOf(t)
		f := s.open(t, "/stream/?channel="+c).holds(t, "[open]\n")
		s.posted(t, "/publish/", "channel", c, "stream", "last;")
		s.posted(t, "/publish/", "channel", c, "close-stream", "1")
		f.ends(t)
		if got := f.body(); got != "[open]\nlast;" {
			t.Errorf("the body is %q, want what came and the end", got)
		}
	}},
	{name: "keep-alive", slow: true, run: holdKeepAlive},
	{name: "keep-alive-is-idle", slow: true, run: holdKeepAliveIdle},
	{name: "skip-self", run: func(t *testing.T, s *site) {
		c := channelOf(t)
		ann := s.open(t, "/filtered/?user=ann&channel="+c).holds(t, "[open]\n")
		bob := s.open(t, "/filtered/?user=bob&channel="+c).holds(t, "[open]\n")
		s.posted(t, "/publish/", "channel", c, "stream", "by ann;", "meta", `{"sender": "ann"}`)
		s.posted(t, "/publish/", "channel", c, "stream", "by none;")
		bob.holds(t, "[open]\nby ann;by none;")
		ann.holds(t, "[open]\nby none;")
	}},
	{name: "pages", run: func(t *testing.T, s *site) {
		a := s.get(t, "/pages/?n=1")
		if a.body != "page 1\npage 2\npage 3\n" {
			t.Errorf("body %q, want three pages and the end", a.body)
		}
		wantNoGrip(t, a.head)
	}},
	{name: "next-link-at-the-gap", run: func(t *testing.T, s *site) {
		c := channelOf(t)
		next := url.QueryEscape("/stream/?body=recovered.&prev=9&next=/plain/&channel=" + c)
		f := s.open(t, fmt.Sprintf("/stream/?prev=1&channel=%s&next=%s", c, next)).holds(t, "[open]\n")
		s.posted(t, "/publish/", "channel", c, "stream", "two;", "id", "2", "prev", "1")
		f.holds(t, "[open]\ntwo;")
		s.posted(t, "/publish/", "channel", c, "stream", "nine;", "id", "9", "prev", "8")
		f.holds(t, "[open]\ntwo;recovered.")
	}},
	{name: "next-link-without-hold-ends", run: func(t *testing.T, s *site) {
		c := channelOf(t)
		f := s.open(t, fmt.Sprintf("/stream/?prev=1&channel=%s&next=/plain/", c)).holds(t, "[open]\n")
		s.posted(t, "/publish/", "channel", c, "stream", "x", "id", "3", "prev", "2")
		f.ends(t)
		if got := f.body(); got != "[open]\nplain\n" {
			t.Errorf("the body is %q, want the answer of the link and the end", got)
		}
	}},
	{name: "next-link-timeout", slow: true, run: func(t *testing.T, s *site) {
		f := s.open(t, "/stream/?next=/plain/&next-seconds=5&channel="+channelOf(t))
		f.holds(t, "[open]\nplain\n").ends(t)
	}},
	{name: "document-stream", run: func(t *testing.T, s *site) {
		c := channelOf(t)
		f := s.open(t, "/instruct/?hold=stream&channel="+c).holds(t, "from the document\n")
		s.posted(t, "/publish/", "channel", c, "stream", "more")
		f.holds(t, "from the document\nmore")
	}},
	{name: "half-read", run: func(t *testing.T, s *site) {
		c := channelOf(t)
		for range 20 {
			s.open(t, "/stream/?channel="+c).cancel() // clients that leave at once
		}
		f := s.open(t, "/stream/?channel="+c).holds(t, "[open]\n")
		s.posted(t, "/publish/", "channel", c, "stream", "still")
		f.holds(t, "[open]\nstill")
	}},
}

// told is what /grip/ says of a request.
type told struct {
	Proxied, Signed  bool
	Features, Fields []string
	Last             map[string]string
}

func (s *site) told(t *testing.T, headers ...string) told {
	t.Helper()
	var got told
	a := s.get(t, "/grip/", headers...)
	if err := json.Unmarshal([]byte(a.body), &got); err != nil {
		t.Fatalf("/grip/ = %d %q: %v", a.status, short(a.body), err)
	}
	return got
}

// The project sees that its requests come by way of a proxy that has the key.
func holdSigned(t *testing.T, s *site) {
	got := s.told(t)
	if !got.Proxied || !got.Signed {
		t.Errorf("proxied %v, signed %v; want both", got.Proxied, got.Signed)
	}
	for _, feature := range []string{
		"status", "link:next", "filter:skip-self", "filter:skip-users",
		"filter:require-sub", "filter:build-id",
	} {
		if !slices.Contains(got.Features, feature) {
			t.Errorf("features %q, want %q in them", got.Features, feature)
		}
	}
	if want := []string{"HTTP_GRIP_FEATURE", "HTTP_GRIP_SIG"}; !slices.Equal(got.Fields, want) {
		t.Errorf("fields %q, want %q", got.Fields, want)
	}
}

// What a client says in the name of the proxy is not heard.
func holdFieldsOfAClient(t *testing.T, s *site) {
	got := s.told(t, "Grip-Sig: forged", "grip-last: x; last-id=1", "GRIP-FEATURE: forged",
		"Grip-Other: forged")
	if !got.Signed || slices.Contains(got.Features, "forged") || len(got.Last) > 0 {
		t.Errorf("signed %v, features %q, last %v; want none of the client's", got.Signed,
			got.Features, got.Last)
	}
	if want := []string{"HTTP_GRIP_FEATURE", "HTTP_GRIP_SIG"}; !slices.Equal(got.Fields, want) {
		t.Errorf("fields %q, want %q", got.Fields, want)
	}
}

// A keep-alive of two bytes comes each second, byte for byte as the view gave it.
func holdKeepAlive(t *testing.T, s *site) {
	begin := time.Now()
	f := s.open(t, "/stream/?seconds=1&keep="+url.QueryEscape(":\r\n")+"&channel="+channelOf(t))
	f.holds(t, "[open]\n:\r\n:\r\n:\r\n")
	if took := time.Since(begin); took > 8*time.Second {
		t.Errorf("three keep-alives of a second came within %v", took)
	}
	if got := strings.ReplaceAll(f.body(), ":\r\n", ""); got != "[open]\n" {
		t.Errorf("the body is %q beside the keep-alives", got)
	}
}

// A stream that is written to needs no keep-alive.
func holdKeepAliveIdle(t *testing.T, s *site) {
	c := channelOf(t)
	f := s.open(t, "/stream/?seconds=3&keep=alive.&channel="+c).holds(t, "[open]\n")
	for n := range 12 {
		s.posted(t, "/publish/", "channel", c, "stream", fmt.Sprint(n, ";"))
		f.until(500*time.Millisecond, func() bool { return false })
	}
	if got := f.body(); strings.Contains(got, "alive.") {
		t.Errorf("the body is %q, want no keep-alive within 6 s of traffic", got)
	}
	f.holds(t, "11;alive.")
}

// polls are answers that wait for one publish.
var pollCases = []testCase{
	{name: "published", run: func(t *testing.T, s *site) {
		c := channelOf(t)
		p := s.poll(t, "/poll/?seconds=60&channel="+c)
		p.waits(t)
		s.posted(t, "/publish/", "channel", c, "response", "news")
		if r := p.answer(t); r.Status[:3] != "200" || string(r.Body) != "news" {
			t.Errorf("answer %s %q, want 200 news", r.Status, r.Body)
		}
	}},
	{name: "code-and-fields", run: func(t *testing.T, s *site) {
		c := channelOf(t)
		p := s.poll(t, "/poll/?seconds=60&channel="+c)
		p.waits(t)
		s.posted(t, "/publish/", "channel", c, "response", "{}", "code", "201", "reason", "Made",
			"headers", `{"Content-Type": "application/json", "X-Two": "2"}`)
		r := p.answer(t)
		if r.Status != "201 Made" || r.Get("Content-Type") != "application/json" ||
			r.Get("X-Two") != "2" || string(r.Body) != "{}" || r.Get("Content-Length") != "2" {
			t.Errorf("answer %s %q %q, want what was published", r.Status, r.Fields, r.Body)
		}
	}},
	{name: "timeout", slow: true, run: func(t *testing.T, s *site) {
		begin := time.Now()
		p := s.poll(t, "/poll/?seconds=5&channel="+channelOf(t))
		r := p.answer(t)
		if took := time.Since(begin); took < 4*time.Second || string(r.Body) != "nothing\n" ||
			r.Get("Content-Type") != "text/plain" {
			t.Errorf("after %v %s %q %q, want the view's answer after 5 s", took, r.Status,
				r.Fields, r.Body)
		}
	}},
	{name: "timeout-unmodified", slow: true, run: func(t *testing.T, s *site) {
		p := s.poll(t, "/poll/?seconds=5&unmodified=1&channel="+channelOf(t))
		if r := p.answer(t); r.Status != "304 Not Modified" || len(r.Body) > 0 {
			t.Errorf("answer %s %q, want 304 by way of Grip-Status", r.Status, r.Body)
		}
	}},
	{name: "several-channels", run: func(t *testing.T, s *site) {
		c := channelOf(t)
		p := s.poll(t, fmt.Sprintf("/poll/?seconds=60&channel=%s-a&channel=%[1]s-b", c))
		p.waits(t)
		s.posted(t, "/publish/", "channel", c+"-b", "response", "b")
		if r := p.answer(t); string(r.Body) != "b" {
			t.Errorf("answer %s %q, want b", r.Status, r.Body)
		}
	}},
	{name: "many", run: func(t *testing.T, s *site) {
		c := channelOf(t)
		var polls []*poll
		for range 20 {
			polls = append(polls, s.poll(t, "/poll/?seconds=60&channel="+c))
		}
		deadline := time.Now().Add(2 * quiet)
		for _, p := range polls {
			p.waitsUntil(t, deadline)
		}
		s.posted(t, "/publish/", "channel", c, "response", "to all")
		for _, p := range polls {
			if r := p.answer(t); string(r.Body) != "to all" {
				t.Errorf("answer %s %q, want what all get", r.Status, r.Body)
			}
		}
	}},
	{name: "connection-goes-on", run: func(t *testing.T, s *site) {
		c := channelOf(t)
		p := s.poll(t, "/poll/?seconds=60&channel="+c)
		for n := range 3 {
			p.waits(t)
			s.posted(t, "/publish/", "channel", c, "response", fmt.Sprint(n))
			r := p.answer(t)
			if string(r.Body) != fmt.Sprint(n) {
				t.Fatalf("answer %d on the connection: %s %q", n, r.Status, r.Body)
			}
			if r.Get("Connection") == "close" { // which it may say, but then it has to
				p = s.poll(t, "/poll/?seconds=60&channel="+c)
				continue
			}
			p.ask("/poll/?seconds=60&channel=" + c)
		}
	}},
	{name: "document-response", run: func(t *testing.T, s *site) {
		c := channelOf(t)
		p := s.poll(t, "/instruct/?hold=response&channel="+c)
		p.waits(t)
		s.posted(t, "/publish/", "channel", c, "response", "news")
		if r := p.answer(t); string(r.Body) != "news" {
			t.Errorf("answer %s %q, want news", r.Status, r.Body)
		}
	}},
	{name: "formats-of-an-item", run: func(t *testing.T, s *site) {
		c := channelOf(t)
		p := s.poll(t, "/poll/?seconds=60&channel="+c)
		f := s.open(t, "/stream/?channel="+c).holds(t, "[open]\n")
		w := s.dial(t, "/socket/?room="+c)
		p.waits(t)
		w.settled(t)
		s.posted(t, "/publish/", "channel", c, "response", "one", "stream", "two", "message", "three")
		if r := p.answer(t); string(r.Body) != "one" {
			t.Errorf("the poll got %q, want its format", r.Body)
		}
		f.holds(t, "[open]\ntwo")
		w.wants(t, "three")
	}},
}

// A poll is a request that is answered later.
type poll struct {
	*rawhttp.Conn
	s *site
}

func (s *site) poll(t *testing.T, path string) *poll {
	t.Helper()
	c, err := rawhttp.Dial(s.url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	p := &poll{c, s}
	p.ask(path)
	return p
}

func (p *poll) ask(path string) {
	p.Send("GET " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
}

// waits makes sure that the request is held: nothing comes for a while.
func (p *poll) waits(t *testing.T) {
	t.Helper()
	p.waitsUntil(t, time.Now().Add(quiet))
}

func (p *poll) waitsUntil(t *testing.T, deadline time.Time) {
	t.Helper()
	_ = p.SetReadDeadline(deadline)
	var b [1]byte
	if n, err := p.Conn.Conn.Read(b[:]); n > 0 || err == nil {
		t.Fatalf("the poll was answered at once: %q %v", b[:n], err)
	}
}

// answer reads the answer, for which rawhttp waits 5 s.
func (p *poll) answer(t *testing.T) *rawhttp.Reply {
	t.Helper()
	for deadline := time.Now().Add(patience); ; {
		r, err := p.Read("GET")
		if err == nil {
			return r
		}
		if r != nil || time.Now().After(deadline) {
			t.Fatalf("the poll was not answered: %+v %v", r, err)
		}
	}
}
