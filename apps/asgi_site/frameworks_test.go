// SPDX-License-Identifier: MIT

//go:build linux

package asgisite

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"slices"
	"strings"
	"testing"
	"time"
)

// The contract: what an application of each framework does alike.

// TestStarlette plays the contract against Starlette.
func TestStarlette(t *testing.T) { contract(t, "starlette", nil) }

// TestFastAPI plays the contract against FastAPI.
func TestFastAPI(t *testing.T) {
	contract(t, "fastapi", slices.Concat(starletteOnly, []testCase{
		{"openapi", func(p *probe) {
			var doc struct{ Paths map[string]any }
			p.json(&doc, "/openapi.json")
			if _, ok := doc.Paths["/item/{id}"]; !ok {
				p.Errorf("openapi.json has %d paths, want /item/{id} among them", len(doc.Paths))
			}
		}},
		{"dependency-is-closed", func(p *probe) {
			p.get(p.at("/background"))
			p.saw("dependency closed")
		}},
	}))
}

// TestDjango plays the contract against Django, and the consumers of Channels.
func TestDjango(t *testing.T) {
	contract(t, "django", []testCase{
		{"channels-group", func(p *probe) {
			a, b := p.socket("/ws/room"), p.socket("/ws/room")
			// A consumer joins the group before it accepts.
			a.send(opText, "to all")
			p.equal("a heard", a.text(), "to all")
			p.equal("b heard", b.text(), "to all")
		}},
		{"channels-http", func(p *probe) {
			a := p.talk("POST", post("/consumer", "12345"))
			p.equal("body", string(a.body), "from a consumer")
			p.equal("x-size", a.get("X-Size"), "5")
		}},
	})
}

func contract(t *testing.T, name string, more []testCase) {
	cases := slices.Concat(contractHTTP, contractFlow, contractWS, more)
	if name == "starlette" {
		cases = slices.Concat(cases, starletteOnly)
	}
	cases = append(cases, testCase{"stamped-by-middleware", func(p *probe) {
		want := strings.Replace(name, "fastapi", "starlette", 1)
		p.equal("x-stamp", p.get("/hello").get("X-Stamp"), want)
	}})
	play(t, group{name: name, app: "site_" + name + ":app", cases: cases})
}

// bodyCase asks for target and wants a body.
func bodyCase(name, target, want string) testCase {
	return testCase{name, func(p *probe) {
		a := p.get(target)
		p.equal("status", a.status, 200)
		p.equal("body", string(a.body), want)
		p.equal("whole", a.whole, true)
	}}
}

// jsonCase posts a body and wants fields of the answer.
func jsonCase(name, text string, want map[string]any) testCase {
	return testCase{name, func(p *probe) {
		var got map[string]any
		p.decode(&got, p.talk("POST", text))
		p.equal("answer", got, want)
	}}
}

func formOf(body string) string {
	return post("/form", body, "Content-Type: application/x-www-form-urlencoded")
}

// uploadOf is a multipart request with one file of n bytes.
func uploadOf(n int) string {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	part, _ := w.CreateFormFile("file", "data.bin") // a bytes.Buffer takes all
	_, _ = part.Write(sample(n))
	_ = w.Close()
	return post("/upload", b.String(), "Content-Type: "+w.FormDataContentType())
}

var contractHTTP = []testCase{
	bodyCase("hello", "/hello", "hello, world"),
	{"path-and-query", func(p *probe) {
		var got map[string]any
		p.json(&got, "/item/7?q=%C3%B6+x")
		p.equal("answer", got, map[string]any{"id": float64(7), "q": "ö x"})
	}},
	jsonCase("form", formOf("name=zo%C3%AB&word=a+b"), map[string]any{"name": "zoë", "word": "a b"}),
	jsonCase("upload", uploadOf(1000), map[string]any{"name": "data.bin", "size": 1000.0}),
	jsonCase("upload-3MiB", uploadOf(3<<20), map[string]any{"name": "data.bin", "size": 3145728.0}),
	jsonCase("json", post("/json", `{"name":"zoë","age":7}`, "Content-Type: application/json"),
		map[string]any{"name": "zoë", "age": 7.0}),
	{"json-refused", func(p *probe) {
		a := p.talk("POST", post("/json", `{"name":`, "Content-Type: application/json"))
		p.equal("status", a.status, 422)
	}},
	jsonCase("body-chunked", request("POST", "/body", chunkedHead)+chunked(sample(200_000), 999),
		map[string]any{"size": 200000.0}),
	{"file", func(p *probe) {
		a := p.get("/file")
		p.equal("body", string(a.body), poem(p))
		p.equal("content-length", a.length, len(poem(p)))
		if !strings.Contains(a.get("Content-Disposition"), "poem.txt") {
			p.Errorf("content-disposition = %q", a.get("Content-Disposition"))
		}
	}},
	{"cookies", func(p *probe) {
		a := p.get("/cookie", "Cookie: seen=before")
		p.equal("body", string(a.body), "before")
		p.equal("cookies", len(a.all("Set-Cookie")), 2)
	}},
	{"redirect", func(p *probe) {
		a := p.get("/moved")
		p.equal("status", a.status, 307)
		p.equal("location", a.get("Location"), "/hello")
	}},
	{"not-found", func(p *probe) { p.equal("status", p.get("/none").status, 404) }},
	{"failing", func(p *probe) {
		p.equal("status", p.get("/fail").status, 500)
		p.equal("next answer", p.get("/hello").status, 200)
	}},
	{"empty", func(p *probe) {
		a := p.get("/empty")
		p.equal("status", a.status, 204)
		p.equal("body", string(a.body), "")
	}},
	{"header-bytes", func(p *probe) {
		if got := p.get("/headers").get("X-Latin"); got != "caf\xe9" && got != "caf\xc3\xa9" {
			p.Errorf("x-latin = %q", got)
		}
	}},
	{"client-and-url", func(p *probe) {
		var got map[string]string
		p.json(&got, "/client?a=b")
		p.equal("answer", got, map[string]string{"host": "127.0.0.1",
			"url": "http://site.example/client?a=b"})
	}},
	{"synchronous-view", func(p *probe) {
		var got map[string]bool
		p.json(&got, "/sync")
		p.equal("on the main thread", got["main"], false)
	}},
	{"many-on-one-connection", func(p *probe) {
		c := p.dial()
		for i := range 50 {
			c.write(request("GET", fmt.Sprintf("/item/%d", i)))
			var got map[string]any
			p.decode(&got, c.read("GET"))
			p.equal("id", got["id"], float64(i))
		}
	}},
}

var contractFlow = []testCase{
	{"stream", func(p *probe) {
		a := p.get("/stream")
		p.equal("framing", a.framing, "chunked")
		p.equal("whole", a.whole, true)
		p.equal("lines", strings.Count(string(a.body), "\n"), 100)
	}},
	{"stream-head", func(p *probe) {
		a := p.talk("GET", "GET /stream HTTP/1.0\r\n\r\n")
		p.equal("lines", strings.Count(string(a.body), "\n"), 100)
	}},
	{"events", func(p *probe) {
		c := p.dial()
		c.write(request("GET", "/sse"))
		a := c.head("GET")
		p.equal("status", a.status, 200)
		if !strings.HasPrefix(c.chunk(), "id: 0\n") {
			p.Errorf("the first event is not the first")
		}
		c.chunk()
	}},
	{"events-end-with-the-client", func(p *probe) {
		gone(p, "/sse", closeConn)
		p.saw("left")
	}},
	{"events-end-with-a-client-that-does-not-read", func(p *probe) {
		c := p.dial()
		c.write(request("GET", p.at("/sse?keep&size=8000000")))
		c.head("GET")
		c.Close()
		p.saw("left")
	}},
	{"events-without-a-pause-end-with-the-client", func(p *probe) {
		gone(p, "/sse?keep&pause=0", closeConn)
		p.saw("left")
	}},
	{"background", func(p *probe) {
		p.equal("body", string(p.get(p.at("/background")).body), "begun")
		p.saw("background done")
	}},
	{"context-of-each-request", func(p *probe) {
		var all []*conn
		for i := range 10 {
			c := p.dial()
			c.write(request("GET", "/who", fmt.Sprintf("X-Who: %d", i)))
			all = append(all, c)
		}
		for i, c := range all {
			p.equal("who", string(c.read("GET").body), fmt.Sprint(i))
		}
	}},
}

var contractWS = []testCase{
	{"ws-echo", func(p *probe) {
		s := p.socket("/ws/echo")
		for _, text := range []string{"one", "zoë", ""} {
			s.send(opText, text)
			p.equal("echo", s.text(), "echo "+text)
		}
	}},
	{"ws-subprotocol", func(p *probe) {
		s := p.socket("/ws/echo", "Sec-WebSocket-Protocol: first, second")
		p.equal("protocol", s.head.get("Sec-WebSocket-Protocol"), "first")
	}},
	{"ws-json-and-close", func(p *probe) {
		s := p.socket("/ws/json")
		s.send(opText, `{"a":[1,2]}`)
		var got map[string]any
		s.json(&got)
		p.equal("answer", got, map[string]any{"got": map[string]any{"a": []any{1.0, 2.0}}})
		p.equal("reason", s.wantEnd(4001), "enough")
	}},
	{"ws-denied", func(p *probe) {
		_, a := p.handshake("/ws/deny")
		p.equal("status", a.status, 403)
	}},
	{"ws-client-leaves", func(p *probe) {
		s := p.socket("/ws/echo")
		s.write(string(frame(final|opClose, closing(1000, ""))))
		s.end()
		p.equal("next answer", p.get("/hello").status, 200)
	}},
	{"ws-ping", func(p *probe) {
		s := p.socket("/ws/echo")
		s.send(opPing, "p")
		if f, err := s.nextErr(); err != nil || f.op != opPong {
			p.Errorf("answer to a ping = %+v, %v", f, err)
		}
	}},
}

// starletteOnly is what Django has no counterpart of.
var starletteOnly = []testCase{
	{"lifespan-state", func(p *probe) {
		var got map[string]string
		p.json(&got, "/state")
		p.equal("answer", got, map[string]string{"made": "at startup"})
	}},
	{"static", func(p *probe) {
		a := p.get("/static/poem.txt")
		p.equal("body", string(a.body), poem(p))
		b := p.get("/static/poem.txt", "If-None-Match: "+a.get("ETag"))
		p.equal("status", b.status, 304)
	}},
	{"range", func(p *probe) {
		a := p.get("/file", "Range: bytes=4-7")
		p.equal("status", a.status, 206)
		p.equal("body", string(a.body), "loop")
	}},
	{"method-not-allowed", func(p *probe) {
		a := p.talk("DELETE", request("DELETE", "/hello"))
		p.equal("status", a.status, 405)
	}},
	{"head", func(p *probe) {
		c := p.dial()
		c.write(request("HEAD", "/file"))
		p.equal("silence behind the head", func() bool {
			c.read("HEAD")
			return c.silent(20 * time.Millisecond)
		}(), true)
	}},
}
