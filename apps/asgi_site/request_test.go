// SPDX-License-Identifier: MIT

//go:build linux

package asgisite

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

// A digest is what /digest answers.
type digest struct {
	Length int
	SHA256 string
}

func digestOf(data []byte) digest {
	sum := sha256.Sum256(data)
	return digest{len(data), hex.EncodeToString(sum[:])}
}

// sample is n bytes with a long period.
func sample(n int) []byte {
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(i) ^ byte(i>>8) ^ byte(i>>16)
	}
	return data
}

// chunked is data in chunks of size bytes.
func chunked(data []byte, size int) string {
	var b strings.Builder
	for part := range slices.Chunk(data, size) {
		fmt.Fprintf(&b, "%x\r\n%s\r\n", len(part), part)
	}
	return b.String() + "0\r\n\r\n"
}

const chunkedHead = "Transfer-Encoding: chunked"

// A message is one of those that /messages gives back.
type message struct {
	Type     string
	Body     string
	MoreBody bool   `json:"more_body"`
	BodyType string `json:"body_type"`
}

// TestRequestBody: http.request and what comes behind it.
func TestRequestBody(t *testing.T) {
	play(t, group{name: "request", cases: slices.Concat(bodyWhole, bodyFlow, bodyCut)})
}

// digestCase posts a body and wants its digest.
func digestCase(name string, n int, text func(data []byte) string) testCase {
	return testCase{name, func(p *probe) {
		data := sample(n)
		c := p.dial()
		go func() { _, _ = io.WriteString(c, text(data)) }()
		var got digest
		p.decode(&got, c.read("POST"))
		p.equal("digest", got, digestOf(data))
	}}
}

func sized(data []byte) string { return post("/digest", string(data)) }

func inChunks(size int) func(data []byte) string {
	return func(data []byte) string {
		return request("POST", "/digest", chunkedHead) + chunked(data, size)
	}
}

var bodyWhole = []testCase{
	{"none", func(p *probe) {
		var got []message
		p.json(&got, "/messages")
		p.equal("messages", got, []message{{Type: "http.request", BodyType: "bytes"}})
	}},
	{"length-zero", func(p *probe) {
		var got []message
		p.decode(&got, p.talk("POST", post("/messages", "")))
		p.equal("messages", got, []message{{Type: "http.request", BodyType: "bytes"}})
	}},
	{"small-is-one-message", func(p *probe) {
		var got []message
		p.decode(&got, p.talk("POST", post("/messages", "small")))
		p.equal("messages", got[0], message{"http.request", "small", len(got) > 1, "bytes"})
	}},
	{"last-is-not-more", func(p *probe) {
		var got []message
		p.decode(&got, p.talk("POST", post("/messages", strings.Repeat("b", 300_000))))
		for i, m := range got {
			p.equal(fmt.Sprintf("more_body of %d of %d", i, len(got)), m.MoreBody, i < len(got)-1)
			p.equal("type", m.BodyType, "bytes")
		}
	}},
	{"chunked-zero", func(p *probe) {
		var got digest
		p.decode(&got, p.talk("POST", request("POST", "/digest", chunkedHead)+"0\r\n\r\n"))
		p.equal("digest", got, digestOf(nil))
	}},
	digestCase("length-3MiB", 3<<20, sized),
	digestCase("length-64KiB", 64<<10, sized),
	digestCase("chunked-one", 5000, inChunks(5000)),
	digestCase("chunked-tiny", 2000, inChunks(1)),
	digestCase("chunked-3MiB", 3<<20, inChunks(10_000)),
	digestCase("chunked-extension-and-trailers", 10, func(data []byte) string {
		return request("POST", "/digest", chunkedHead) +
			"a;note=\"x\"\r\n" + string(data) + "\r\n0\r\nX-Sum: 1\r\n\r\n"
	}),
	{"get-with-body", func(p *probe) {
		text := request("GET", "/digest", "Content-Length: 4") + "body"
		var got digest
		p.decode(&got, p.talk("GET", text))
		p.equal("digest", got, digestOf([]byte("body")))
	}},
	{"byte-by-byte", func(p *probe) {
		c := p.dial()
		text := post("/digest", "slow body")
		for i := range len(text) {
			c.write(text[i : i+1])
		}
		var got digest
		p.decode(&got, c.read("POST"))
		p.equal("digest", got, digestOf([]byte("slow body")))
	}},
	{"pipelined", func(p *probe) {
		c := p.dial()
		var text string
		for i := range 20 {
			text += post("/digest", strings.Repeat("p", i*100))
		}
		c.write(text)
		for i := range 20 {
			var got digest
			p.decode(&got, c.read("POST"))
			p.equal(fmt.Sprintf("answer %d", i), got.Length, i*100)
		}
	}},
	{"duplex", func(p *probe) {
		a := p.talk("POST", post("/duplex", strings.Repeat("d", 100_000)))
		var want string
		for i := range 50 {
			want += fmt.Sprintf("%02d", i)
		}
		p.equal("body", string(a.body), want+"|100000")
	}},
}

var bodyFlow = []testCase{
	{"parts-as-they-come", func(p *probe) {
		c := p.dial()
		data := sample(2 << 20)
		half := string(data[:1<<20])
		c.write(request("POST", p.at("/digest"), "Content-Length: 2097152") + half)
		p.saw("read 1048576")
		p.notSeen("whole")
		c.write(string(data[1<<20:]))
		var got digest
		p.decode(&got, c.read("POST"))
		p.equal("digest", got, digestOf(data))
	}},
	{"chunks-as-they-come", func(p *probe) {
		c := p.dial()
		c.write(request("POST", "/echo", chunkedHead) + "3\r\none\r\n")
		p.equal("status", c.head("POST").status, 200)
		p.equal("first", c.chunk(), "one")
		c.write("3\r\ntwo\r\n")
		p.equal("second", c.chunk(), "two")
		c.write("0\r\n\r\n")
		p.equal("last", c.chunk(), "")
	}},
	{"echo-3MiB", func(p *probe) {
		data := sample(3 << 20)
		c := p.dial()
		go func() { _, _ = io.WriteString(c, post("/echo", string(data))) }()
		a := c.read("POST")
		p.equal("digest", digestOf(a.body), digestOf(data))
	}},
	{"expect-100", func(p *probe) {
		c := p.dial()
		c.write(request("POST", "/digest", "Content-Length: 4", "Expect: 100-continue"))
		line, err := c.line()
		if err != nil || !strings.HasPrefix(line, "HTTP/1.1 100 ") {
			p.Fatalf("first line %q, %v, want 100", line, err)
		}
		if fields, err := c.fields(); len(fields) > 0 || err != nil {
			p.Errorf("fields of 100 = %v, %v, want none", fields, err)
		}
		c.write("body")
		var got digest
		p.decode(&got, c.read("POST"))
		p.equal("digest", got, digestOf([]byte("body")))
	}},
	{"expect-100-only-when-read", func(p *probe) {
		c := p.dial()
		c.write(request("POST", "/unread", "Content-Length: 4", "Expect: 100-continue"))
		a := c.read("POST")
		p.equal("status", a.status, 200)
		p.equal("informational answers", len(a.hints), 0)
	}},
	{"expect-100-with-gate", func(p *probe) {
		c := p.dial()
		c.write(request("POST", p.at("/digest?gate=1"), "Content-Length: 4", "Expect: 100-continue"))
		p.saw("called")
		if !c.silent(100 * time.Millisecond) {
			p.Errorf("100 came before the application asked for the body")
		}
		p.openGate("")
		p.equal("silence behind the gate", c.silent(patience), false)
	}},
	{"expect-100-not-to-1.0", func(p *probe) {
		a := p.talk("POST", "POST /digest HTTP/1.0\r\nContent-Length: 4\r\n"+
			"Expect: 100-continue\r\n\r\nbody")
		p.equal("informational answers", len(a.hints), 0)
		p.equal("status", a.status, 200)
	}},
	{"unread-body-keeps-the-order", func(p *probe) {
		c := p.dial()
		c.write(post("/unread", strings.Repeat("u", 20_000)) + request("GET", "/scope"))
		p.equal("first", string(c.read("POST").body), "unread\n")
		a, err := c.readErr("GET")
		if err == nil && (a.status != 200 || !strings.Contains(string(a.body), `"GET"`)) {
			p.Errorf("second answer = %d %q, want the scope or a closed connection",
				a.status, short(string(a.body)))
		}
	}},
	{"unread-chunks-keep-the-order", func(p *probe) {
		c := p.dial()
		c.write(request("POST", "/unread", chunkedHead) + chunked(sample(20_000), 1000) +
			request("GET", "/scope"))
		p.equal("first", string(c.read("POST").body), "unread\n")
		a, err := c.readErr("GET")
		if err == nil && a.status != 200 {
			p.Errorf("second answer = %d %q", a.status, short(string(a.body)))
		}
	}},
	{"receive-waits-behind-the-body", func(p *probe) {
		c := p.dial()
		c.write(post(p.at("/waiting"), "body"))
		p.saw("body read", "still waits")
		c.Close()
		p.saw("http.disconnect")
		p.notSeen("came early")
	}},
	{"upload-waits", func(p *probe) {
		block := sample(1 << 20)
		c := p.dial()
		c.write(request("POST", p.at("/digest?gate=1"), fmt.Sprintf("Content-Length: %d", 64<<20)))
		p.saw("called")
		sent := c.fill(block, 64<<20, 500*time.Millisecond)
		if sent > 48<<20 {
			p.Errorf("the server took %d MiB that nobody reads, want it to wait", sent>>20)
		}
		p.openGate("")
		go func() {
			for sent < 64<<20 {
				at := sent % len(block)
				n, err := c.Write(block[at:])
				if sent += n; err != nil {
					return
				}
			}
		}()
		var got digest
		p.decode(&got, c.read("POST"))
		p.equal("length", got.Length, 64<<20)
	}},
}

// A body that is not small: a server may read a small one before it calls anybody.
const longHead = "Content-Length: 2097152"

// cutCase sends the begin of a body and goes: the application may not take it as whole.
func cutCase(name, head, part string, end func(c *conn)) testCase {
	return testCase{name, func(p *probe) {
		c := p.dial()
		c.write(request("POST", p.at("/digest"), head) + part)
		p.saw("called")
		end(c)
		p.saw("http.disconnect")
		p.notSeen("whole")
	}}
}

func closeConn(c *conn) { _ = c.Close() }

// badCase sends chunks that are none: an error, never a whole body.
func badCase(name, chunks string) testCase {
	return testCase{name, func(p *probe) {
		c := p.dial()
		c.write(request("POST", p.at("/digest"), chunkedHead) + "4\r\ngood\r\n")
		p.saw("read 4")
		c.write(chunks)
		if a, err := c.readErr("POST"); err == nil && a.status == 200 {
			p.Errorf("chunks %q: answer 200", chunks)
		}
		p.saw("ended")
		p.notSeen("whole")
	}}
}

var bodyCut = []testCase{
	cutCase("cut-length", longHead, "part", closeConn),
	cutCase("cut-length-reset", longHead, "part", (*conn).reset),
	cutCase("cut-length-at-once", longHead, "", closeConn),
	cutCase("cut-chunk", chunkedHead, "a\r\npart", closeConn),
	cutCase("cut-between-chunks", chunkedHead, "4\r\npart\r\n", closeConn),
	cutCase("cut-last-chunk", chunkedHead, "4\r\npart\r\n", func(c *conn) {
		c.write("0\r\n")
		c.Close()
	}),
	{"cut-small", func(p *probe) {
		c := p.dial()
		c.write(request("POST", p.at("/digest"), "Content-Length: 100") + "part")
		c.Close()
		p.equal("next answer", string(p.get("/unread").body), "unread\n")
		p.notSeen("whole")
	}},
	badCase("bad-size", "zz\r\n"),
	badCase("bad-end", "4\r\ngoodXX"),
	badCase("bad-lone-newline", "4\ngood\r\n0\r\n\r\n"),
	badCase("bad-huge", "fffffffffffffffffff\r\n"),
	badCase("bad-negative", "-4\r\n"),
}
