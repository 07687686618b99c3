// SPDX-License-Identifier: MIT

//go:build linux

package wssite

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"m0serve.dev/apps/internal/rawws"
	"m0serve.dev/http/ws"
)

// tell is a message that says how the view is to answer it.
func tell(parts map[string]any) string {
	text, err := json.Marshal(parts)
	if err != nil {
		panic(err) // maps of texts and numbers
	}
	return string(text)
}

// TestMessages: every message becomes a request, and its answer the reply.
func TestMessages(t *testing.T) {
	play(t, start(t, 2), []testCase{
		{"text", func(_ *testing.T, s *site) {
			c := s.open("/ws")
			for _, text := range []string{"a", "", "ü €", strings.Repeat("x", 70_000)} {
				c.send(text)
				c.want("echo " + text)
			}
		}},
		{"binary", func(_ *testing.T, s *site) {
			c := s.open("/ws")
			c.sendAs(ws.OpBinary, "\x00\xff\r\n")
			c.wantBinary("\n\r\xff\x00")
		}},
		{"request", messageRequest},
		{"order", func(_ *testing.T, s *site) {
			c := s.open("/ws")
			for i := range 300 {
				c.send(fmt.Sprint(i))
			}
			for i := range 300 {
				c.want(fmt.Sprint("echo ", i))
			}
		}},
		{"nothing", func(_ *testing.T, s *site) {
			c := s.open("/ws")
			c.send(tell(map[string]any{}))
			c.send(tell(map[string]any{"status": "204 No Content"}))
			c.silent()
		}},
		{"not-utf-8", func(_ *testing.T, s *site) {
			c := s.open("/ws")
			c.send(tell(map[string]any{"body": "\u00ff"}))
			c.wantBinary("\xff")
		}},
		{"longest", func(_ *testing.T, s *site) {
			c := s.open("/ws")
			c.sendAs(ws.OpBinary, strings.Repeat("x", 1<<20))
			c.wantBinary(strings.Repeat("x", 1<<20))
		}},
		{"long-answer", func(_ *testing.T, s *site) {
			c := s.open("/ws")
			c.send(tell(map[string]any{"size": 3 << 20}))
			c.want(strings.Repeat("x", 3<<20))
		}},
		{"fragments", func(_ *testing.T, s *site) {
			c := s.open("/ws")
			c.frame(ws.OpText, false, "a\xc3")
			c.frame(ws.OpPing, true, "p")
			c.frame(ws.OpContinuation, false, "\xbc")
			c.frame(ws.OpContinuation, true, "b")
			if op, data, err := c.Next(rawws.Timeout); op != ws.OpPong || data != "p" || err != nil {
				s.t.Errorf("a ping between fragments is answered by %d %q, %v", op, data, err)
			}
			c.want("echo aüb")
		}},
		{"channels-of-an-answer", func(_ *testing.T, s *site) {
			c := s.open(on("old-1, old-2"))
			c.send(tell(map[string]any{"f": []string{"M0-Channel: new, old-2"}, "body": "moved"}))
			c.want("moved")
			for _, channel := range []string{"old-1", "old-2", "new"} {
				s.publish(channel, "of "+channel)
			}
			c.want("of old-2")
			c.want("of new")
			c.wantSeen("HTTP_M0_CHANNEL", "new, old-2")
			c.send(tell(map[string]any{"f": []string{"M0-Channel: "}, "body": "left"}))
			c.want("left")
			s.publish("new", "unheard")
			c.wantSeen("HTTP_M0_CHANNEL", "")
		}},
	})
}

// messageRequest looks at the request that a message becomes.
func messageRequest(t *testing.T, s *site) {
	c := s.open(on("news, sport", "body=seen"), "Cookie: a=b", "Authorization: Basic eA==",
		"Origin: "+s.URL, "X-Forwarded-Proto: https", "X-Forwarded-For: 198.51.100.7",
		"User-Agent: tests", "If-Match: x", "M0-Slot: mine", "Grip-Sig: mine", "Accept-Language: de")
	if _, err := c.Text(); err != nil {
		t.Fatal(err)
	}
	seen := c.seen()
	for name, want := range map[string]string{
		"REQUEST_METHOD": "POST", "PATH_INFO": "/ws/message", "QUERY_STRING": "",
		"HTTP_M0_CHANNEL": "news, sport", "HTTP_M0_OPCODE": "text", "CONTENT_LENGTH": "4",
		"CONTENT_TYPE": "text/plain; charset=utf-8", "HTTP_COOKIE": "a=b",
		"HTTP_AUTHORIZATION": "Basic eA==", "HTTP_ORIGIN": s.URL, "HTTP_USER_AGENT": "tests",
		"HTTP_HOST": strings.TrimPrefix(s.URL, "http://"), "HTTP_ACCEPT_LANGUAGE": "de",
		"wsgi.url_scheme": "https", "REMOTE_ADDR": "198.51.100.7", "HTTP_UPGRADE": "",
		"HTTP_CONNECTION": "", "HTTP_SEC_WEBSOCKET_KEY": "", "HTTP_GRIP_SIG": "", "HTTP_IF_MATCH": "",
	} {
		if got := seen[name]; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	slot := seen["HTTP_M0_SLOT"]
	again, other := c.seen()["HTTP_M0_SLOT"], s.open("/ws").seen()["HTTP_M0_SLOT"]
	if len(slot) < 20 || again != slot || other == slot {
		t.Errorf("M0-Slot %q is not the name of one socket", slot)
	}
}

// sendAs sends a message of a kind.
func (c *socket) sendAs(op ws.Op, data string) { c.frame(op, true, data) }

// frame sends a frame.
func (c *socket) frame(op ws.Op, fin bool, data string) {
	c.t.Helper()
	if err := c.Frame(op, fin, data); err != nil {
		c.t.Fatalf("send a frame: %v", err)
	}
}

// seen asks the view what it sees of a message.
func (c *socket) seen() map[string]string {
	c.t.Helper()
	c.send("seen")
	text, err := c.Text()
	if err != nil {
		c.t.Fatal(err)
	}
	seen := map[string]string{}
	if err := json.Unmarshal([]byte(text), &seen); err != nil {
		c.t.Fatalf("the view says %q: %v", text, err)
	}
	return seen
}

// wantSeen wants the view to see something.
func (c *socket) wantSeen(name, want string) {
	c.t.Helper()
	if got := c.seen()[name]; got != want {
		c.t.Errorf("%s is %q, want %q", name, got, want)
	}
}

// TestEvents: what is published to the channels of a socket arrives as texts, from
// whichever worker.
func TestEvents(t *testing.T) {
	play(t, start(t, 2), []testCase{
		{"data-alone", func(_ *testing.T, s *site) {
			c := s.open(on("a"))
			s.publish("a", "one", "event=named")
			s.publish("a", "two\nlines")
			s.publish("a", "")
			s.publish("a", "ü")
			for _, want := range []string{"one", "two\nlines", "", "ü"} {
				c.want(want)
			}
		}},
		{"every-worker", func(t *testing.T, s *site) {
			var all []*socket
			for range 16 {
				all = append(all, s.open(on("crowd")))
			}
			s.publish("crowd", "all")
			for _, c := range all {
				c.want("all")
			}
			if n := len(s.workersOf(all)); n != 2 {
				t.Errorf("vacuous: the sockets are on %d workers, want 2", n)
			}
		}},
		{"order", func(_ *testing.T, s *site) {
			c := s.open(on("many"))
			s.publish("many", "%i", "times=200")
			for i := range 200 {
				c.want(fmt.Sprint(i))
			}
		}},
		{"others-are-not-heard", func(_ *testing.T, s *site) {
			c := s.open(on("mine"))
			s.publish("yours", "a")
			c.silent()
		}},
		{"large", func(_ *testing.T, s *site) {
			c := s.open(on("large"))
			s.publish("large", "", "size=300000")
			c.want(strings.Repeat("x", 300_000))
		}},
	})
}

// workersOf are the processes that serve sockets.
func (s *site) workersOf(all []*socket) map[string]bool {
	s.t.Helper()
	pids := map[string]bool{}
	for _, c := range all {
		c.send("pid")
		text, err := c.Text()
		if err != nil {
			s.t.Fatal(err)
		}
		pids[text] = true
	}
	return pids
}

// TestLimits: what a client may not send closes its socket with the code for it.
func TestLimits(t *testing.T) {
	s := start(t, 1)
	sent := func(op ws.Op, data string) []byte {
		return ws.AppendMasked(nil, op, true, [4]byte{}, []byte(data))
	}
	for _, c := range []struct {
		name string
		raw  []byte
		code ws.Code
	}{
		{"too long", sent(ws.OpBinary, strings.Repeat("x", 1<<20+1)), ws.CodeTooBig},
		{"not UTF-8", sent(ws.OpText, "\xff"), ws.CodeInvalidData},
		{"not masked", ws.AppendFrame(nil, ws.OpText, true, []byte("a")), ws.CodeProtocol},
		{"reserved", []byte{0x83, 0x80, 0, 0, 0, 0}, ws.CodeProtocol},
		{"continues nothing", sent(ws.OpContinuation, ""), ws.CodeProtocol},
		{"long ping", []byte{0x89, 0xfe, 0, 126, 0, 0, 0, 0}, ws.CodeProtocol},
		{"close code", sent(ws.OpClose, "\x03\xed"), ws.CodeProtocol},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := (&site{s.Process, t}).open("/ws")
			_ = w.Raw(c.raw) // the server may close before it is read
			w.wantEnd(c.code)
		})
	}
}
