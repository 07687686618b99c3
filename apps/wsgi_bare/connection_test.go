// SPDX-License-Identifier: MIT

//go:build unix

package wsgibare

import "strings"

// refusedWith wants an answer of the server alone, behind which it closes.
func refusedWith(status string) want {
	return want{status: status, has: []string{""}, after: closed}
}

// connectionCases are about how long a connection lives.
var connectionCases = []kase{
	{name: "keep", send: get("/hello"), want: want{body: "hello", after: open}},
	{name: "keep-asked", send: get("/hello", "Connection: keep-alive"), want: want{body: "hello"}},
	{name: "close-asked", send: get("/hello", "Connection: close"), want: want{
		body: "hello", after: closed,
	}},
	{name: "close-asked-in-list", send: get("/hello", "Connection: x, Close"), want: want{
		body: "hello", after: closed,
	}},
	{name: "http10-closes", send: old("/hello"), want: want{body: "hello", after: closed}},
	{name: "http10-keep", send: old("/hello", "Connection: keep-alive"), want: want{
		body: "hello", fields: []string{"Connection: keep-alive"},
	}},
	{name: "http10-keep-no-length", send: old("/chatty?n=2", "Connection: keep-alive"), want: want{
		body: "00000001", after: either,
	}},
	{name: "empty-line-first", send: "\r\n" + get("/hello"), want: want{body: "hello"}},
	{name: "junk", send: "junk\r\n\r\n", want: refusedWith("400 Bad Request")},
	{name: "no-host", send: "GET /hello HTTP/1.1\r\n\r\n", want: refusedWith("400 Bad Request")},
	{name: "two-hosts", send: get("/hello", "Host: a", "Host: b"),
		want: refusedWith("400 Bad Request")},
	{name: "space-before-colon", send: get("/hello", "X-A : b"),
		want: refusedWith("400 Bad Request")},
	{name: "control-in-value", send: get("/hello", "X-A: a\x0bb"),
		want: refusedWith("400 Bad Request")},
	{name: "bare-cr-in-value", send: get("/hello", "X-A: a\rb"),
		want: refusedWith("400 Bad Request")},
	{name: "folded", send: get("/hello", "X-A: a", " b"), want: refusedWith("400 Bad Request")},
	{name: "long-line", send: get("/" + strings.Repeat("a", 70_000)),
		want: refusedWith("414 URI Too Long")},
	{name: "long-head", send: get("/hello", "X-A: "+strings.Repeat("a", 200_000)),
		want: refusedWith("431 Request Header Fields Too Large")},
	{name: "coding-unknown", send: request("POST", "/hello", "HTTP/1.1",
		[]string{"Transfer-Encoding: gzip"}, "x"),
		want: refusedWith("400 Bad Request|501 Not Implemented")},
	{name: "coding-http10", send: request("POST", "/hello", "HTTP/1.0",
		[]string{"Transfer-Encoding: chunked"}, "0\r\n\r\n"), want: refusedWith("400 Bad Request")},
}
