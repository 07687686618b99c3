// SPDX-License-Identifier: MIT

//go:build unix

package pysite

import "strings"

const (
	plainText = "Content-Type: text/plain"
	utf8Text  = "Content-Type: text/plain; charset=utf-8"
	jsonText  = "Content-Type: application/json"
	formType  = "Content-Type: application/x-www-form-urlencoded"
)

// anything is a body of which nothing is said.
var anything = []string{}

// checks are requests that stand alone.
var checks = []check{
	{name: "hello", path: "/hello", want: "hello", head: []string{plainText, "Content-Length: 5"}},
	{name: "hello-query", path: "/hello?a=b", want: "hello"},
	{name: "head", method: "HEAD", path: "/hello", head: []string{plainText, "Content-Length: 5"}},
	{name: "method-not-allowed", method: "DELETE", path: "/hello", status: 405, has: anything},
	{name: "post-not-allowed", method: "POST", path: "/stream", body: "x", status: 405,
		has: anything},
	{name: "missing", path: "/missing", status: 404, has: []string{"Not Found"}},
	{name: "missing-head", method: "HEAD", path: "/missing", status: 404},
	{name: "page", path: "/", has: []string{"<h1>Notes</h1>", "csrfmiddlewaretoken"},
		head: []string{"Content-Type: text/html; charset=utf-8"}},
	{name: "table", path: "/table", has: []string{"row 0", "00099 &amp; text", "</html>"}},
	{name: "request", path: "/request?a=%20b&c", has: []string{
		`"method":"GET"`, `"path":"/request"`, `"query":"a=%20b&c"`, `"scheme":"http"`,
		`"remote":"127.0.0.1"`, `"secure":false`, `"host":"127.0.0.1:`,
	}},
	{name: "request-host", path: "/request", fields: []string{"Host: site.test:81"}, has: []string{
		`"host":"site.test:81"`, `"url":"http://site.test:81/request"`,
	}},
	{name: "request-field", path: "/request", fields: []string{"Accept-Language: de, en"},
		has: []string{`"language":"de, en"`}},
	{name: "request-put", method: "PUT", path: "/request", body: "x",
		has: []string{`"method":"PUT"`}},
	{name: "request-delete", method: "DELETE", path: "/request", has: []string{`"method":"DELETE"`}},
	{name: "request-patch", method: "PATCH", path: "/request", body: "x",
		has: []string{`"method":"PATCH"`}},
	{name: "path-unicode", path: "/path/caf%C3%A9%20%E2%82%AC", want: "café €",
		head: []string{utf8Text}},
	{name: "path-reserved", path: "/path/a%3Fb%23c%25", want: "a?b#c%"},
	{name: "path-plus", path: "/path/a+b", want: "a+b"},
	{name: "search-unicode", path: "/search?q=%C3%BC", has: []string{`"q":["\u00fc"]`}},
	{name: "search-plus", path: "/search?q=a+b%2B", has: []string{`"q":["a b+"]`}},
	{name: "search-twice", path: "/search?q=1&q=2&q=", has: []string{`"q":["1","2",""]`}},
	{name: "search-none", path: "/search", has: []string{`"q":[]`}},
	{name: "sum", method: "POST", path: "/sum", body: `{"numbers": [1, 2, 39]}`,
		fields: []string{jsonText}, has: []string{`"sum":42`}},
	{name: "sum-wrong", method: "POST", path: "/sum", body: `{"numbers"`, status: 400,
		fields: []string{jsonText}, has: []string{"numbers are missing"}},
	{name: "echo", method: "POST", path: "/echo", body: "\x00\xff\r\n body",
		want: "\x00\xff\r\n body", head: []string{"Content-Length: 9"}},
	{name: "echo-1m", method: "POST", path: "/echo", body: strings.Repeat("0123456789abcdef", 65536),
		want: strings.Repeat("0123456789abcdef", 65536)},
	{name: "stream", path: "/stream", want: "line 0\nline 1\nline 2\nline 3\nline 4\n",
		head: []string{plainText, "Content-Length"}},
	{name: "stream-head", method: "HEAD", path: "/stream", head: []string{plainText}},
	{name: "download", path: "/download", want: strings.Repeat("0123456789abcdef", 20_000),
		head: []string{
			"Content-Length: 320000", "Content-Type: application/octet-stream",
		}},
	{name: "download-head", method: "HEAD", path: "/download", head: []string{
		"Content-Length: 320000",
	}},
	{name: "etag", path: "/etag", want: "tagged", head: []string{`Etag: "v1"`}},
	{name: "etag-same", path: "/etag", fields: []string{`If-None-Match: "v1"`}, status: 304,
		head: []string{`Etag: "v1"`}},
	{name: "etag-other", path: "/etag", fields: []string{`If-None-Match: "v0"`}, want: "tagged"},
	{name: "empty", path: "/empty", status: 204, head: []string{"Content-Length"}},
	{name: "redirect", path: "/redirect", status: 302, has: anything,
		head: []string{"Location: /search?q=%C3%BC"}},
	{name: "cookies", path: "/cookies", want: "new", head: []string{
		`Set-Cookie: seen=before; HttpOnly; Path=/ | other="b c"; Path=/`,
	}},
	{name: "static", path: "/static/site.css", want: "h1 { color: teal }\n", head: []string{
		"Content-Length: 19",
	}},
	{name: "static-missing", path: "/static/none.css", status: 404, has: anything},
	{name: "static-head", method: "HEAD", path: "/static/site.css", head: []string{
		"Content-Length: 19",
	}},
	{name: "error", path: "/error", status: 500, has: []string{"Server Error"},
		log: "SITE failure"},
	{name: "error-head", method: "HEAD", path: "/error", status: 500},
	{name: "form-without-token", method: "POST", path: "/notes", body: "text=x",
		fields: []string{formType}, status: 403, has: anything},
	{name: "scheme", path: "/request", fields: []string{"X-Forwarded-Proto: https"},
		has: []string{`"scheme":"https"`, `"secure":true`, `"url":"https://127.0.0.1:`}},
}
