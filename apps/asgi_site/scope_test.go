// SPDX-License-Identifier: MIT

//go:build linux

package asgisite

import (
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A dump is what /scope answers.
type dump struct {
	Type        string
	ASGI        map[string]string
	HTTPVersion string `json:"http_version"`
	Method      string
	Scheme      string
	Path        string
	RawPath     *string `json:"raw_path"`
	Query       string  `json:"query_string"`
	RootPath    string  `json:"root_path"`
	Headers     [][2]string
	Client      []any
	Server      []any
	Extensions  map[string]any
	Types       map[string]string
	HeaderTypes []string `json:"header_types"`
	Subs        []string `json:"subprotocols"`
	Greeting    string
}

// values gives the values of a header, in order.
func (d *dump) values(name string) []string {
	var found []string
	for _, h := range d.Headers {
		if h[0] == name {
			found = append(found, h[1])
		}
	}
	return found
}

func (p *probe) scope(target string, headers ...string) *dump {
	d := new(dump)
	p.json(d, target, headers...)
	return d
}

// latin is text as the dump shows bytes: one character for each.
func latin(text string) string {
	runes := make([]rune, len(text))
	for i := range len(text) {
		runes[i] = rune(text[i])
	}
	return string(runes)
}

// TestScope: the connection scope of HTTP (asgiref, HTTP 2.5) as a request makes it.
func TestScope(t *testing.T) {
	play(t, group{name: "scope", cases: slices.Concat(scopeBasics, scopePaths, scopeHeaders)})
}

var scopeBasics = []testCase{
	{"type", func(p *probe) { p.equal("type", p.scope("/scope").Type, "http") }},
	{"asgi-version", func(p *probe) {
		p.equal("asgi.version", p.scope("/scope").ASGI["version"], "3.0")
	}},
	{"spec-version-2.5", func(p *probe) {
		p.equal("asgi.spec_version", p.scope("/scope").ASGI["spec_version"], "2.5")
	}},
	{"http-version-1.1", func(p *probe) {
		p.equal("http_version", p.scope("/scope").HTTPVersion, "1.1")
	}},
	{"http-version-1.0", func(p *probe) {
		d := new(dump)
		p.decode(d, p.talk("GET", "GET /scope HTTP/1.0\r\n\r\n"))
		p.equal("http_version", d.HTTPVersion, "1.0")
	}},
	{"method", func(p *probe) { p.equal("method", p.scope("/scope").Method, "GET") }},
	{"method-delete", func(p *probe) {
		d := new(dump)
		p.decode(d, p.talk("DELETE", request("DELETE", "/scope")))
		p.equal("method", d.Method, "DELETE")
	}},
	{"method-query", func(p *probe) {
		d := new(dump)
		p.decode(d, p.talk("PROPFIND", request("PROPFIND", "/scope")))
		p.equal("method", d.Method, "PROPFIND")
	}},
	{"scheme", func(p *probe) { p.equal("scheme", p.scope("/scope").Scheme, "http") }},
	{"root-path-empty", func(p *probe) { p.equal("root_path", p.scope("/scope").RootPath, "") }},
	{"types", func(p *probe) {
		types := p.scope("/scope?x").Types
		for key, want := range map[string]string{
			"type": "str", "method": "str", "path": "str", "raw_path": "bytes", "scheme": "str",
			"query_string": "bytes", "root_path": "str", "http_version": "str", "asgi": "dict",
		} {
			p.equal("type of "+key, types[key], want)
		}
	}},
	{"header-types", func(p *probe) {
		p.equal("types in headers", p.scope("/scope").HeaderTypes, []string{"bytes"})
	}},
	{"client", func(p *probe) {
		c := p.dial()
		c.write(request("GET", "/scope"))
		d := new(dump)
		p.decode(d, c.read("GET"))
		host, port, _ := net.SplitHostPort(c.LocalAddr().String())
		number, _ := strconv.Atoi(port)
		p.equal("client", d.Client, []any{host, float64(number)})
	}},
	{"server", func(p *probe) {
		host, port, _ := net.SplitHostPort(p.s.addr)
		number, _ := strconv.Atoi(port)
		p.equal("server", p.scope("/scope").Server, []any{host, float64(number)})
	}},
	{"no-debug-extension", func(p *probe) {
		d := p.scope("/scope")
		if _, ok := d.Extensions["http.response.debug"]; ok {
			p.Errorf("extensions = %v, want none for tests", d.Extensions)
		}
	}},
	{"no-push-extension", func(p *probe) {
		d := p.scope("/scope")
		if _, ok := d.Extensions["http.response.push"]; ok {
			p.Errorf("extensions = %v, want no push over HTTP/1.1", d.Extensions)
		}
	}},
	{"state", func(p *probe) {
		var seen struct{ Greeting string }
		p.json(&seen, "/state?mark=a")
		p.equal("state[greeting]", seen.Greeting, "made at startup")
	}},
	{"state-is-a-shallow-copy", func(p *probe) {
		var seen struct {
			Mark   *string
			Shared []string
		}
		p.json(&seen, p.at("/state?mark="+p.token))
		p.json(&seen, "/state?mark=other")
		if seen.Mark != nil {
			p.Errorf("state of one request holds what another put there: %q", *seen.Mark)
		}
		if !slices.Contains(seen.Shared, p.token) {
			p.Errorf("what the state refers to = %q, want it shared, with %q", seen.Shared, p.token)
		}
	}},
	{"no-lifespan-per-request", func(p *probe) {
		var about struct{ Started [][]string }
		p.json(&about, "/about")
		p.equal("lifespans", len(about.Started), 1)
	}},
}

// rawPath gives the raw path, "absent" where there is none.
func (d *dump) rawPath() string {
	if d.RawPath == nil {
		return "absent"
	}
	return *d.RawPath
}

// pathCase asks for target and wants path and raw_path of it.
func pathCase(name, target, path, raw string) testCase {
	return testCase{name, func(p *probe) {
		d := p.scope(target)
		p.equal("path of "+target, d.Path, path)
		p.equal("raw_path of "+target, d.rawPath(), raw)
	}}
}

var scopePaths = []testCase{
	pathCase("path-plain", "/scope/a/b", "/scope/a/b", "/scope/a/b"),
	pathCase("path-utf8", "/scope/%C3%B6", "/scope/ö", "/scope/%C3%B6"),
	pathCase("path-slash", "/scope/a%2Fb", "/scope/a/b", "/scope/a%2Fb"),
	pathCase("path-space", "/scope/a%20b", "/scope/a b", "/scope/a%20b"),
	pathCase("path-plus", "/scope/a+b", "/scope/a+b", "/scope/a+b"),
	pathCase("path-percent", "/scope/100%25", "/scope/100%", "/scope/100%25"),
	pathCase("path-question", "/scope/a%3Fb", "/scope/a?b", "/scope/a%3Fb"),
	pathCase("path-double-slash", "/scope//a//", "/scope//a//", "/scope//a//"),
	pathCase("path-semicolon", "/scope/a;v=1", "/scope/a;v=1", "/scope/a;v=1"),
	pathCase("path-lower-hex", "/scope/%c3%b6", "/scope/ö", "/scope/%c3%b6"),
	{"path-not-utf8", func(p *probe) {
		p.equal("raw_path", p.scope("/scope/%FF%FE").rawPath(), "/scope/%FF%FE")
	}},
	{"path-without-query", func(p *probe) {
		d := p.scope("/scope/a?b=c")
		p.equal("path", d.Path, "/scope/a")
		p.equal("raw_path", d.rawPath(), "/scope/a")
	}},
	{"path-of-absolute-form", func(p *probe) {
		d := new(dump)
		p.decode(d, p.talk("GET", request("GET", "http://site.example/scope/a%20b?c=d")))
		p.equal("path", d.Path, "/scope/a b")
		p.equal("raw_path", d.rawPath(), "/scope/a%20b")
		p.equal("query_string", d.Query, "c=d")
	}},
	{"query-bytes", func(p *probe) {
		p.equal("query_string", p.scope("/scope?a=%20+b&%C3%B6=%ff").Query, "a=%20+b&%C3%B6=%ff")
	}},
	{"query-none", func(p *probe) { p.equal("query_string", p.scope("/scope").Query, "") }},
	{"query-empty", func(p *probe) { p.equal("query_string", p.scope("/scope?").Query, "") }},
	{"query-second-mark", func(p *probe) {
		p.equal("query_string", p.scope("/scope?a?b=c?d").Query, "a?b=c?d")
	}},
	{"query-long", func(p *probe) {
		query := "q=" + strings.Repeat("v", 4000)
		p.equal("query_string", p.scope("/scope?"+query).Query, query)
	}},
}

// headerCase sends one header and wants its bytes.
func headerCase(name, line, want string) testCase {
	return testCase{name, func(p *probe) {
		p.equal("x-one of "+line, p.scope("/scope", line).values("x-one"), []string{latin(want)})
	}}
}

var scopeHeaders = []testCase{
	headerCase("header-lower", "X-ONE: Value", "Value"),
	headerCase("header-latin", "X-One: caf\xe9 \xff", "caf\xe9 \xff"),
	headerCase("header-utf8", "X-One: ö", "ö"),
	headerCase("header-empty", "X-One:", ""),
	headerCase("header-spaces", "X-One: \t a  b \t ", "a  b"),
	headerCase("header-keeps-nbsp", "X-One: \xa0a\xa0", "\xa0a\xa0"),
	headerCase("header-comma", "X-One: a, b", "a, b"),
	{"header-order", func(p *probe) {
		d := p.scope("/scope", "X-B: 1", "X-A: 2", "X-B: 3", "X-C: 4")
		var got []string
		for _, h := range d.Headers {
			if strings.HasPrefix(h[0], "x-") {
				got = append(got, h[0]+"="+h[1])
			}
		}
		p.equal("headers", got, []string{"x-b=1", "x-a=2", "x-b=3", "x-c=4"})
	}},
	{"header-cookies-apart", func(p *probe) {
		d := p.scope("/scope", "Cookie: a=1", "Cookie: b=2")
		p.equal("cookie", d.values("cookie"), []string{"a=1", "b=2"})
	}},
	{"header-host", func(p *probe) {
		p.equal("host", p.scope("/scope").values("host"), []string{"site.example"})
	}},
	{"header-many", func(p *probe) {
		var lines, want []string
		for i := range 60 {
			lines = append(lines, "X-One: "+strconv.Itoa(i))
			want = append(want, strconv.Itoa(i))
		}
		p.equal("x-one", p.scope("/scope", lines...).values("x-one"), want)
	}},
	{"header-long", func(p *probe) {
		value := strings.Repeat("v", 6000)
		p.equal("x-one", p.scope("/scope", "X-One: "+value).values("x-one"), []string{value})
	}},
	{"header-nothing-added", func(p *probe) {
		var names []string
		for _, h := range p.scope("/scope", "X-One: 1").Headers {
			names = append(names, h[0])
		}
		p.equal("names", names, []string{"host", "x-one"})
	}},
}
