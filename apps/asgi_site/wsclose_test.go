// SPDX-License-Identifier: MIT

//go:build linux

package asgisite

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestWebSocketClose: the end of a connection, from either side, and what the other hears.
func TestWebSocketClose(t *testing.T) {
	play(t, group{name: "close", cases: slices.Concat(wsClientCloses, wsServerCloses)})
}

// TestWebSocketErrorsThatLeave: what would end a program ends the connection only.
func TestWebSocketErrorsThatLeave(t *testing.T) {
	play(t, group{name: "wsleave", alone: true, cases: []testCase{
		{"exit", func(p *probe) {
			s := p.socket("/leave?by=exit")
			p.equal("message", s.text(), "hello")
			s.wantEnd(1011)
			p.equal("next answer", string(p.get("/unread").body), "unread\n")
		}},
	}})
}

// heardCase closes from the client and wants the application to hear code and reason.
func heardCase(name string, payload []byte, heard ...string) testCase {
	return testCase{name, func(p *probe) {
		s := p.socket(p.at("/echo"))
		s.write(string(frame(final|opClose, payload)))
		p.saw(append(heard, "ended")...)
		code, _ := s.end()
		want := 1005
		if len(payload) > 0 {
			want = int(payload[0])<<8 | int(payload[1])
		}
		if code != want && code != 1000 {
			p.Errorf("close frame came back with %d, want %d", code, want)
		}
		p.equal("closed", s.closed(), true)
	}}
}

var wsClientCloses = []testCase{
	heardCase("heard-1000", closing(1000, ""), "disconnect 1000"),
	heardCase("heard-1001", closing(1001, ""), "disconnect 1001"),
	heardCase("heard-reason", closing(3456, "zoë"), "disconnect 3456", "reason 'zoë'"),
	heardCase("heard-4999", closing(4999, "own"), "disconnect 4999", "reason 'own'"),
	heardCase("heard-no-code", nil, "disconnect 1005"),
	heardCase("heard-no-reason", closing(1000, ""), "reason ''"),
	{"cut-is-1006", func(p *probe) {
		s := p.socket(p.at("/watch"))
		p.equal("message", s.text(), "in")
		s.Close()
		p.saw("disconnect 1006", "ended")
	}},
	{"reset-is-1006", func(p *probe) {
		s := p.socket(p.at("/watch"))
		p.equal("message", s.text(), "in")
		s.reset()
		p.saw("disconnect 1006", "ended")
	}},
	{"cut-within-a-frame-is-1006", func(p *probe) {
		s := p.socket(p.at("/watch"))
		p.equal("message", s.text(), "in")
		s.write(string(frame(final|opText, []byte("whole"))[:7]))
		s.Close()
		p.saw("disconnect 1006", "ended")
	}},
	{"send-is-OSError", func(p *probe) {
		s := p.socket(p.at("/watch?send=1"))
		p.equal("message", s.text(), "in")
		s.write(string(frame(final|opClose, closing(1000, ""))))
		p.saw("disconnect 1000", "send OSError", "ended")
	}},
	{"send-is-OSError-after-cut", func(p *probe) {
		s := p.socket(p.at("/watch?send=1"))
		p.equal("message", s.text(), "in")
		s.Close()
		p.saw("disconnect 1006", "send OSError", "ended")
	}},
	{"messages-ahead-of-close-are-heard", func(p *probe) {
		s := p.socket(p.at("/echo"))
		s.write(string(frame(final|opText, []byte("last"))) +
			string(frame(final|opClose, closing(1000, ""))))
		s.echoedOrClosed("last")
		p.saw("ended") // by the disconnect, or by sending to who has left
	}},
	{"nothing-behind-close-is-heard", func(p *probe) {
		s := p.socket(p.at("/echo"))
		_, _ = s.Write(slices.Concat(frame(final|opClose, closing(1000, "")),
			frame(final|opText, []byte("late"))))
		if op, payload, err := s.messageErr(); err == nil && op != opClose {
			p.Errorf("echo %q of what came behind the close frame", payload)
		}
	}},
}

// echoedOrClosed wants the echo, unless the close frame overtook it.
func (s *socket) echoedOrClosed(payload string) {
	op, got, err := s.messageErr()
	if err != nil || op == opText && string(got) != payload {
		s.p.Errorf("echo = %d %q, %v, want %q", op, got, err, payload)
	}
}

// closeCase lets the application close and wants its close frame.
func closeCase(name, query string, code int, reason string) testCase {
	return testCase{name, func(p *probe) {
		s := p.socket(p.at("/close?" + query))
		p.equal("reason", s.wantEnd(code), reason)
		p.equal("closed", s.closed(), true)
		p.saw("ended")
		if n, _ := p.count("disconnect "); n != 1 {
			p.Errorf("noted %s, want one websocket.disconnect", brief(p.events()))
		}
	}}
}

var wsServerCloses = []testCase{
	closeCase("close", "x=1", 1000, ""),
	closeCase("close-code", "code=4001", 4001, ""),
	closeCase("close-code-and-reason", "code=3001&reason=zo%C3%AB", 3001, "zoë"),
	closeCase("close-1001", "code=1001", 1001, ""),
	closeCase("close-and-send", "send=1", 1000, ""),
	{"close-send-refused", func(p *probe) {
		s := p.socket(p.at("/close?send=1"))
		s.wantEnd(1000)
		p.saw("ended")
		p.notSeen("send worked")
	}},
	{"close-client-never-answers", func(p *probe) {
		s := p.socket(p.at("/close?code=4002"))
		code, _ := s.end()
		p.equal("code", code, 4002)
		s.Close()
		p.saw("ended")
	}},
	{"return-is-1000", func(p *probe) {
		s := p.socket(p.at("/leave?by=return"))
		p.equal("message", s.text(), "hello")
		s.wantEnd(1000)
	}},
	{"error-is-1011", func(p *probe) {
		s := p.socket(p.at("/leave?by=error"))
		p.equal("message", s.text(), "hello")
		s.wantEnd(1011)
		ok := p.until(func() bool {
			return strings.Contains(p.s.text(), "meant to fail behind the handshake")
		})
		if !ok {
			p.Errorf("the log has no traceback of it")
		}
	}},
	wsMisuse("misuse-accept-twice", "accept-twice", wantEndOf(1011)),
	wsMisuse("misuse-unknown", "unknown", wantEndOf(1011)),
	wsMisuse("misuse-http", "http", wantEndOf(1011)),
	wsMisuse("misuse-neither", "neither", wantEndOf(1011)),
	wsMisuse("misuse-text-of-bytes", "text-bytes", wantEndOf(1011)),
	wsMisuse("misuse-bad-code", "bad-code", wantEndOf(1011)),
	wsMisuse("misuse-long-reason", "long-reason", wantEndOf(1011)),
}

// wantEndOf wants the connection closed with code.
func wantEndOf(code int) func(p *probe, c *conn, a *answer) {
	return func(p *probe, c *conn, a *answer) {
		if a.status != 101 {
			p.Fatalf("handshake = %d, want 101", a.status)
		}
		(&socket{c, a}).wantEnd(code)
	}
}

// TestWebSocketBackpressure: who does not read holds up the other side, and nobody else.
func TestWebSocketBackpressure(t *testing.T) {
	play(t, group{name: "wspressure", width: 2, cases: []testCase{
		{"send-waits", func(p *probe) {
			const parts = 1024 // of 64 KiB
			s := p.socket(p.at("/flood?n=1024"))
			if n, _ := p.settled("sent ", 500*time.Millisecond); n > parts*3/4 {
				p.Errorf("%d of %d messages are sent while nobody reads", n, parts)
			}
			p.equal("other answer", string(p.get("/unread").body), "unread\n")
			for i := range parts {
				if _, payload := s.message(); len(payload) != 64<<10 {
					p.Fatalf("message %d has %d bytes", i, len(payload))
				}
			}
			s.wantEnd(1000)
		}},
		{"send-is-released", func(p *probe) {
			s := p.socket(p.at("/flood?n=100000"))
			p.settled("sent ", 300*time.Millisecond)
			s.Close()
			p.saw("OSError", "ended")
		}},
		{"receive-waits", func(p *probe) {
			block := sample(64 << 10)
			s := p.socket(p.at("/sink"))
			p.saw("in")
			one := frame(final|opBinary, block)
			sent := s.fill(one, 1024*len(one), 500*time.Millisecond)
			if sent > 768*len(one) {
				p.Errorf("the server took %d MiB that nobody receives", sent>>20)
			}
			p.openGate("")
			go func() {
				if rest := sent % len(one); rest > 0 {
					_, _ = s.Write(one[rest:])
				}
				_, _ = s.Write(frame(final|opText, []byte("end")))
			}()
			var got digest
			if err := json.Unmarshal([]byte(s.text()), &got); err != nil {
				p.Fatalf("%v", err)
			}
			whole := (sent + len(one) - 1) / len(one)
			p.equal("length", got.Length, whole*len(block))
		}},
	}})
}
