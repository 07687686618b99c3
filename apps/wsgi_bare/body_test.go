// SPDX-License-Identifier: MIT

//go:build unix

package wsgibare

import (
	"crypto/sha256"
	"fmt"
	"strings"
)

const threeLines = "one\ntwo\nthree"

// pattern is the text of that length of bare.output.pattern.
func pattern(size int) string {
	var b strings.Builder
	for i := 0; i < 1<<17; i += 8 {
		fmt.Fprintf(&b, "%07d\n", i)
	}
	return strings.Repeat(b.String(), size/b.Len()+1)[:size]
}

func digest(text string) string {
	return fmt.Sprintf(`{"sha256": "%x", "size": %d}`, sha256.Sum256([]byte(text)), len(text))
}

// split cuts text into pieces of a size.
func split(text string, size int) (pieces []string) {
	for ; len(text) > size; text = text[size:] {
		pieces = append(pieces, text[:size])
	}
	return append(pieces, text)
}

// ops is a POST of three lines on which the operations are done.
func ops(operations string) string { return post("/body?ops="+operations, threeLines) }

// gives wants the results of operations, as JSON.
func gives(results string) want { return want{body: results} }

// bodyCases are about wsgi.input.
var bodyCases = []kase{
	{name: "read-sizes", send: ops("read:3,read:1,read:4,read:100,read:1"),
		want: gives(`["one", "\n", "two\n", "three", ""]`)},
	{name: "read-zero", send: ops("read:0,read:3"), want: gives(`["", "one"]`)},
	{name: "read-negative", send: ops("read:-1,read:-1"), want: gives(`["one\ntwo\nthree", ""]`)},
	{name: "read-all", send: ops("read,read"), want: gives(`["one\ntwo\nthree", ""]`),
		strict: &failed},
	{name: "read-rest", send: ops("read:5,read:-1"), want: gives(`["one\nt", "wo\nthree"]`)},
	{name: "readline", send: ops("readline,readline,readline,readline,readline"),
		want: gives(`["one\n", "two\n", "three", "", ""]`)},
	{name: "readline-size", send: ops("readline:2,readline:2,readline:9,readline:-1"),
		want: gives(`["on", "e\n", "two\n", "three"]`)},
	{name: "readline-zero", send: ops("readline:0,readline"), want: gives(`["", "one\n"]`)},
	{name: "readlines", send: ops("readlines,readlines"),
		want: gives(`[["one\n", "two\n", "three"], []]`)},
	{name: "readlines-hint", send: ops("readlines:4,readlines"),
		want: want{has: []string{`[["one\n"`}}}, // a hint is one
	{name: "iterate", send: ops("iter,iter"), want: gives(`[["one\n", "two\n", "three"], []]`)},
	{name: "iterate-next", send: ops("next,next,next,next"),
		want: gives(`["one\n", "two\n", "three", "<end>"]`)},
	{name: "mixed", send: ops("read:1,readline,next,read:2,readlines"),
		want: gives(`["o", "ne\n", "two\n", "th", ["ree"]]`)},
	{name: "lines-crlf", send: post("/body?ops=iter", "a\r\n\r\nb\r"),
		want: gives(`[["a\r\n", "\r\n", "b\r"]]`)},
	{name: "lines-empty", send: post("/body?ops=iter", "\n\n\n"),
		want: gives(`[["\n", "\n", "\n"]]`)},
	{name: "lines-binary", send: post("/body?ops=iter", "\x00\xff\n\x0b\x0c\x1c\x85\n"),
		want: gives(`[["\u0000\u00ff\n", "\u000b\f\u001c\u0085\n"]]`)},
	{name: "line-long", send: post("/body/echo/lines", strings.Repeat("x", 200_000)+"\ny"),
		want: want{body: "<" + strings.Repeat("x", 200_000) + "><y>"}},
	{name: "types-of-results", send: post("/body/types", threeLines),
		want: gives(`["bytes", "bytes", "list"]`)},
	{name: "no-body", send: get("/body?ops=read:9,readline,readlines,iter"),
		want: gives(`["", "", [], []]`)},
	{name: "no-body-read-all", send: get("/body?ops=read"), want: gives(`[""]`), strict: &failed},
	{name: "no-body-http10", send: old("/body?ops=read:9,readline"),
		want: want{body: `["", ""]`, after: closed}},
	{name: "empty-body", send: post("/body?ops=read:9,readline,readlines,iter", ""),
		want: gives(`["", "", [], []]`)},
	{name: "body-http10", send: request("POST", "/body?ops=read:99", "HTTP/1.0",
		[]string{"Content-Length: 3"}, "abc"), want: want{body: `["abc"]`, after: closed}},
	{name: "body-of-get", send: request("GET", "/body?ops=read:99", "HTTP/1.1",
		[]string{"Content-Length: 3"}, "abc"), want: gives(`["abc"]`)},
	{name: "body-of-delete", send: request("DELETE", "/body?ops=read:99", "HTTP/1.1",
		[]string{"Content-Length: 3"}, "abc"), want: gives(`["abc"]`)},
	{name: "echo-bytes", send: post("/body/echo", allBytes()), want: want{
		body: allBytes(), fields: []string{"Content-Length: 256"},
	}},
	{name: "echo-64k", send: post("/body/echo", pattern(65536)), want: want{body: pattern(65536)}},
	{name: "echo-64k-1", send: post("/body/echo", pattern(65537)), want: want{body: pattern(65537)}},
	{name: "echo-1m", send: post("/body/echo", pattern(1<<20)), want: want{body: pattern(1 << 20)}},
	{name: "digest-5m", send: post("/body/digest", pattern(5<<20)),
		want: want{body: digest(pattern(5 << 20))}},
	{name: "echo-pieces", send: post("/body/echo/pieces", pattern(300_000)),
		want: want{body: pattern(300_000)}},
	{name: "echo-pieces-3m", send: post("/body/echo/pieces", pattern(3<<20)),
		want: want{body: pattern(3 << 20), after: either}},
	{name: "echo-lines", send: post("/body/echo/lines", threeLines),
		want: want{body: "<one><two><three>"}},
	{name: "elsewhere", send: post("/body/elsewhere", pattern(200_000)), want: want{body: "200000"}},
	{name: "ignored", send: post("/body/ignore", threeLines), want: want{body: "ignored"}},
	{name: "ignored-chunked", send: chunks("/body/ignore", threeLines), want: want{body: "ignored"}},
	{name: "ignored-5m", send: post("/body/ignore", pattern(5<<20)),
		want: want{body: "ignored", after: either}},
	{name: "half-read", send: post("/body/first", threeLines), want: want{body: "one"}},
	{name: "half-read-1m", send: post("/body/first", pattern(1<<20)),
		want: want{body: "000", after: either}},
	{name: "half-read-chunked", send: chunks("/body/first", "on", "e\ntwo"), want: want{body: "one"}},
	{name: "record", send: post("/body/record?id=$ID", "12345"), want: want{
		body: "complete 5", events: "called,complete 5",
	}},
}

// chunkCases are about bodies in chunks.
var chunkCases = []kase{
	{name: "chunks-read", send: chunks("/body?ops=read:4,read:99,read:1", "abc", "de", "f"),
		want: gives(`["abcd", "ef", ""]`)},
	{name: "chunks-read-all", send: chunks("/body?ops=read", "abc", "de"), want: gives(`["abcde"]`),
		strict: &failed},
	{name: "chunks-readline", send: chunks("/body?ops=readline,readline,readline", "a", "b\nc", "\nd"),
		want: gives(`["ab\n", "c\n", "d"]`)},
	{name: "chunks-iterate", send: chunks("/body?ops=iter", "a", "b\nc", "\n"),
		want: gives(`[["ab\n", "c\n"]]`)},
	{name: "chunks-none", send: chunks("/body?ops=read:9,readline,iter"), want: gives(`["", "", []]`)},
	{name: "chunks-single-bytes", send: chunks("/body/digest", split(pattern(3000), 1)...),
		want: want{body: digest(pattern(3000))}},
	{name: "chunks-1m", send: chunks("/body/digest", split(pattern(1<<20), 10_000)...),
		want: want{body: digest(pattern(1 << 20))}},
	{name: "chunks-one-5m", send: chunks("/body/digest", pattern(5<<20)),
		want: want{body: digest(pattern(5 << 20))}},
	{name: "chunks-echo", send: chunks("/body/echo/pieces", split(pattern(300_000), 7_777)...),
		want: want{body: pattern(300_000)}},
	{name: "chunks-extension", send: encoded("/body?ops=read:99", "3;a=b\r\nabc\r\n0\r\n\r\n"),
		want: gives(`["abc"]`)},
	{name: "chunks-trailer", send: encoded("/body?ops=read:99", "3\r\nabc\r\n0\r\nX-T: 1\r\n\r\n"),
		want: gives(`["abc"]`)},
	{name: "chunks-upper", send: encoded("/body?ops=read:99", "0A\r\n0123456789\r\n0\r\n\r\n"),
		want: gives(`["0123456789"]`)},
	{name: "chunks-elsewhere", send: chunks("/body/elsewhere", "abc", "d"), want: want{body: "4"}},
	{name: "chunks-record", send: chunks("/body/record?id=$ID", "abc", "de"), want: want{
		body: "complete 5", events: "called,complete 5",
	}},
	{name: "chunks-size-wrong", send: encoded("/body/record?id=$ID", "xyz\r\nabc\r\n0\r\n\r\n"),
		want: want{status: "400 Bad Request", has: []string{""}, after: closed}},
	{name: "chunks-end-wrong", send: encoded("/body/record?id=$ID", "3\r\nabcX\r\n0\r\n\r\n"),
		want: want{status: "400 Bad Request", has: []string{""}, after: closed}},
	{name: "chunks-and-length", send: request("POST", "/body/record?id=$ID", "HTTP/1.1",
		[]string{"Content-Length: 3", "Transfer-Encoding: chunked"}, "3\r\nabc\r\n0\r\n\r\n"),
		want: want{status: "400 Bad Request", has: []string{""}, after: closed}},
	{name: "length-wrong", send: request("POST", "/body/record?id=$ID", "HTTP/1.1",
		[]string{"Content-Length: 3, 3"}, "abc"),
		want: want{status: "400 Bad Request", has: []string{""}, after: closed}},
}

// allBytes is each byte once.
func allBytes() string {
	b := make([]byte, 256)
	for i := range b {
		b[i] = byte(i)
	}
	return string(b)
}
