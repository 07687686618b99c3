// SPDX-License-Identifier: MIT

//go:build linux

package wssite

import (
	"strings"
	"testing"
)

// isServers reports whether an answer is the server's own 404.
func isServers(status int, body string) bool {
	return status == 404 && strings.Contains(body, "this path is the server's")
}

// TestMessagePath: nothing from the wire reaches the view of messages, however it
// spells its path.
func TestMessagePath(t *testing.T) {
	s := start(t, 1)
	for _, path := range []string{"/ws/message", "/ws/message/", "/%77s/message", "/ws%2Fmessage",
		"/ws/%6d%65ssage", "//ws/message", "/ws//message", "/./ws/message", "/ws/./message",
		"/a/../ws/message", "/../ws/message", "/ws/message/.", "/ws/message/a/..",
		"/ws/x/%2e%2e/message", "/%2e/ws/message", "/ws/message?a=b", "/ws/messag%65%2f",
		"http://a/ws/message", "http://a/%77s/message", "http://a//ws/message"} {
		for _, method := range []string{"GET", "POST", "PUT", "OPTIONS"} {
			for _, version := range []string{"HTTP/1.1", "HTTP/1.0"} {
				s.wantServers(method + " " + path + " " + version)
			}
		}
	}
	s.refused(404, "/ws/message")
	for _, path := range []string{"/WS/message", "/ws/messages", "/message", "/x/ws/message",
		"/ws/message%20", "/ws/%256dessage"} {
		s.wantViews("GET " + path + " HTTP/1.1")
	}
}

// wantServers wants a request to be answered by the server alone.
func (s *site) wantServers(line string) {
	s.t.Helper()
	status, body := s.raw(line + messageHead)
	if !isServers(status, body) {
		s.t.Errorf("%s = %d %.80q, want the server's 404", line, status, body)
	}
}

// wantViews wants a request to be answered by the application, which has no such view.
func (s *site) wantViews(line string) {
	s.t.Helper()
	if status, body := s.raw(line + messageHead); status != 404 || body != "no such view\n" {
		s.t.Errorf("%s = %d %.80q, want the application's 404", line, status, body)
	}
}

// messageHead is what a message would have.
const messageHead = "\r\nHost: a\r\nM0-Slot: x\r\nM0-Opcode: text\r\nM0-Channel: a\r\n" +
	"Content-Length: 0"

// TestMessagePathBelowARoot: with --root-path the path lies below it, and is the
// server's with the root and without.
func TestMessagePathBelowARoot(t *testing.T) {
	s := start(t, 1, "--root-path=/app")
	for _, path := range []string{"/app/ws/message", "/ws/message", "/app//ws/message",
		"/%61pp/ws/message", "/app/%77s/message", "/app/../ws/message", "/x/../app/ws/message"} {
		s.wantServers("POST " + path + " HTTP/1.1")
	}
	c := s.open("/app/ws")
	c.send("seen")
	text, err := c.Text()
	if err != nil {
		t.Fatal(err)
	}
	checkSeen(t, text, map[string]string{"SCRIPT_NAME": "/app", "PATH_INFO": "/ws/message"})

	s = start(t, 1, "--root-path=/ws") // a root that is a part of the path
	s.wantServers("POST /ws/ws/message HTTP/1.1")
	s.wantViews("POST /ws/message HTTP/1.1")
	c = s.open("/ws/ws")
	c.send("below")
	c.want("echo below")
}

// TestMessagePathAndFiles: a route of files around the path takes no message away.
func TestMessagePathAndFiles(t *testing.T) {
	s := start(t, 1, "--static=/ws=.")
	s.wantServers("POST /ws/message HTTP/1.1")
	s.wantServers("GET /ws/message HTTP/1.1")
	c := s.open("/socket")
	c.send("in")
	c.want("echo in")
}

// TestWithoutRealtime: the path is the application's then, and an upgrade too.
func TestWithoutRealtime(t *testing.T) {
	s := start(t, 1, "--no-realtime")
	status, body := s.raw("POST /ws/message HTTP/1.1" + messageHead)
	if status != 200 || body != "no message" {
		t.Errorf("POST /ws/message = %d %q, want the view's answer", status, body)
	}
	r := s.refused(200, "/ws")
	if r.Fields.Get("M0-Hold") != "websocket" {
		t.Errorf("the view's fields are %v, want them as they are", r.Fields)
	}
}
