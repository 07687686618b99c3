// SPDX-License-Identifier: MIT

//go:build linux

package asgisite

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestResponse: http.response.start and http.response.body on the wire.
func TestResponse(t *testing.T) {
	play(t, group{name: "response", cases: slices.Concat(
		statusCases(), responseHeaders, responseFraming, responseBodiless, responseFlow,
		responseConnection)})
}

// statusCases asks for each status; a known one has its reason phrase.
func statusCases() []testCase {
	var cases []testCase
	for status, reason := range map[int]string{
		200: "OK", 201: "Created", 299: "", 302: "Found", 400: "Bad Request", 404: "Not Found",
		418: "", 422: "Unprocessable", 500: "Internal Server Error", 503: "Service Unavailable",
		599: "",
	} {
		cases = append(cases, testCase{fmt.Sprintf("status-%d", status), func(p *probe) {
			a := p.get(fmt.Sprintf("/status?code=%d&body=text", status))
			p.equal("status", a.status, status)
			p.equal("body", string(a.body), "text")
			if !strings.HasPrefix(a.reason, reason) {
				p.Errorf("reason = %q, want %q", a.reason, reason)
			}
		}})
	}
	slices.SortFunc(cases, func(a, b testCase) int { return strings.Compare(a.name, b.name) })
	return cases
}

// pairsCase wants the two headers of /headers in their order.
func pairsCase(shape string) testCase {
	return testCase{"headers-as-" + shape, func(p *probe) {
		a := p.get("/headers?case=" + shape)
		var got []string
		for _, f := range a.fields {
			if strings.HasPrefix(strings.ToLower(f.name), "x-") {
				got = append(got, strings.ToLower(f.name)+"="+f.value)
			}
		}
		p.equal("fields", got, []string{"x-one=1", "x-two=2"})
		p.equal("body", string(a.body), "sent\n")
	}}
}

// refusedCase wants headers that cannot be sent to become a 500, not a split answer.
func refusedCase(shape string) testCase {
	return testCase{"headers-refused-" + shape, func(p *probe) {
		a := p.get("/headers?case=" + shape)
		p.equal("status", a.status, 500)
		p.equal("x-two", a.get("X-Two"), "")
	}}
}

var responseHeaders = []testCase{
	pairsCase("pairs"), pairsCase("lists"), pairsCase("iterator"),
	refusedCase("injected"), refusedCase("newline"), refusedCase("nul"),
	refusedCase("bad-name"), refusedCase("name-newline"), refusedCase("text"),
	refusedCase("number"), refusedCase("not-pairs"),
	{"headers-repeated", func(p *probe) {
		a := p.get("/headers?case=repeated")
		p.equal("set-cookie", a.all("Set-Cookie"), []string{"a=1", "b=2"})
	}},
	{"headers-latin", func(p *probe) {
		p.equal("x-one", p.get("/headers?case=latin").get("X-One"), "caf\xe9 \xff")
	}},
	{"headers-empty", func(p *probe) {
		p.equal("x-one", p.get("/headers?case=empty").all("X-One"), []string{""})
	}},
	{"headers-long", func(p *probe) {
		p.equal("length", len(p.get("/headers?case=long").get("X-One")), 20000)
	}},
	{"headers-many", func(p *probe) {
		a := p.get("/headers?case=many")
		p.equal("x-199", a.get("X-199"), "199")
	}},
	{"date-once", func(p *probe) {
		p.equal("dates", len(p.get("/unread").all("Date")), 1)
	}},
	{"date-of-the-application", func(p *probe) {
		p.equal("date", p.get("/headers?case=own-date").all("Date"),
			[]string{"Thu, 01 Jan 1970 00:00:00 GMT"})
	}},
	{"server-of-the-application", func(p *probe) {
		p.equal("server", p.get("/headers?case=own-server").all("Server"), []string{"mine"})
	}},
}

var responseFraming = []testCase{
	{"length-kept", func(p *probe) {
		a := p.get("/status?body=four&cl=4")
		p.equal("framing", a.framing, "length")
		p.equal("body", string(a.body), "four")
	}},
	{"no-length-is-framed", func(p *probe) {
		a := p.get("/status?body=four")
		if a.framing != "length" && a.framing != "chunked" || string(a.body) != "four" || !a.whole {
			p.Errorf("%s %q, want four bytes, framed", a.framing, a.body)
		}
	}},
	{"stream-is-chunked", func(p *probe) {
		a := p.get("/chunks?n=100&size=100")
		p.equal("framing", a.framing, "chunked")
		p.equal("length", len(a.body), 100*100)
		p.equal("whole", a.whole, true)
	}},
	{"stream-to-1.0", func(p *probe) {
		a := p.talk("GET", "GET /chunks?n=10&size=100 HTTP/1.0\r\n\r\n")
		p.equal("framing", a.framing, "close")
		p.equal("length", len(a.body), 1000)
	}},
	{"own-chunked-once", func(p *probe) {
		a := p.get("/status?body=four&te=chunked")
		p.equal("codings", len(a.all("Transfer-Encoding")) <= 1, true)
		p.equal("body", string(a.body), "four")
	}},
	{"empty-parts-end-nothing", func(p *probe) {
		a := p.get("/holes")
		p.equal("body", string(a.body), "onetwo")
		p.equal("whole", a.whole, true)
	}},
	{"no-optional-keys", func(p *probe) {
		a := p.get("/shapes?case=bare")
		p.equal("status", a.status, 200)
		p.equal("body", string(a.body), "")
		p.equal("whole", a.whole, true)
	}},
	{"bytearray", func(p *probe) {
		p.equal("body", string(p.get("/shapes?case=bytearray").body), "shaped")
	}},
	{"memoryview", func(p *probe) {
		p.equal("body", string(p.get("/shapes?case=memoryview").body), "shaped")
	}},
	{"large-8MiB", func(p *probe) {
		a := p.get("/large?n=8388608")
		p.equal("length", len(a.body), 8<<20)
		p.equal("whole", a.whole, true)
		for i, b := range a.body {
			if b != byte(i) {
				p.Fatalf("byte %d = %d, want %d", i, b, byte(i))
			}
		}
	}},
	{"too-long-for-its-length", func(p *probe) {
		c := p.dial()
		c.write(request("GET", p.at("/length?cl=4&n=10")) + request("GET", "/unread"))
		if a, err := c.readErr("GET"); err == nil && a.status == 200 && len(a.body) > 4 {
			p.Errorf("body %q, want no more than its length", a.body)
		}
		if a, err := c.readErr("GET"); err == nil && string(a.body) != "unread\n" {
			p.Errorf("next answer = %d %q, want the surplus dropped", a.status, a.body)
		}
	}},
	{"too-short-for-its-length", func(p *probe) {
		c := p.dial()
		c.write(request("GET", p.at("/length?cl=10&n=4")) + request("GET", "/unread"))
		a, err := c.readErr("GET")
		if err == nil && a.status == 200 && a.whole {
			p.Errorf("body %q of 10 bytes is whole, want the connection cut", a.body)
		}
		p.until(func() bool { return slices.Contains(p.events(), "ended") })
	}},
	{"surplus-in-a-later-part", func(p *probe) {
		c := p.dial()
		c.write(request("GET", p.at("/length?cl=4&n=10&split=1")))
		if a, err := c.readErr("GET"); err == nil && a.status == 200 && len(a.body) > 4 {
			p.Errorf("body %q, want no more than its length", a.body)
		}
	}},
}

// headCase wants the answer to HEAD to end with its head, on a connection that goes on.
func headCase(name, target string, check func(p *probe, a *answer)) testCase {
	return testCase{name, func(p *probe) {
		c := p.dial()
		c.write(request("HEAD", target) + request("GET", "/unread"))
		a := c.read("HEAD")
		check(p, a)
		p.equal("next answer", string(c.read("GET").body), "unread\n")
	}}
}

// bodilessCase wants a status without a body, on a connection that goes on.
func bodilessCase(name, query string, check func(p *probe, a *answer)) testCase {
	return testCase{name, func(p *probe) {
		c := p.dial()
		c.write(request("GET", "/status?"+query) + request("GET", "/unread"))
		check(p, c.read("GET"))
		p.equal("next answer", string(c.read("GET").body), "unread\n")
	}}
}

var responseBodiless = []testCase{
	headCase("head-length-kept", "/status?body=four&cl=4", func(p *probe, a *answer) {
		p.equal("content-length", a.length, 4)
	}),
	headCase("head-without-length", "/status?body=four", func(p *probe, a *answer) {
		p.equal("status", a.status, 200)
	}),
	headCase("head-stream", "/chunks?n=10&size=10", func(p *probe, a *answer) {
		p.equal("status", a.status, 200)
	}),
	headCase("head-large", "/large?n=1048576", func(p *probe, a *answer) {
		p.equal("content-length", a.length, 1<<20)
	}),
	bodilessCase("204-no-body", "code=204", func(p *probe, a *answer) {
		p.equal("content-length", a.all("Content-Length"), []string(nil))
		p.equal("transfer-encoding", a.all("Transfer-Encoding"), []string(nil))
	}),
	bodilessCase("204-body-dropped", "code=204&body=surplus", func(p *probe, a *answer) {
		p.equal("status", a.status, 204)
		p.equal("transfer-encoding", a.all("Transfer-Encoding"), []string(nil))
	}),
	bodilessCase("204-length-dropped", "code=204&cl=0", func(p *probe, a *answer) {
		p.equal("content-length", a.all("Content-Length"), []string(nil))
	}),
	bodilessCase("304-length-kept", "code=304&cl=1234", func(p *probe, a *answer) {
		p.equal("content-length", a.all("Content-Length"), []string{"1234"})
	}),
	bodilessCase("304-body-dropped", "code=304&body=surplus", func(p *probe, a *answer) {
		p.equal("status", a.status, 304)
	}),
	bodilessCase("304-not-chunked", "code=304", func(p *probe, a *answer) {
		p.equal("transfer-encoding", a.all("Transfer-Encoding"), []string(nil))
	}),
}

var responseFlow = []testCase{
	{"head-waits-for-the-body", func(p *probe) {
		c := p.dial()
		c.write(request("GET", p.at("/held")))
		p.saw("started")
		p.equal("silence ahead of the body", c.silent(100*time.Millisecond), true)
		p.openGate("")
		p.equal("body", string(c.read("GET").body), "held\n")
	}},
	{"parts-as-they-are-sent", func(p *probe) {
		c := p.dial()
		c.write(request("GET", p.at("/chunks?n=3&size=2&gate=1")))
		p.equal("status", c.head("GET").status, 200)
		for i := range 3 {
			p.equal("part", c.chunk(), strings.Repeat(fmt.Sprint(i), 2))
			p.equal("silence behind it", c.silent(30*time.Millisecond), true)
			p.openGate(fmt.Sprintf("-%d", i))
		}
		p.equal("last", c.chunk(), "")
	}},
	{"parts-to-1.0-as-they-are-sent", func(p *probe) {
		c := p.dial()
		c.write("GET " + p.at("/chunks?n=1&size=2&gate=1") + " HTTP/1.0\r\n\r\n")
		p.equal("framing", c.head("GET").framing, "close")
		part, err := c.r.Peek(2)
		if string(part) != "00" {
			p.Errorf("first part = %q, %v, want 00", part, err)
		}
		p.openGate("-0")
	}},
	{"more-behind-the-end-is-ignored", func(p *probe) {
		c := p.dial()
		c.write(request("GET", p.at("/afterwards")) + request("GET", "/unread"))
		p.equal("body", string(c.read("GET").body), "whole\n")
		p.equal("next answer", string(c.read("GET").body), "unread\n")
		p.saw("http.disconnect", "ended")
	}},
	{"answer-before-the-body-came", func(p *probe) {
		c := p.dial()
		c.write(request("POST", "/unread", longHead) + "part")
		p.equal("body", string(c.read("POST").body), "unread\n")
	}},
	{"two-senders", func(p *probe) {
		a := p.get("/senders")
		p.equal("length", len(a.body), 400_000)
		p.equal("a", strings.Count(string(a.body), strings.Repeat("a", 1000)), 200)
		p.equal("b", strings.Count(string(a.body), strings.Repeat("b", 1000)), 200)
	}},
}

var responseConnection = []testCase{
	{"keep-alive", func(p *probe) {
		c := p.dial()
		for range 5 {
			c.write(request("GET", "/unread"))
			p.equal("body", string(c.read("GET").body), "unread\n")
		}
	}},
	{"keep-alive-after-a-stream", func(p *probe) {
		c := p.dial()
		for range 3 {
			c.write(request("GET", "/chunks?n=3&size=10"))
			p.equal("whole", c.read("GET").whole, true)
		}
	}},
	{"close-asked-by-the-client", func(p *probe) {
		c := p.dial()
		c.write(request("GET", "/unread", "Connection: close"))
		p.equal("connection", strings.ToLower(c.read("GET").get("Connection")), "close")
		p.equal("closed", c.closed(), true)
	}},
	{"close-asked-by-the-application", func(p *probe) {
		c := p.dial()
		c.write(request("GET", "/status?body=four&cl=4&conn=close"))
		a := c.read("GET")
		p.equal("connection", a.all("Connection"), []string{"close"})
		p.equal("closed", c.closed(), true)
	}},
	{"1.0-closes", func(p *probe) {
		c := p.dial()
		c.write("GET /unread HTTP/1.0\r\n\r\n")
		p.equal("body", string(c.read("GET").body), "unread\n")
		p.equal("closed", c.closed(), true)
	}},
	{"bytes-behind-close-are-ignored", func(p *probe) {
		c := p.dial()
		c.write(request("GET", "/unread", "Connection: close") + request("GET", p.at("/digest")))
		p.equal("body", string(c.read("GET").body), "unread\n")
		p.equal("closed", c.closed(), true)
		p.equal("notes", p.events(), []string{})
	}},
	{"nothing-runs-behind-a-bad-request", func(p *probe) {
		c := p.dial()
		c.write(request("GET", "/unread") + "BAD\r\n\r\n" + request("GET", p.at("/digest")))
		p.equal("body", string(c.read("GET").body), "unread\n")
		if a, err := c.readErr("GET"); err == nil && a.status != 400 {
			p.Errorf("answer to a bad request = %d, want 400", a.status)
		}
		p.equal("closed", c.closed(), true)
		p.equal("notes", p.events(), []string{})
	}},
	{"unknown-route", func(p *probe) { p.equal("status", p.get("/none").status, 404) }},
}
