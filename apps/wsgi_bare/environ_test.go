// SPDX-License-Identifier: MIT

//go:build unix

package wsgibare

import (
	"strings"

	"m0serve.dev/apps/internal/rawhttp"
)

// environ is a want of entries in what /environ shows.
func environ(e entries) want { return want{entries: e} }

// environCases are about the dictionary that the application is called with.
var environCases = []kase{
	{name: "hello", send: get("/hello"), want: want{
		fields: []string{"Content-Type: text/plain", "Content-Length: 5"}, body: "hello",
		framing: rawhttp.Length,
	}},
	{name: "root", send: get("/"), want: want{body: "hello"}},
	{name: "unknown-path", send: get("/none"), want: want{
		status: "404 Not Found", body: "no such route\n",
	}},
	{name: "types", send: get("/environ/types?a=b", "X-A: b"), want: want{body: "[]"}},
	{name: "types-post", send: post("/environ/types", "a=b", "Content-Type: text/plain"),
		want: want{body: "[]"}},
	{name: "types-chunked", send: chunks("/environ/types", "a=b"), want: want{body: "[]"}},
	{name: "request-line", send: get("/environ?a=1"), want: environ(entries{
		"REQUEST_METHOD": `"GET"`, "SCRIPT_NAME": `""`, "PATH_INFO": `"/environ"`,
		"QUERY_STRING": `"a=1"`, "SERVER_PROTOCOL": `"HTTP/1.1"`, "target": `"/environ?a=1"`,
	})},
	{name: "wsgi-keys", send: get("/environ"), want: environ(entries{
		"wsgi.version": `[1, 0]`, "wsgi.url_scheme": `"http"`, "wsgi.run_once": `false`,
		"wsgi.multithread": `true`, "wsgi.multiprocess": `false`,
		"wsgi.input": `/^"</`, "wsgi.errors": `/^"</`, "wsgi.file_wrapper": `/^"</`,
	})},
	{name: "input-terminated", send: get("/environ"), want: environ(entries{
		"wsgi.input_terminated": `true`,
	})},
	{name: "server", send: get("/environ"), want: environ(entries{
		"SERVER_NAME": `/^"[^"]+"$/`, "SERVER_PORT": `/^"[1-9][0-9]*"$/`,
		"SERVER_SOFTWARE": `/^"[^"]+"$/`, "REMOTE_ADDR": `"127.0.0.1"`,
		"REMOTE_PORT": `/^"[1-9][0-9]*"$/`,
	})},
	{name: "http10", send: old("/environ"), want: want{entries: entries{
		"SERVER_PROTOCOL": `"HTTP/1.0"`, "HTTP_HOST": "-",
	}, after: closed}},
	{name: "no-query", send: get("/environ"), want: environ(entries{"QUERY_STRING": `""`})},
	{name: "empty-query", send: get("/environ?"), want: environ(entries{"QUERY_STRING": `""`})},
	{name: "query-raw", send: get("/environ?a=%20b&c=+d%2F%zz"), want: environ(entries{
		"QUERY_STRING": `"a=%20b&c=+d%2F%zz"`,
	})},
	{name: "query-marks", send: get("/environ?a?b?"), want: environ(entries{
		"QUERY_STRING": `"a?b?"`,
	})},
	{name: "path-utf8", send: get("/environ/at/caf%C3%A9"), want: environ(entries{
		"PATH_INFO": `"/environ/at/caf\u00c3\u00a9"`, "target": `"/environ/at/caf%C3%A9"`,
	})},
	{name: "path-latin", send: get("/environ/at/%FF%e9"), want: environ(entries{
		"PATH_INFO": `"/environ/at/\u00ff\u00e9"`,
	})},
	{name: "path-slash", send: get("/environ/at/a%2Fb"), want: environ(entries{
		"PATH_INFO": `"/environ/at/a/b"`, "target": `"/environ/at/a%2Fb"`,
	})},
	{name: "path-question", send: get("/environ/at/a%3Fb?c"), want: environ(entries{
		"PATH_INFO": `"/environ/at/a?b"`, "QUERY_STRING": `"c"`,
	})},
	{name: "path-once", send: get("/environ/at/%2541"), want: environ(entries{
		"PATH_INFO": `"/environ/at/%41"`,
	})},
	{name: "path-plus", send: get("/environ/at/a+b"), want: environ(entries{
		"PATH_INFO": `"/environ/at/a+b"`,
	})},
	{name: "path-parameters", send: get("/environ/at/a;b=c,d"), want: environ(entries{
		"PATH_INFO": `"/environ/at/a;b=c,d"`,
	})},
	{name: "path-dots", send: get("/environ/at/../x/./y"), want: environ(entries{
		"PATH_INFO": `"/environ/at/../x/./y"`,
	})},
	{name: "path-double", send: get("//environ//at"), want: environ(entries{
		"PATH_INFO": `"//environ//at"`, "target": `"//environ//at"`,
	})},
	{name: "path-colon", send: get("/environ/at/http://a/b"), want: environ(entries{
		"PATH_INFO": `"/environ/at/http://a/b"`,
	})},
	{name: "absolute-form", send: get("http://bare.test:81/environ?x=1", "Host: bare.test:81"),
		want: environ(entries{
			"PATH_INFO": `"/environ"`, "QUERY_STRING": `"x=1"`, "HTTP_HOST": `"bare.test:81"`,
		})},
	{name: "method-put", send: request("PUT", "/environ", "HTTP/1.1",
		[]string{"Content-Length: 1"}, "x"), want: environ(entries{"REQUEST_METHOD": `"PUT"`})},
	{name: "method-delete", send: request("DELETE", "/environ", "HTTP/1.1", nil, ""),
		want: environ(entries{"REQUEST_METHOD": `"DELETE"`})},
	{name: "method-options", send: request("OPTIONS", "/environ", "HTTP/1.1", nil, ""),
		want: environ(entries{"REQUEST_METHOD": `"OPTIONS"`})},
	{name: "method-patch", send: request("PATCH", "/environ", "HTTP/1.1",
		[]string{"Content-Length: 0"}, ""), want: environ(entries{"REQUEST_METHOD": `"PATCH"`})},
	{name: "method-unknown", send: request("M-SEARCH", "/environ", "HTTP/1.1", nil, ""),
		want: environ(entries{"REQUEST_METHOD": `"M-SEARCH"`})},
}

// fieldCases are about the fields of requests in the environ.
var fieldCases = []kase{
	{name: "field", send: get("/environ", "X-Foo-Bar: baz"), want: environ(entries{
		"HTTP_X_FOO_BAR": `"baz"`, "X-Foo-Bar": "-",
	})},
	{name: "field-case", send: get("/environ", "x-fOO: bAr", "hOsT: a.test"), want: environ(entries{
		"HTTP_X_FOO": `"bAr"`, "HTTP_HOST": `"a.test"`,
	})},
	{name: "field-digits", send: get("/environ", "X-2-b: c"), want: environ(entries{
		"HTTP_X_2_B": `"c"`,
	})},
	{name: "field-empty", send: get("/environ", "X-A:", "X-B: ", "X-C:  \t"), want: environ(entries{
		"HTTP_X_A": `""`, "HTTP_X_B": `""`, "HTTP_X_C": `""`,
	})},
	{name: "field-space", send: get("/environ", "X-A: \t a  b \t", "X-B:c"), want: environ(entries{
		"HTTP_X_A": `"a  b"`, "HTTP_X_B": `"c"`,
	})},
	{name: "field-latin", send: get("/environ", "X-A: caf\xe9", "X-B: \xff\x80"),
		want: environ(entries{"HTTP_X_A": `"caf\u00e9"`, "HTTP_X_B": `"\u00ff\u0080"`})},
	{name: "field-utf8", send: get("/environ", "X-A: caf\xc3\xa9"), want: environ(entries{
		"HTTP_X_A": `"caf\u00c3\u00a9"`,
	})},
	{name: "field-nbsp", send: get("/environ", "X-A: \xa0a\xa0", "X-B: \x85b\x85"),
		want: environ(entries{
			"HTTP_X_A": `"\u00a0a\u00a0"`, "HTTP_X_B": `"\u0085b\u0085"`,
		})}, // no white space of HTTP
	{name: "field-quotes", send: get("/environ", `X-A: "a, b"; c='d', \`), want: environ(entries{
		"HTTP_X_A": `"\"a, b\"; c='d', \\"`,
	})},
	{name: "field-colons", send: get("/environ", "X-A: a:b: c"), want: environ(entries{
		"HTTP_X_A": `"a:b: c"`,
	})},
	{name: "field-twice", send: get("/environ", "X-A: 1", "X-B: b", "x-a: 2"), want: environ(entries{
		"HTTP_X_A": `/^"1, ?2"$/`, "HTTP_X_B": `"b"`,
	})},
	{name: "field-cookies", send: get("/environ", "Cookie: a=1", "Cookie: b=2"), want: environ(entries{
		"HTTP_COOKIE": `"a=1; b=2"`,
	})},
	{name: "field-underscore", send: get("/environ", "X_A: evil", "X-B: good", "X_B: evil"),
		want: environ(entries{"HTTP_X_A": "-", "HTTP_X_B": `"good"`})},
	{name: "field-content-type", send: post("/environ", "abc", "Content-Type: text/x; a=b"),
		want: environ(entries{
			"CONTENT_TYPE": `"text/x; a=b"`, "CONTENT_LENGTH": `"3"`,
			"HTTP_CONTENT_TYPE": "-", "HTTP_CONTENT_LENGTH": "-",
		})},
	{name: "field-content-spelled", send: post("/environ", "abc", "Content_Type: evil",
		"Content_Length: 99"), want: environ(entries{
		"CONTENT_TYPE": `/^(""|)$/`, "CONTENT_LENGTH": `"3"`, "HTTP_CONTENT_LENGTH": "-",
	}), strict: &want{has: []string{`"CONTENT_LENGTH": "3"`}}},
	{name: "field-length-zero", send: post("/environ", ""), want: environ(entries{
		"CONTENT_LENGTH": `"0"`,
	})},
	{name: "field-length-none", send: get("/environ"), want: environ(entries{
		"CONTENT_LENGTH": `/^(""|)$/`,
	})},
	{name: "field-length-chunked", send: chunks("/environ", "abc"), want: environ(entries{
		"CONTENT_LENGTH": `/^(""|)$/`, "wsgi.input_terminated": "true",
	})},
	{name: "field-trailers", send: encoded("/environ", "1\r\na\r\n0\r\nX-Trailer: t\r\n\r\n"),
		want: environ(entries{"HTTP_X_TRAILER": "-"})},
	{name: "field-no-cgi", send: get("/environ", "Script-Name: /evil", "Path-Info: /evil",
		"Remote-Addr: 6.6.6.6", "Remote-User: root", "Wsgi.Input: x"), want: environ(entries{
		"SCRIPT_NAME": `""`, "PATH_INFO": `"/environ"`, "REMOTE_ADDR": `"127.0.0.1"`,
		"REMOTE_USER": "-", "wsgi.input": `/^"</`,
	})},
	{name: "field-grip", send: get("/environ", "Grip-Hold: stream", "M0-Channel: a",
		"M0-Slot: 1"), want: environ(entries{
		"HTTP_GRIP_HOLD": "-", "HTTP_M0_CHANNEL": "-", "HTTP_M0_SLOT": "-",
	})},
	{name: "field-forwarded-scheme", send: get("/environ", "X-Forwarded-Proto: https"),
		want: environ(entries{"wsgi.url_scheme": `"https"`})},
	{name: "field-long", send: get("/environ", "X-A: "+strings.Repeat("a", 7000)),
		want: want{has: []string{`"HTTP_X_A": "` + strings.Repeat("a", 7000) + `"`}}},
	{name: "field-many", send: get("/environ", strings.Split(strings.TrimSpace(
		strings.Repeat("X-A: a\n", 80)), "\n")...), want: environ(entries{
		"HTTP_X_A": `/^"a(, ?a){79}"$/`,
	})},
	{name: "field-browser", send: get("/environ", "User-Agent: Mozilla/5.0 (X11)",
		"Accept: text/html,*/*;q=0.8", "Accept-Encoding: gzip, br", "Accept-Language: de",
		"Referer: http://a/b", "If-None-Match: \"x\"", "Cookie: a=b; c=d", "DNT: 1",
		"Authorization: Basic eDp5", "Upgrade-Insecure-Requests: 1"), want: environ(entries{
		"HTTP_USER_AGENT": `"Mozilla/5.0 (X11)"`, "HTTP_ACCEPT": `"text/html,*/*;q=0.8"`,
		"HTTP_ACCEPT_ENCODING": `"gzip, br"`, "HTTP_ACCEPT_LANGUAGE": `"de"`,
		"HTTP_REFERER": `"http://a/b"`, "HTTP_IF_NONE_MATCH": `"\"x\""`,
		"HTTP_COOKIE": `"a=b; c=d"`, "HTTP_DNT": `"1"`, "HTTP_AUTHORIZATION": `"Basic eDp5"`,
		"HTTP_UPGRADE_INSECURE_REQUESTS": `"1"`,
	})},
}
