// SPDX-License-Identifier: MIT

//go:build linux

package asgisite

import (
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestErrors: exceptions and messages out of turn. Before the first byte they become a
// 500; behind it the answer is cut, and never ends as if it were whole.
func TestErrors(t *testing.T) {
	play(t, group{name: "errors", cases: slices.Concat(errorCases, misuseCases())})
}

// TestErrorsThatLeave: exceptions that end a program do not end the server.
func TestErrorsThatLeave(t *testing.T) {
	play(t, group{name: "leave", alone: true, cases: []testCase{
		leaveCase("exit-ahead", "/fail?at=head&kind=exit", true),
		leaveCase("exit-behind", "/fail?at=body&kind=exit", false),
		leaveCase("interrupt-ahead", "/fail?at=head&kind=interrupt", true),
		leaveCase("interrupt-behind", "/fail?at=body&kind=interrupt", false),
	}})
}

// failCase wants a 500 and a server that goes on.
func failCase(name, target string) testCase {
	return testCase{name, func(p *probe) {
		a := p.get(p.at(target))
		p.equal("status", a.status, 500)
		p.equal("whole", a.whole, true)
		p.equal("next answer", string(p.get("/unread").body), "unread\n")
	}}
}

// abortCase wants an answer that is cut.
func abortCase(name, target string) testCase {
	return testCase{name, func(p *probe) {
		c := p.dial()
		c.write(request("GET", p.at(target)))
		a, err := c.readErr("GET")
		if err == nil && a.status == 200 && a.whole {
			p.Errorf("answer %q ends as if it were whole", short(string(a.body)))
		}
		p.equal("next answer", string(p.get("/unread").body), "unread\n")
	}}
}

// leaveCase sends what would end a program, then wants the server to answer.
func leaveCase(name, target string, ahead bool) testCase {
	return testCase{name, func(p *probe) {
		c := p.dial()
		c.write(request("GET", target))
		a, err := c.readErr("GET")
		if ahead && (err != nil || a.status != 500) {
			p.Errorf("answer %+v, %v, want 500", a, err)
		}
		if !ahead && err == nil && a.whole {
			p.Errorf("answer %q ends as if it were whole", a.body)
		}
		p.equal("next answer", string(p.get("/unread").body), "unread\n")
		if status := p.s.ended(0); status != -2 {
			p.Errorf("the server ended with %d", status)
		}
	}}
}

var errorCases = []testCase{
	failCase("ahead-of-the-head", "/fail?at=head"),
	failCase("no-answer-at-all", "/fail?at=silent"),
	failCase("cancelled-by-itself", "/fail?at=head&kind=cancelled"),
	abortCase("behind-a-part", "/fail?at=body"),
	abortCase("behind-a-part-of-a-length", "/fail?at=sized"),
	abortCase("behind-a-part-cancelled", "/fail?at=body&kind=cancelled"),
	abortCase("returns-within-the-body", "/fail?at=part"),
	{"returns-behind-the-head", func(p *probe) {
		c := p.dial()
		c.write(request("GET", p.at("/fail?at=started")))
		a, err := c.readErr("GET")
		if err == nil && a.status != 500 && a.whole {
			p.Errorf("answer %d %q is whole, want 500 or a cut", a.status, a.body)
		}
	}},
	{"behind-the-head-ahead-of-the-body", func(p *probe) {
		c := p.dial()
		c.write(request("GET", p.at("/held?fail=1")))
		p.saw("started")
		p.openGate("")
		p.equal("status", c.read("GET").status, 500)
	}},
	{"500-is-plain", func(p *probe) {
		a := p.get("/fail?at=head")
		p.equal("status", a.status, 500)
		if strings.Contains(string(a.body), "Traceback") || strings.Contains(string(a.body), "meant") {
			p.Errorf("body %q tells the inside", a.body)
		}
	}},
	{"traceback-is-logged", func(p *probe) {
		p.get(p.at("/fail?at=head"))
		ok := p.until(func() bool {
			return strings.Contains(p.s.text(), "RuntimeError: meant to fail: "+p.token)
		})
		if !ok || !strings.Contains(p.s.text(), "bare_http.py") {
			p.Errorf("the log has no traceback of it")
		}
	}},
	{"keep-alive-after-500", func(p *probe) {
		c := p.dial()
		c.write(request("GET", "/fail?at=head"))
		p.equal("status", c.read("GET").status, 500)
		c.write(request("GET", "/unread"))
		if a, err := c.readErr("GET"); err == nil && string(a.body) != "unread\n" {
			p.Errorf("next answer = %d %q", a.status, a.body)
		}
	}},
	{"failing-with-a-body-unread", func(p *probe) {
		c := p.dial()
		c.write(post("/fail?at=head", strings.Repeat("b", 50_000)))
		p.equal("status", c.read("POST").status, 500)
	}},
	{"task-nobody-waits-for", func(p *probe) {
		p.equal("status", p.get("/orphan_error").status, 200)
		p.equal("next answer", string(p.get("/unread").body), "unread\n")
	}},
}

// misuseCases sends messages out of turn: an exception for the application, and for the
// client a 500, since no byte of an answer is out.
func misuseCases() []testCase {
	var cases []testCase
	for _, name := range []string{
		"body-first", "start-twice", "unknown", "no-type", "websocket", "status-text",
		"status-small", "status-none", "body-text",
	} {
		cases = append(cases, testCase{"misuse-" + name, func(p *probe) {
			a := p.get(p.at("/misuse?case=" + name))
			p.equal("status", a.status, 500)
			if n, _ := p.count("refused "); n != 1 {
				p.Errorf("noted %s, want the message refused", brief(p.events()))
			}
		}})
	}
	return cases
}

// TestDisconnect: what an application hears of a client that leaves.
func TestDisconnect(t *testing.T) { play(t, group{name: "disconnect", cases: disconnectCases}) }

// gone starts a stream of small parts, takes one and leaves.
func gone(p *probe, target string, leave func(c *conn)) {
	c := p.dial()
	c.write(request("GET", p.at(target)))
	c.head("GET")
	c.chunk()
	leave(c)
}

// halfCloseCase closes the client's half behind the request: the answer of length bytes is
// cut, or it is whole, and no other one comes.
func halfCloseCase(name, target string, length int) testCase {
	return testCase{name, func(p *probe) {
		c := p.dial()
		c.write(request("GET", target))
		_ = c.Conn.(*net.TCPConn).CloseWrite()
		a, err := c.readErr("GET")
		if err == nil && (a.status != 200 || a.whole && len(a.body) != length) {
			p.Errorf("answer %d with %d bytes, whole %v, want 200 with %d, or a cut",
				a.status, len(a.body), a.whole, length)
		}
	}}
}

var disconnectCases = []testCase{
	{"receive-hears-close", func(p *probe) {
		c := p.dial()
		c.write(request("GET", p.at("/waiting?after=0")))
		p.saw("still waits")
		c.Close()
		p.saw("http.disconnect", "ended")
		if n, _ := p.count("http.disconnect"); n != 2 {
			p.Errorf("%d times http.disconnect, want it again when asked again", n)
		}
	}},
	{"receive-hears-reset", func(p *probe) {
		c := p.dial()
		c.write(request("GET", p.at("/waiting?after=0")))
		p.saw("still waits")
		c.reset()
		p.saw("http.disconnect", "ended")
	}},
	{"receive-behind-the-answer", func(p *probe) {
		c := p.dial()
		c.write(request("GET", p.at("/waiting?after=0&reply=1")))
		p.equal("body", string(c.read("GET").body), "late\n")
		p.saw("http.disconnect", "ended")
	}},
	{"send-is-OSError", func(p *probe) {
		c := p.dial()
		c.write(request("GET", p.at("/waiting?after=0&send=1")))
		p.saw("still waits")
		c.Close()
		p.saw("send OSError", "ended")
	}},
	{"send-is-OSError-after-reset", func(p *probe) {
		c := p.dial()
		c.write(request("GET", p.at("/waiting?after=0&send=1")))
		p.saw("still waits")
		c.reset()
		p.saw("send OSError", "ended")
	}},
	{"stream-ends", func(p *probe) {
		gone(p, "/stream?size=100&pause=0.005", closeConn)
		p.saw("OSError", "finally", "ended")
	}},
	{"stream-ends-after-reset", func(p *probe) {
		gone(p, "/stream?size=100&pause=0.005", (*conn).reset)
		p.saw("OSError", "finally", "ended")
	}},
	{"no-log-flood", func(p *probe) {
		gone(p, "/stream?size=100&pause=0.005&mark="+p.token, closeConn)
		p.saw("ended")
		if n := strings.Count(p.s.text(), "Traceback"); n > 0 {
			p.Errorf("%d tracebacks for clients that left, want none", n)
		}
	}},
	{"waiting-send-is-released", func(p *probe) {
		c := p.dial()
		c.write(request("GET", p.at("/stream?n=5000")))
		p.settled("sent ", 300*time.Millisecond)
		c.Close()
		p.saw("OSError", "finally", "ended")
	}},
	// A peer that closes its half looks like one that leaves: its answer may be cut.
	halfCloseCase("half-close", "/unread", 7),
	halfCloseCase("half-close-of-a-stream", "/chunks?n=3&size=1000", 3000),
	{"work-behind-the-answer-goes-on", func(p *probe) {
		c := p.dial()
		c.write(request("GET", p.at("/after")))
		p.equal("body", string(c.read("GET").body), "answered\n")
		c.Close()
		p.openGate("")
		p.saw("after done", "ended")
	}},
	{"next-request-beside-work-behind-the-answer", func(p *probe) {
		c := p.dial()
		c.write(request("GET", p.at("/after")))
		p.equal("body", string(c.read("GET").body), "answered\n")
		c.write(request("GET", "/unread"))
		p.equal("next answer", string(c.read("GET").body), "unread\n")
		p.openGate("")
		p.saw("after done")
	}},
	{"pipelined-next-is-not-a-disconnect", func(p *probe) {
		c := p.dial()
		c.write(request("GET", p.at("/waiting?after=0.1&reply=1")) + request("GET", "/unread"))
		p.equal("first", string(c.read("GET").body), "late\n")
		p.equal("second", string(c.read("GET").body), "unread\n")
		p.notSeen("came early")
	}},
	{"not-called-for-half-a-head", func(p *probe) {
		c := p.dial()
		c.write("GET " + p.at("/digest") + " HTTP/1.1\r\nHost: x\r\n")
		c.Close()
		p.equal("next answer", string(p.get("/unread").body), "unread\n")
		p.equal("notes", p.events(), []string{})
	}},
}

// TestBackpressure: `send` waits while the client does not read.
func TestBackpressure(t *testing.T) {
	play(t, group{name: "backpressure", width: 2, cases: []testCase{
		{"send-waits", func(p *probe) {
			const parts = 1024 // of 64 KiB
			c := p.dial()
			c.write(request("GET", p.at("/stream?n=1024")))
			if n, _ := p.settled("sent ", 500*time.Millisecond); n > parts*3/4 {
				p.Errorf("%d of %d parts are sent while nobody reads", n, parts)
			}
			p.equal("other answer", string(p.get("/unread").body), "unread\n")
			a := c.read("GET")
			p.equal("whole", a.whole, true)
			p.equal("length", len(a.body), parts*64<<10)
			p.saw("complete")
		}},
		{"ten-that-do-not-read", func(p *probe) {
			var before, after struct {
				Peak int `json:"peak_kib"`
			}
			p.json(&before, "/memory")
			for range 10 {
				c := p.dial()
				c.write(request("GET", p.at("/stream?size=262144&n=2000")))
			}
			p.settled("sent ", 500*time.Millisecond)
			p.json(&after, "/memory")
			if grown := (after.Peak - before.Peak) >> 10; grown > 64 {
				p.Errorf("memory grew by %d MiB for ten clients that do not read", grown)
			}
		}},
		{"one-large-message", func(p *probe) {
			c := p.dial()
			c.write(request("GET", p.at("/large?n=33554432")))
			p.equal("other answer", string(p.get("/unread").body), "unread\n")
			a := c.read("GET")
			p.equal("length", len(a.body), 32<<20)
		}},
		{"slow-reader", func(p *probe) {
			c := p.dial()
			c.write(request("GET", p.at("/stream?n=40")))
			a := c.head("GET")
			p.equal("status", a.status, 200)
			slow := io.LimitReader(c.r, 500_000)
			buf := make([]byte, 10_000)
			for n := 0; n < 500_000; {
				m, err := slow.Read(buf)
				if err != nil {
					p.Fatalf("read: %v", err)
				}
				n += m
			}
			_, _ = io.Copy(io.Discard, io.LimitReader(c.r, 1<<20))
			go func() { _, _ = io.Copy(io.Discard, c.r) }()
			p.saw("complete")
		}},
	}})
}
