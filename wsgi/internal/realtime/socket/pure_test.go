// SPDX-License-Identifier: MIT

package socket

import (
	"strings"
	"testing"
	"time"

	"m0serve.dev/http/grip"
	"m0serve.dev/http/loop"
	"m0serve.dev/http/wire"
	"m0serve.dev/http/ws"
	"m0serve.dev/wsgi/internal/rootpath"
)

// parse reads the head of a request.
func parse(t *testing.T, lines string) *wire.Request {
	t.Helper()
	if !strings.Contains(lines, "Host: ") {
		lines += "\r\nHost: a"
	}
	var p wire.RequestParser
	r := &wire.Request{}
	if n, err := p.Parse([]byte(lines+"\r\n\r\n"), r); err != nil || n == 0 {
		t.Fatalf("Parse(%q) = %d, %v", lines, n, err)
	}
	return r
}

// TestIsMessagePath: every spelling that an application may take for the path is it.
func TestIsMessagePath(t *testing.T) {
	for _, c := range []struct {
		root, path string
		want       bool
	}{
		{"", "/ws/message", true},
		{"", "/ws/message/", true},
		{"", "//ws///message//", true},
		{"", "/%77%73/%6Dessage", true},
		{"", "/ws%2fmessage", true},
		{"", "/a/%2e%2e/ws/./message", true},
		{"", "/../../ws/message", true},
		{"", "/ws/message/x/..", true},
		{"", "/ws/messages", false},
		{"", "/WS/message", false},
		{"", "/ws", false},
		{"", "/ws/%256dessage", false},
		{"", "/ws/message%", false},
		{"", "/app/ws/message", false},
		{"", "*", false},
		{"/app", "/app/ws/message", true},
		{"/app", "/ws/message", true},
		{"/app", "/%61pp/ws/message", true},
		{"/app", "/app/../ws/message", true},
		{"/app", "/x/../app/ws/message", true},
		{"/app", "/application/ws/message", false},
		{"/ws", "/ws/message", false},
		{"/ws", "/ws/ws/message", true},
	} {
		if got := IsMessagePath([]byte(c.path), c.root); got != c.want {
			t.Errorf("IsMessagePath(%q, %q) = %v, want %v", c.path, c.root, got, c.want)
		}
	}
	ordinary := []byte("/static/app.js")
	if n := testing.AllocsPerRun(100, func() { IsMessagePath(ordinary, "/app") }); n > 0 {
		t.Errorf("an ordinary path costs %v allocations", n)
	}
}

func FuzzIsMessagePath(f *testing.F) {
	for _, p := range []string{"/ws/message", "/%77s//message/", "/a/../ws/message", "*", "/%"} {
		f.Add(p, "")
	}
	f.Fuzz(func(t *testing.T, p, root string) {
		seen := string(wire.AppendUnescaped(nil, rootpath.Below([]byte(p), root)))
		if strings.TrimRight(seen, "/") == MessagePath && !IsMessagePath([]byte(p), root) {
			t.Errorf("IsMessagePath(%q, %q): the application sees %q", p, root, seen)
		}
	})
}

func TestCodeOf(t *testing.T) {
	for status, want := range map[int]ws.Code{200: 0, 204: 0, 299: 0, 302: ws.CodePolicy,
		304: ws.CodePolicy, 400: ws.CodePolicy, 403: ws.CodePolicy, 404: ws.CodePolicy,
		500: ws.CodeInternal, 503: ws.CodeOverload, 599: ws.CodeInternal} {
		if got, _ := codeOf(status); got != want {
			t.Errorf("codeOf(%d) = %v, want %v", status, got, want)
		}
	}
}

func TestParseClose(t *testing.T) {
	for text, want := range map[string]struct {
		code   ws.Code
		reason string
	}{
		"1000": {1000, ""}, " 4001 go away ": {4001, "go away"}, "3000 a  b": {3000, "a  b"},
	} {
		code, reason, err := parseClose(text)
		if code != want.code || reason != want.reason || err != nil {
			t.Errorf("parseClose(%q) = %v, %q, %v; want %v", text, code, reason, err, want)
		}
	}
	for _, text := range []string{"", "x", "1006", "999", "65536", "-1", "4000 \xff",
		"4000 " + strings.Repeat("x", 124)} {
		if code, _, err := parseClose(text); err == nil {
			t.Errorf("parseClose(%q) = %v, want an error", text, code)
		}
	}
}

// TestEventOf: the end of a socket is a CLOSE when there was one, else a DISCONNECT.
func TestEventOf(t *testing.T) {
	for want, n := range map[string]note{
		"TEXT 0\r\n\r\n":             {op: ws.OpText},
		"BINARY 1\r\n\x00\r\n":       {op: ws.OpBinary, data: []byte{0}},
		"CLOSE\r\n":                  {op: ws.OpClose, code: ws.CodeNoStatus},
		"CLOSE 5\r\n\x0f\xa1bye\r\n": {op: ws.OpClose, code: 4001, reason: "bye"},
		"DISCONNECT\r\n":             {op: ws.OpClose, code: ws.CodeAbnormal},
		"CLOSE 2\r\n\x03\xf4\r\n":    {op: ws.OpClose, code: ws.CodeRestart},
	} {
		if got := string(grip.AppendEvent(nil, eventOf(&n))); got != want {
			t.Errorf("the end %v is %q, want %q", n, got, want)
		}
	}
}

// TestAskedInIntervals: an application that wants it is asked without any news, and
// not any more when it has detached.
func TestAskedInIntervals(t *testing.T) {
	out := make(chan loop.Asking, 1)
	s := New(Config{Ask: func(a loop.Asking) error { out <- a; return nil }})
	e := &events{id: "x"}
	k := &socket{s: s, opening: &Opening{target: "/s", host: "h"}, talk: e}
	e.times.every = time.Millisecond
	for range 2 {
		e.restart(k)
		select {
		case a := <-out:
			if raw := string(a.Raw); !strings.HasPrefix(raw, "POST /s HTTP/1.1\r\nHost: h\r\n") ||
				!strings.HasSuffix(raw, "Content-Length: 0\r\n\r\n") {
				t.Errorf("the request is %q", raw)
			}
		case <-time.After(10 * time.Second):
			t.Fatal("no request")
		}
		k.again()
	}
	e.leave(k)
	e.restart(k)
	if e.times.ask.Stop() {
		t.Error("a detached application is asked in intervals")
	}
	k.poke()
	if len(out) != 0 {
		t.Error("a detached application is asked")
	}
}

// TestGiveBack: what is not accepted goes ahead of what came meanwhile.
func TestGiveBack(t *testing.T) {
	text := func(s string) note { return note{op: ws.OpText, data: []byte(s)} }
	for _, c := range []struct {
		accepted int
		want     string
		replayed int
	}{
		{0, "abc|de|new", 5}, {1, "bc|de|new", 4}, {3, "de|new", 2}, {4, "e|new", 1}, {5, "new", 0},
		{9, "new", 0},
	} {
		e := &events{sent: []note{text("abc"), text("de")}}
		k := &socket{waiting: []note{text("new")}, bytes: 3}
		e.giveBackLocked(k, c.accepted)
		var got []string
		for _, n := range k.waiting {
			got = append(got, string(n.data))
		}
		if strings.Join(got, "|") != c.want || e.replayed != c.replayed || k.bytes != 3+c.replayed {
			t.Errorf("%d accepted: %q, replayed %d, %d bytes; want %s, %d", c.accepted, got, e.replayed,
				k.bytes, c.want, c.replayed)
		}
	}
}
