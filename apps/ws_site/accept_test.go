// SPDX-License-Identifier: MIT

//go:build linux

package wssite

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"m0serve.dev/apps/internal/rawws"
)

// A testCase is one promise.
type testCase struct {
	name string
	run  func(t *testing.T, s *site)
}

// play runs cases against one site.
func play(t *testing.T, s *site, cases []testCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { c.run(t, &site{s.Process, t}) })
	}
}

// TestAccept: the application's answer to the GET accepts the socket, or is what the
// client sees.
func TestAccept(t *testing.T) {
	play(t, start(t, 2), []testCase{
		{"hello", func(t *testing.T, s *site) {
			c := s.open(on("news", "body=hello", "X-Of-View: 1", "Set-Cookie: a=b"))
			c.want("hello")
			for name, want := range map[string]string{"X-Of-View": "1", "Set-Cookie": "a=b",
				"M0-Hold": "", "M0-Channel": "", "Content-Type": "", "Content-Length": ""} {
				if got := c.Head.Header.Get(name); got != want {
					t.Errorf("%s of the 101 is %q, want %q", name, got, want)
				}
			}
			c.silent()
		}},
		{"hello-of-nothing", func(t *testing.T, s *site) { s.open("/ws").silent() }},
		{"hello-in-binary", func(t *testing.T, s *site) {
			s.open(on("a", "body=\x00\xff")).wantBinary("\x00\xff")
			s.open(on("a", "M0-Opcode: binary", "body=abc")).wantBinary("abc")
		}},
		{"protocol", func(t *testing.T, s *site) {
			c := s.open(on("a", "Sec-WebSocket-Protocol: chat"), "Sec-WebSocket-Protocol: chat, other")
			if got := c.Head.Header.Get("Sec-Websocket-Protocol"); got != "chat" {
				t.Errorf("subprotocol %q, want the view's", got)
			}
		}},
		{"view-sees-the-handshake", func(t *testing.T, s *site) {
			c := s.open(on("a", "body=seen"), "M0-Slot: mine", "Grip-Sig: mine", "Cookie: a=b")
			text, err := c.Text()
			if err != nil {
				t.Fatal(err)
			}
			checkSeen(t, text, map[string]string{"REQUEST_METHOD": "GET", "PATH_INFO": "/ws",
				"HTTP_UPGRADE": "websocket", "HTTP_SEC_WEBSOCKET_VERSION": "13", "HTTP_COOKIE": "a=b",
				"HTTP_M0_SLOT": "", "HTTP_GRIP_SIG": ""})
		}},
		{"refused", func(t *testing.T, s *site) {
			r := s.refused(403, ask("status=403 Forbidden", "body=not you", "X-Why: 1"))
			if r.Body != "not you" || r.Fields.Get("X-Why") != "1" {
				t.Errorf("refusal %q %v, want the view's", r.Body, r.Fields)
			}
		}},
		{"redirected", func(t *testing.T, s *site) {
			r := s.refused(302, ask("status=302 Found", "Location: /login"))
			if got := r.Fields.Get("Location"); got != "/login" {
				t.Errorf("Location %q, want the view's", got)
			}
		}},
		{"not-found", func(_ *testing.T, s *site) { s.refused(404, "/nothing") }},
		{"failed", func(_ *testing.T, s *site) { s.refused(500, on("a", "body=raise")) }},
		{"answered", func(_ *testing.T, s *site) { s.refused(200, ask("X-A: b")) }},
		{"not-valid", func(_ *testing.T, s *site) {
			s.refused(502, on("a", "M0-Opcode: morse"))
			s.refused(502, on(strings.Repeat("a, ", 20)+"a"))
		}},
		{"no-opening", func(_ *testing.T, s *site) {
			r := s.get("/ws")
			if r.StatusCode != 426 || r.Header.Get("Upgrade") != "websocket" {
				s.t.Errorf("GET /ws = %s %v, want 426 that names the protocol", r.Status, r.Header)
			}
		}},
		{"wrong-opening", func(_ *testing.T, s *site) {
			const head = "GET /ws HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: "
			for lines, want := range map[string]int{
				"Upgrade\r\nSec-WebSocket-Version: 13":                                400,
				"Upgrade\r\nSec-WebSocket-Version: 8\r\nSec-WebSocket-Key: " + anyKey: 426,
				"close\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " + anyKey:  426, // no upgrade
				"Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dG9vIHNo": 400,
			} {
				if got, body := s.raw(head + lines); got != want {
					s.t.Errorf("opening with %q = %d %q, want %d", lines, got, body, want)
				}
			}
		}},
		{"early-messages-wait", func(t *testing.T, s *site) {
			done := make(chan *socket)
			go func() { done <- s.open(on("a", "sleep=0.2", "body=in")) }()
			c := <-done
			c.send("first")
			c.want("in")
			c.want("echo first")
		}},
	})
}

// anyKey is a key that is valid.
const anyKey = "AAAAAAAAAAAAAAAAAAAAAA=="

// checkSeen looks into what a view was told.
func checkSeen(t *testing.T, text string, wants map[string]string) {
	t.Helper()
	seen := map[string]string{}
	if err := json.Unmarshal([]byte(text), &seen); err != nil {
		t.Fatalf("the view says %q: %v", text, err)
	}
	for name, want := range wants {
		if got := seen[name]; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

// get makes a request, and the answer is not read.
func (s *site) get(target string) *http.Response {
	s.t.Helper()
	r, err := http.Get(s.URL + target)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Body.Close()
	return r
}

// raw sends a head as it is and gives the status and the body of the answer.
func (s *site) raw(head string) (status int, body string) {
	s.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(rawws.Timeout))
	if _, err := conn.Write([]byte(head + "\r\n\r\n")); err != nil {
		s.t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		s.t.Fatalf("%.80q: %v", head, err)
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatalf("%.80q: %v", head, err)
	}
	return resp.StatusCode, string(text)
}

// TestOrigin: pages of the same host may connect, and those that are named.
func TestOrigin(t *testing.T) {
	s := start(t, 1)
	host := strings.TrimPrefix(s.URL, "http://")
	s.open("/ws")
	s.open("/ws", "Origin: http://"+host)
	s.open("/ws", "Host: shop.example", "Origin: https://shop.example")
	for _, origin := range []string{"https://evil.example", "http://127.0.0.1:1", "null",
		"http://" + host + ".evil"} {
		r := s.refused(403, on("a", "body=raise"), "Origin: "+origin)
		if !strings.Contains(r.Body, "Origin") {
			t.Errorf("refusal of %s says %q, want the reason", origin, r.Body)
		}
	}
	s = start(t, 1, "--ws-origins=https://a.example", "--ws-origins=https://b.example:8443")
	s.open("/ws", "Origin: https://A.example")
	s.open("/ws", "Origin: https://b.example:8443")
	s.open("/ws", "Origin: "+s.URL)
	s.refused(403, "/ws", "Origin: https://b.example")
	start(t, 1, "--ws-origins=*").open("/ws", "Origin: https://anybody.example")
}
