// SPDX-License-Identifier: MIT

//go:build linux

package asgisite

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestWebSocketHandshake: scope, accept, refusal and denial.
func TestWebSocketHandshake(t *testing.T) {
	play(t, group{name: "handshake", cases: slices.Concat(wsScope, wsAccept, wsRefusal)})
}

// scopeOf opens /scope and gives what it tells.
func (p *probe) scopeOf(target string, headers ...string) *dump {
	d := new(dump)
	p.socket(target, headers...).json(d)
	return d
}

var wsScope = []testCase{
	{"scope", func(p *probe) {
		s := p.socket("/scope/%C3%B6?q=%20", "X-One: caf\xe9")
		d := new(dump)
		s.json(d)
		p.equal("type", d.Type, "websocket")
		p.equal("scheme", d.Scheme, "ws")
		p.equal("http_version", d.HTTPVersion, "1.1")
		p.equal("path", d.Path, "/scope/ö")
		p.equal("raw_path", d.rawPath(), "/scope/%C3%B6")
		p.equal("query_string", d.Query, "q=%20")
		p.equal("root_path", d.RootPath, "")
		p.equal("x-one", d.values("x-one"), []string{latin("caf\xe9")})
	}},
	{"spec-version-2.5", func(p *probe) {
		p.equal("spec_version", p.scopeOf("/scope").ASGI["spec_version"], "2.5")
	}},
	{"no-method", func(p *probe) { p.equal("method", p.scopeOf("/scope").Method, "") }},
	{"peers", func(p *probe) {
		s := p.socket("/scope")
		d := new(dump)
		s.json(d)
		for name, c := range map[string]struct {
			addr net.Addr
			got  []any
		}{"client": {s.LocalAddr(), d.Client}, "server": {s.RemoteAddr(), d.Server}} {
			host, port, _ := net.SplitHostPort(c.addr.String())
			number, _ := strconv.Atoi(port)
			p.equal(name, c.got, []any{host, float64(number)})
		}
	}},
	{"state", func(p *probe) {
		p.equal("state[greeting]", p.scopeOf("/scope").Greeting, "made at startup")
	}},
	{"subprotocols-none", func(p *probe) {
		p.equal("subprotocols", p.scopeOf("/scope").Subs, []string{})
	}},
	{"subprotocols-list", func(p *probe) {
		p.equal("subprotocols", p.scopeOf("/scope", "Sec-WebSocket-Protocol: a, b,c").Subs,
			[]string{"a", "b", "c"})
	}},
	{"subprotocols-lines", func(p *probe) {
		d := p.scopeOf("/scope", "Sec-WebSocket-Protocol: a", "Sec-WebSocket-Protocol: b")
		p.equal("subprotocols", d.Subs, []string{"a", "b"})
	}},
	{"offers-denial", func(p *probe) {
		if d := p.scopeOf("/scope"); d.Extensions["websocket.http.response"] == nil {
			p.Errorf("extensions = %v, want websocket.http.response", d.Extensions)
		}
	}},
}

var wsAccept = []testCase{
	{"accept", func(p *probe) {
		a := p.socket("/echo").head
		p.equal("accept", a.get("Sec-WebSocket-Accept"), acceptOf(sampleKey))
		p.equal("upgrade", strings.ToLower(a.get("Upgrade")), "websocket")
		p.equal("connection has upgrade", hasToken(a.get("Connection"), "upgrade"), true)
		p.equal("protocol", a.all("Sec-WebSocket-Protocol"), []string(nil))
	}},
	{"connection-list", func(p *probe) {
		c := p.dial()
		c.write(request("GET", "/echo", "upgrade: WebSocket", "connection: keep-alive, Upgrade",
			"sec-websocket-version: 13", "sec-websocket-key: "+sampleKey))
		p.equal("status", c.head("GET").status, 101)
	}},
	{"subprotocol", func(p *probe) {
		s := p.socket("/choose?sub=b", "Sec-WebSocket-Protocol: a, b")
		p.equal("protocol", s.head.all("Sec-WebSocket-Protocol"), []string{"b"})
	}},
	{"subprotocol-none-chosen", func(p *probe) {
		s := p.socket("/choose?none=1", "Sec-WebSocket-Protocol: a, b")
		p.equal("protocol", s.head.all("Sec-WebSocket-Protocol"), []string(nil))
	}},
	{"headers", func(p *probe) {
		a := p.socket("/choose?headers=1").head
		p.equal("x-one", a.get("X-One"), "caf\xe9")
		p.equal("set-cookie", a.all("Set-Cookie"), []string{"a=1", "b=2"})
	}},
	{"no-answer-ahead-of-accept", func(p *probe) {
		c := p.dial()
		c.write(opening(p.at("/hold")))
		p.saw("websocket.connect")
		p.equal("silence", c.silent(100*time.Millisecond), true)
		p.openGate("")
		p.equal("status", c.head("GET").status, 101)
		p.equal("message", (&socket{c, nil}).text(), "in")
	}},
	{"frames-behind-the-handshake", func(p *probe) {
		c := p.dial()
		c.write(opening(p.at("/echo")) + string(frame(final|opText, []byte("early"))))
		p.equal("status", c.head("GET").status, 101)
		(&socket{c, nil}).echoed(opText, "early")
	}},
	{"leaves-ahead-of-accept", func(p *probe) {
		c := p.dial()
		c.write(opening(p.at("/hold")))
		p.saw("websocket.connect")
		c.Close()
		p.openGate("")
		p.saw("ended")
		p.equal("next answer", string(p.get("/unread").body), "unread\n")
	}},
}

// openingCase changes the opening handshake: it may not become a WebSocket.
func openingCase(name string, status []int, text string) testCase {
	return testCase{name, func(p *probe) {
		c := p.dial()
		c.write(text)
		if a := c.read("GET"); !slices.Contains(status, a.status) {
			p.Errorf("%q = %d, want %d", short(text), a.status, status)
		}
	}}
}

var wsRefusal = []testCase{
	{"close-is-403", func(p *probe) {
		_, a := p.handshake(p.at("/deny?by=close"))
		p.equal("status", a.status, 403)
		p.saw("disconnect 1006", "ended")
	}},
	{"error-is-500", func(p *probe) {
		_, a := p.handshake(p.at("/deny?by=error"))
		p.equal("status", a.status, 500)
	}},
	{"silence-is-500", func(p *probe) {
		_, a := p.handshake(p.at("/deny?by=silence"))
		p.equal("status", a.status, 500)
	}},
	{"denial-response", func(p *probe) {
		_, a := p.handshake(p.at("/deny?by=response"))
		p.equal("status", a.status, 401)
		p.equal("x-why", a.get("X-Why"), "no entry")
		p.equal("body", string(a.body), "no entry")
		p.equal("whole", a.whole, true)
		p.saw("ended")
	}},
	{"unknown-route-is-403", func(p *probe) {
		_, a := p.handshake("/none")
		p.equal("status", a.status, 403)
	}},
	openingCase("version-12", []int{426, 400}, request("GET", "/echo", "Upgrade: websocket",
		"Connection: Upgrade", "Sec-WebSocket-Version: 12", "Sec-WebSocket-Key: "+sampleKey)),
	openingCase("no-key", []int{400}, request("GET", "/echo", "Upgrade: websocket",
		"Connection: Upgrade", "Sec-WebSocket-Version: 13")),
	openingCase("short-key", []int{400}, request("GET", "/echo", "Upgrade: websocket",
		"Connection: Upgrade", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: c2hvcnQ=")),
	openingCase("post", []int{400, 405, 426}, "POST"+opening("/echo", "Content-Length: 0")[3:]),
	openingCase("upgrade-to-something-else", []int{200}, request("GET", "/unread",
		"Upgrade: h2c", "Connection: Upgrade")),
	openingCase("upgrade-without-connection", []int{200, 400}, request("GET", "/unread",
		"Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: "+sampleKey)),
	openingCase("http-1.0", []int{200, 400, 426, 505},
		strings.Replace(opening("/unread"), "HTTP/1.1", "HTTP/1.0", 1)),
	{"http-goes-on-after-403", func(p *probe) {
		c, a := p.handshake("/deny?by=close")
		p.equal("status", a.status, 403)
		if a.framing == "close" || strings.EqualFold(a.get("Connection"), "close") {
			return
		}
		c.write(request("GET", "/unread"))
		if a, err := c.readErr("GET"); err == nil && a.status != 200 {
			p.Errorf("next answer = %d", a.status)
		}
	}},
	wsMisuse("misuse-send-first", "send-first", func(p *probe, c *conn, a *answer) {
		p.equal("status", a.status, 500)
	}),
	wsMisuse("misuse-injected", "injected", func(p *probe, c *conn, a *answer) {
		p.equal("status", a.status, 500)
		p.equal("x-two", a.get("X-Two"), "")
	}),
}

// wsMisuse sends messages out of turn; they are refused in the application.
func wsMisuse(name, kind string, check func(p *probe, c *conn, a *answer)) testCase {
	return testCase{name, func(p *probe) {
		c := p.dial()
		c.write(opening(p.at("/misuse?case=" + kind)))
		a := c.head("GET")
		check(p, c, a)
		p.saw("ended")
		if n, _ := p.count("refused "); n != 1 {
			p.Errorf("noted %s, want the message refused", brief(p.events()))
		}
	}}
}

// TestWebSocketMessages: data both ways.
func TestWebSocketMessages(t *testing.T) {
	play(t, group{name: "messages", cases: slices.Concat(wsData, wsFragments, wsBroken)})
}

func echoCase(name string, op byte, payload string) testCase {
	return testCase{name, func(p *probe) {
		s := p.socket("/echo")
		s.send(op, payload)
		s.echoed(op, payload)
	}}
}

var wsData = []testCase{
	echoCase("text", opText, "hello"),
	echoCase("text-utf8", opText, "zażółć 𝄞 \x00 \u2028"),
	echoCase("text-empty", opText, ""),
	echoCase("binary", opBinary, "\x00\xff\xfe"),
	echoCase("binary-empty", opBinary, ""),
	echoCase("length-125", opBinary, string(sample(125))),
	echoCase("length-126", opBinary, string(sample(126))),
	echoCase("length-127", opText, strings.Repeat("t", 127)),
	echoCase("length-65535", opBinary, string(sample(65535))),
	echoCase("length-65536", opText, strings.Repeat("u", 65536)),
	echoCase("length-1MiB", opBinary, string(sample(1<<20))),
	{"exactly-one-kind", func(p *probe) {
		s := p.socket("/kinds")
		for _, op := range []byte{opText, opBinary} {
			for _, payload := range []string{"x", ""} {
				var got struct {
					One   bool
					Types []string
				}
				s.send(op, payload)
				s.json(&got)
				want := []string{"str", "NoneType"}
				if op == opBinary {
					want = []string{"NoneType", "bytes"}
				}
				p.equal("one of two", got.One, true)
				p.equal("types", got.Types, want)
			}
		}
	}},
	{"other-key-may-be-none", func(p *probe) {
		s := p.socket("/shapes")
		s.echoed(opText, "t")
		s.echoed(opBinary, "b")
		s.echoed(opBinary, "")
		s.echoed(opText, "")
	}},
	{"many-in-order", func(p *probe) {
		s := p.socket("/echo")
		var all []byte
		for i := range 500 {
			all = append(all, frame(final|opText, fmt.Appendf(nil, "message %d", i))...)
		}
		go func() { _, _ = s.Write(all) }()
		for i := range 500 {
			s.echoed(opText, fmt.Sprintf("message %d", i))
		}
	}},
	{"both-ways-at-once", func(p *probe) {
		s := p.socket("/ticks")
		s.send(opText, "now")
		for i := range 20 {
			p.equal("tick", s.text(), fmt.Sprintf("tick %d", i))
		}
		p.equal("answer", s.text(), "got now")
		s.wantEnd(1000)
	}},
	{"twenty-at-once", func(p *probe) {
		var all []*socket
		for range 20 {
			all = append(all, p.socket("/echo"))
		}
		for i, s := range all {
			s.send(opText, fmt.Sprint(i))
		}
		for i, s := range all {
			s.echoed(opText, fmt.Sprint(i))
		}
	}},
}

// framesCase sends frames as they are, whole and byte by byte, and wants a message back.
func framesCase(name string, op byte, want string, frames ...[]byte) testCase {
	return testCase{name, func(p *probe) {
		text := string(slices.Concat(frames...))
		s := p.socket("/echo")
		s.write(text)
		s.echoed(op, want)
		for i := range len(text) {
			s.write(text[i : i+1])
		}
		s.echoed(op, want)
	}}
}

var wsFragments = []testCase{
	framesCase("byte-by-byte", opText, "whole", frame(final|opText, []byte("whole"))),
	framesCase("fragments", opText, "onetwothree", frame(opText, []byte("one")),
		frame(opMore, []byte("two")), frame(final|opMore, []byte("three"))),
	framesCase("fragments-binary", opBinary, "\x00\xff", frame(opBinary, []byte{0}),
		frame(final|opMore, []byte{0xff})),
	framesCase("fragments-empty", opText, "x", frame(opText, nil), frame(opMore, nil),
		frame(opMore, []byte("x")), frame(final|opMore, nil)),
	framesCase("fragments-utf8-split", opText, "ö", frame(opText, []byte("\xc3")),
		frame(final|opMore, []byte("\xb6"))),
	framesCase("fragments-around-a-ping", opText, "onetwo", frame(opText, []byte("one")),
		frame(final|opPing, []byte("ping")), frame(final|opMore, []byte("two"))),
	framesCase("pong-nobody-asked-for", opText, "on", frame(final|opPong, []byte("pong")),
		frame(final|opText, []byte("on"))),
	{"ping", func(p *probe) {
		s := p.socket("/echo")
		for _, payload := range []string{"", "ping", strings.Repeat("p", 125)} {
			s.send(opPing, payload)
			f, err := s.nextErr()
			if err != nil || f.op != opPong || string(f.payload) != payload {
				p.Fatalf("answer to ping %q = %+v, %v", payload, f, err)
			}
		}
		s.send(opText, "not told")
		s.echoed(opText, "not told")
	}},
}

// brokenCase sends bytes that break the protocol and wants them answered with a code.
func brokenCase(name string, code int, bytes []byte) testCase {
	return testCase{name, func(p *probe) {
		s := p.socket(p.at("/watch"))
		p.equal("message", s.text(), "in")
		_, _ = s.Write(bytes)
		s.wantEnd(code)
		p.saw("ended")
	}}
}

var wsBroken = []testCase{
	brokenCase("broken-unmasked", 1002, append(header(final|opText, 0, 2), "no"...)),
	brokenCase("broken-reserved-bit", 1002, frame(final|0x40|opText, []byte("x"))),
	brokenCase("broken-opcode", 1002, frame(final|0x3, []byte("x"))),
	brokenCase("broken-control-opcode", 1002, frame(final|0xB, nil)),
	brokenCase("broken-continuation", 1002, frame(final|opMore, []byte("x"))),
	brokenCase("broken-new-within-fragments", 1002,
		append(frame(opText, []byte("a")), frame(final|opText, []byte("b"))...)),
	brokenCase("broken-long-ping", 1002, frame(final|opPing, sample(126))),
	brokenCase("broken-ping-in-parts", 1002, frame(opPing, []byte("x"))),
	brokenCase("broken-utf8", 1007, frame(final|opText, []byte("\xff\xfe"))),
	brokenCase("broken-utf8-surrogate", 1007, frame(final|opText, []byte("\xed\xa0\x80"))),
	brokenCase("broken-utf8-cut", 1007, frame(final|opText, []byte("\xc3"))),
	brokenCase("broken-close-code", 1002, frame(final|opClose, closing(1005, ""))),
	brokenCase("broken-close-999", 1002, frame(final|opClose, closing(999, ""))),
	brokenCase("broken-close-one-byte", 1002, frame(final|opClose, []byte{3})),
	brokenCase("broken-close-reason", 1007, frame(final|opClose, closing(1000, "\xff"))),
	brokenCase("too-big", 1009, append(header(final|opBinary, 0x80, 1<<30), make([]byte, 4096)...)),
}
