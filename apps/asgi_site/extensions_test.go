// SPDX-License-Identifier: MIT

//go:build linux

package asgisite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestExtensions: asgiref's extensions of HTTP. Each has to be offered.
func TestExtensions(t *testing.T) { play(t, group{name: "extensions", cases: extensionCases}) }

// poem is the file that the application sends.
func poem(p *probe) string {
	text, err := os.ReadFile(filepath.Join("testdata", "poem.txt"))
	if err != nil {
		p.Fatalf("%v", err)
	}
	return string(text)
}

// offeredCase wants the extension in the scope.
func offeredCase(name string) testCase {
	return testCase{"offers-" + name, func(p *probe) {
		if _, ok := p.scope("/scope").Extensions[name]; !ok {
			p.Errorf("extensions = %v, want %s", p.scope("/scope").Extensions, name)
		}
	}}
}

var extensionCases = []testCase{
	offeredCase("http.response.early_hint"),
	offeredCase("http.response.trailers"),
	offeredCase("http.response.pathsend"),
	offeredCase("http.response.zerocopysend"),
	{"early-hint", func(p *probe) {
		c := p.dial()
		c.write(request("GET", "/hint") + request("GET", "/unread"))
		a := c.read("GET")
		p.equal("status", a.status, 200)
		p.equal("body", string(a.body), "hint\n")
		if len(a.hints) == 0 { // a second one may be left out: they are hints
			p.Fatalf("no informational answer")
		}
		p.equal("status of the hint", a.hints[0].status, 103)
		p.equal("links", a.hints[0].all("Link"),
			[]string{"</a.css>; rel=preload; as=style", "</b.js>; rel=preload; as=script"})
		p.equal("next answer", string(c.read("GET").body), "unread\n")
	}},
	{"early-hint-is-early", func(p *probe) {
		c := p.dial()
		c.write(request("GET", p.at("/hint?gate=1")))
		line, err := c.line()
		if err != nil || !strings.HasPrefix(line, "HTTP/1.1 103 ") {
			p.Fatalf("first line %q, %v, want 103 ahead of the gate", line, err)
		}
		p.openGate("")
	}},
	{"early-hint-not-to-1.0", func(p *probe) {
		a := p.talk("GET", "GET /hint HTTP/1.0\r\n\r\n")
		p.equal("status", a.status, 200)
		p.equal("informational answers", len(a.hints), 0)
	}},
	{"trailers", func(p *probe) {
		c := p.dial()
		c.write(request("GET", "/trailers", "TE: trailers", "Connection: TE") +
			request("GET", "/unread"))
		a := c.read("GET")
		p.equal("body", string(a.body), "onetwo")
		p.equal("trailer", a.get("Trailer"), "x-sum, x-count")
		if len(a.trailers) != 2 || a.trailers[0].value != "6" || a.trailers[1].value != "2" {
			p.Errorf("trailers = %q, want x-sum: 6 and x-count: 2", a.trailers)
		}
		p.equal("next answer", string(c.read("GET").body), "unread\n")
	}},
	{"trailers-only-if-asked", func(p *probe) {
		c := p.dial()
		c.write(request("GET", p.at("/trailers")) + request("GET", "/unread"))
		a := c.read("GET")
		p.equal("body", string(a.body), "onetwo")
		p.equal("trailers", len(a.trailers), 0)
		p.equal("next answer", string(c.read("GET").body), "unread\n")
		p.saw("trailers sent")
	}},
	{"trailers-not-to-1.0", func(p *probe) {
		a := p.talk("GET", "GET /trailers HTTP/1.0\r\nTE: trailers\r\n\r\n")
		p.equal("body", string(a.body), "onetwo")
	}},
	{"pathsend", func(p *probe) {
		c := p.dial()
		c.write(request("GET", p.at("/pathsend?cl=1")) + request("GET", "/unread"))
		a := c.read("GET")
		p.equal("framing", a.framing, "length")
		p.equal("body", string(a.body), poem(p))
		p.equal("next answer", string(c.read("GET").body), "unread\n")
		p.saw("path sent")
	}},
	{"pathsend-without-length", func(p *probe) {
		a := p.get("/pathsend")
		p.equal("body", string(a.body), poem(p))
		p.equal("whole", a.whole, true)
	}},
	{"pathsend-head", func(p *probe) {
		c := p.dial()
		c.write(request("HEAD", "/pathsend?cl=1") + request("GET", "/unread"))
		p.equal("content-length", c.read("HEAD").length, len(poem(p)))
		p.equal("next answer", string(c.read("GET").body), "unread\n")
	}},
	{"pathsend-no-file", func(p *probe) {
		p.equal("status", p.get("/pathsend?file=none").status, 500)
		p.equal("next answer", string(p.get("/unread").body), "unread\n")
	}},
	{"zerocopysend", func(p *probe) {
		c := p.dial()
		c.write(request("GET", "/zerocopy") + request("GET", "/unread"))
		a := c.read("GET")
		text := poem(p)
		p.equal("body", string(a.body), text[:10]+"|"+text[5:10]+"|"+text[20:])
		p.equal("next answer", string(c.read("GET").body), "unread\n")
	}},
	{"zerocopysend-head", func(p *probe) {
		c := p.dial()
		c.write(request("HEAD", "/zerocopy") + request("GET", "/unread"))
		p.equal("status", c.read("HEAD").status, 200)
		p.equal("next answer", string(c.read("GET").body), "unread\n")
	}},
}

// TestLoop: the event loop, threads, children and signals of the application (W8).
func TestLoop(t *testing.T) { play(t, group{name: "loop", cases: loopCases}) }

// TestBlockedLoop: a coroutine that blocks holds up its own kind, and nothing breaks.
func TestBlockedLoop(t *testing.T) {
	play(t, group{name: "blocked", width: 1, cases: []testCase{
		blockedCase("sleep", "/block?s=0.3", "blocked\n"),
		blockedCase("spin", "/spin?s=0.3", "spun\n"),
		{"many", func(p *probe) {
			var all []*conn
			for range 8 {
				c := p.dial()
				c.write(request("GET", "/block?s=0.05"))
				all = append(all, c)
			}
			for _, c := range all {
				p.equal("body", string(c.read("GET").body), "blocked\n")
			}
		}},
		{"pipelined", func(p *probe) {
			c := p.dial()
			c.write(request("GET", "/block?s=0.1") + request("GET", "/unread"))
			p.equal("first", string(c.read("GET").body), "blocked\n")
			p.equal("second", string(c.read("GET").body), "unread\n")
		}},
		{"client-leaves", func(p *probe) {
			c := p.dial()
			c.write(request("GET", p.at("/block?s=0.2")))
			time.AfterFunc(50*time.Millisecond, c.reset)
			p.saw("blocks", "ended")
			p.equal("next answer", string(p.get("/unread").body), "unread\n")
		}},
	}})
}

func blockedCase(name, target, want string) testCase {
	return testCase{name, func(p *probe) {
		c, other := p.dial(), p.dial()
		c.write(request("GET", target))
		other.write(request("GET", "/unread"))
		p.equal("body", string(c.read("GET").body), want)
		p.equal("other", string(other.read("GET").body), "unread\n")
	}}
}

// childCase starts a child process.
func childCase(by string) testCase {
	return testCase{"child-by-" + by, func(p *probe) {
		var got struct{ Said, Want string }
		p.json(&got, "/child?by="+by)
		p.equal("the child said", got.Said, got.Want)
		p.equal("next answer", string(p.get("/unread").body), "unread\n")
	}}
}

var loopCases = []testCase{
	childCase("run"), childCase("asyncio"), childCase("fork"),
	{"loop-as-asked", func(p *probe) {
		var about struct{ Loop string }
		p.json(&about, "/about")
		p.equal("loop", about.Loop, p.s.loop)
	}},
	{"sleeps-overlap", func(p *probe) {
		begun := time.Now()
		var all []*conn
		for range 20 {
			c := p.dial()
			c.write(request("GET", "/sleep?s=0.4"))
			all = append(all, c)
		}
		for _, c := range all {
			p.equal("body", string(c.read("GET").body), "slept\n")
		}
		if took := time.Since(begun); took > 4*time.Second {
			p.Errorf("20 waits of 0.4 s took %v, want them to overlap", took)
		}
	}},
	{"timer", func(p *probe) {
		var got struct{ Took float64 }
		p.json(&got, "/timer")
		if got.Took < 0.019 || got.Took > 1 {
			p.Errorf("a timer of 20 ms took %.3f s", got.Took)
		}
	}},
	{"executor", func(p *probe) {
		var got map[string]bool
		p.json(&got, "/executor")
		p.equal("on another thread", got["other_thread"], true)
	}},
	{"wake-from-a-thread", func(p *probe) {
		var got struct{ Late float64 }
		p.json(&got, "/wake")
		if got.Late > 1 {
			p.Errorf("the loop woke %.3f s late", got.Late)
		}
	}},
	{"context-is-the-request's", func(p *probe) {
		c := p.dial()
		c.write(request("GET", "/context?who=first") + request("GET", "/context?who=second"))
		for _, who := range []string{"first", "second"} {
			var got map[string]string
			p.decode(&got, c.read("GET"))
			p.equal("context", got, map[string]string{"before": "nobody", "after": who, "child": who})
		}
	}},
	{"background-task", func(p *probe) {
		p.equal("body", string(p.get(p.at("/background")).body), "begun\n")
		p.saw("ended")
		p.openGate("")
		p.saw("later done")
	}},
	{"own-descriptor", func(p *probe) { p.equal("body", string(p.get("/reader").body), "ping") }},
	{"calls-itself", func(p *probe) {
		var got []string
		p.json(&got, "/reentrant")
		for _, line := range got {
			if !strings.HasPrefix(line, "HTTP/1.1 200") {
				p.Errorf("answer to itself %q", line)
			}
		}
	}},
	{"main-thread", func(p *probe) {
		var got map[string]bool
		p.json(&got, "/thread")
		p.equal("facts", got, map[string]bool{"main": true, "task": true})
	}},
	{"own-signal", func(p *probe) { p.equal("body", string(p.get("/signal").body), "handled\n") }},
	{"child-dies-of-TERM", func(p *probe) {
		var got struct {
			Default string `json:"default_term"`
			Status  int
		}
		p.json(&got, "/orphan")
		p.equal("default action", got.Default, "True")
		p.equal("status", got.Status, -15)
	}},
	{"child-inherits-no-socket", func(p *probe) {
		var got struct{ Sockets int }
		p.json(&got, "/inherited")
		p.equal("sockets", got.Sockets, 0)
	}},
	{"no-task-is-left", func(p *probe) {
		var before, after struct{ Tasks int }
		p.json(&before, "/about")
		for range 50 {
			p.get("/chunks?n=2&size=10")
		}
		ok := p.until(func() bool {
			p.json(&after, "/about")
			return after.Tasks <= before.Tasks+10
		})
		if !ok {
			p.Errorf("%d tasks, and %d after 50 requests", before.Tasks, after.Tasks)
		}
	}},
}
