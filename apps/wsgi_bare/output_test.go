// SPDX-License-Identifier: MIT

//go:build unix

package wsgibare

import (
	"strings"

	"m0serve.dev/apps/internal/rawhttp"
)

// statusCases are about status lines and answers without a body.
var statusCases = []kase{
	{name: "status-words", send: get("/status?s=299+Custom+Words"),
		want: want{status: "299 Custom Words", body: "status"}},
	{name: "status-apostrophe", send: get("/status?s=418+I'm+a+teapot"),
		want: want{status: "418 I'm a teapot", body: "status"}},
	{name: "status-latin", send: get("/status?s=200+Caf%E9"),
		want: want{status: "200 Caf\u00e9", body: "status"}},
	{name: "status-no-reason", send: get("/status?s=200+"),
		want: want{status: "200 |200 OK", body: "status"}},
	{name: "status-other-words", send: get("/status?s=404+Elsewhere"),
		want: want{status: "404 Elsewhere", body: "status"}},
	{name: "status-own-500", send: get("/status?s=500+Own+Error"),
		want: want{status: "500 Own Error", body: "status"}},
	{name: "status-599", send: get("/status?s=599+Last"),
		want: want{status: "599 Last", body: "status"}},
	{name: "status-201", send: post("/status?s=201+Created", "x"),
		want: want{status: "201 Created", body: "status"}},
	{name: "status-302", send: get("/status?s=302+Found"),
		want: want{status: "302 Found", body: "status"}},
	{name: "status-401", send: get("/status?s=401+Unauthorized"),
		want: want{status: "401 Unauthorized", body: "status"}},
	{name: "status-205", send: get("/status?s=205+Reset+Content&body="),
		want: want{status: "205 Reset Content", fields: []string{"Content-Length: 0"}}},
	{name: "204", send: get("/status?s=204+No+Content&bare=1&length=no&body="), want: want{
		status: "204 No Content", absent: []string{"Content-Length", "Transfer-Encoding"},
	}},
	{name: "204-length", send: get("/status?s=204+No+Content&bare=1&body="), want: want{
		status: "204 No Content", absent: []string{"Content-Length", "Transfer-Encoding"},
	}},
	{name: "204-body", send: get("/status?s=204+No+Content&bare=1&length=no&body=dropped"),
		want: want{
			status: "204 No Content", absent: []string{"Content-Length", "Transfer-Encoding"},
		}},
	{name: "204-post", send: post("/status?s=204+No+Content&bare=1&length=no&body=", "abc"),
		want: want{
			status: "204 No Content", absent: []string{"Content-Length", "Transfer-Encoding"},
		}},
	{name: "304", send: get("/status?s=304+Not+Modified&bare=1&length=no&body="), want: want{
		status: "304 Not Modified", absent: []string{"Transfer-Encoding"},
	}},
	{name: "304-length", send: get("/status?s=304+Not+Modified&bare=1&say=1234&body="), want: want{
		status: "304 Not Modified", fields: []string{"Content-Length: 1234"},
		absent: []string{"Transfer-Encoding"},
	}},
	{name: "304-body", send: get("/status?s=304+Not+Modified&bare=1&length=no&body=dropped"),
		want: want{status: "304 Not Modified", absent: []string{"Transfer-Encoding"}}},
	{name: "head", send: head("/hello"), want: want{fields: []string{"Content-Length: 5"}}},
	{name: "head-says-more", send: head("/length?say=100&have=0"), want: want{
		fields: []string{"Content-Length: 100"},
	}},
	{name: "head-no-length", send: head("/shape?kind=generator"), want: want{}},
	{name: "head-stream", send: head("/stream?id=$ID&n=2"), want: want{}},
	{name: "head-404", send: head("/none"), want: want{
		status: "404 Not Found", fields: []string{"Content-Length: 14"},
	}},
	{name: "head-close", send: head("/hello", "Connection: close"), want: want{
		fields: []string{"Content-Length: 5"}, after: closed,
	}},
	{name: "head-write", send: head("/write?w=some&r=more"), want: want{}},
	{name: "head-file", send: head("/file?say=300000"), want: want{
		fields: []string{"Content-Length: 300000"},
	}},
}

// answerFieldCases are about the fields of answers.
var answerFieldCases = []kase{
	{name: "answer-field", send: get("/fields?h=X-A:b"), want: want{
		fields: []string{"X-A: b"}, body: "fields",
	}},
	{name: "answer-case", send: get("/fields?h=x-lOwEr:V"), want: want{
		fields: []string{"x-lOwEr: V"}, body: "fields",
	}},
	{name: "answer-latin", send: get("/fields?h=X-A:caf%E9&h=X-B:%FF%80"), want: want{
		fields: []string{"X-A: caf\u00e9", "X-B: \u00ff\u0080"}, body: "fields",
	}},
	{name: "answer-twice", send: get("/fields?h=Set-Cookie:a=1&h=X-B:b&h=Set-Cookie:c=2"), want: want{
		fields: []string{"Set-Cookie: a=1", "X-B: b", "Set-Cookie: c=2"}, body: "fields",
	}},
	{name: "answer-empty", send: get("/fields?h=X-A:"), want: want{body: "fields"}},
	{name: "answer-inner-space", send: get("/fields?h=X-A:a++b,+c"), want: want{
		fields: []string{"X-A: a  b, c"}, body: "fields",
	}},
	{name: "answer-long", send: get("/fields?long=6000"), want: want{
		fields: []string{"X-Long: " + strings.Repeat("a", 6000)}, body: "fields",
	}},
	{name: "answer-many", send: get("/fields?" + strings.Repeat("h=X-A:a&", 200)), want: want{
		fields: []string{"X-A: a"}, body: "fields",
	}},
	{name: "answer-date", send: get("/fields?h=Date:Sun,+06+Nov+1994+08:49:37+GMT"), want: want{
		fields: []string{"Date: Sun, 06 Nov 1994 08:49:37 GMT"}, body: "fields",
	}},
	{name: "answer-server", send: get("/fields?h=Server:bare/1"), want: want{
		fields: []string{"Server: bare/1"}, body: "fields",
	}},
	{name: "answer-close", send: get("/fields?h=Connection:close"), want: want{
		body: "fields", after: either,
	}},
	{name: "answer-coding", send: get("/fields?h=Transfer-Encoding:chunked"), want: want{
		body: "fields", after: either,
	}},
	{name: "answer-no-type", send: get("/status?s=200+OK&bare=1"), want: want{
		body: "status", absent: []string{"Content-Type"},
	}, strict: &failed},
	{name: "answer-location", send: get("/fields?h=Location:/a%3Fb"), want: want{
		fields: []string{"Location: /a?b"}, body: "fields",
	}},
}

// sized wants them with the length that the server worked out.
func sized(body, length string) want {
	return want{body: body, fields: []string{"Content-Length: " + length}, framing: rawhttp.Length}
}

// asIs wants the body however it is framed.
func asIs(body string) *want { return &want{body: body} }

// shapeCases are about what the application returns.
var shapeCases = []kase{
	{name: "shape-list", send: get("/shape?kind=list"), want: want{body: "one two three"}},
	{name: "shape-tuple", send: get("/shape?kind=tuple"), want: want{body: "one two three"}},
	{name: "shape-generator", send: get("/shape?kind=generator"), want: want{body: "one two three"}},
	{name: "shape-iterator", send: get("/shape?kind=iterator"), want: want{body: "one two three"}},
	{name: "shape-map", send: get("/shape?kind=map"), want: want{body: "one two three"}},
	{name: "shape-iterable", send: get("/shape?kind=iterable"), want: want{body: "one two three"}},
	{name: "shape-sequence", send: get("/shape?kind=sequence"), want: want{body: "one two three"}},
	{name: "shape-set", send: get("/shape?kind=set"), want: want{body: "one two three"}},
	{name: "shape-one", send: get("/shape?kind=one"), want: sized("one two three", "13"),
		strict: asIs("one two three")},
	{name: "shape-empty-pieces", send: get("/shape?kind=empty-pieces"),
		want: want{body: "one two three"}},
	{name: "shape-empty-list", send: get("/shape?kind=empty-list"), want: sized("", "0"),
		strict: asIs("")},
	{name: "shape-empty-tuple", send: get("/shape?kind=empty-tuple"), want: sized("", "0"),
		strict: asIs("")},
	{name: "shape-empty-generator", send: get("/shape?kind=empty-generator"), want: want{}},
	{name: "shape-only-empty", send: get("/shape?kind=only-empty"), want: want{}},
	{name: "shape-subclass", send: get("/shape?kind=subclass"), want: want{body: "one two three"},
		strict: &failed},
	{name: "shape-generator-length", send: get("/shape?kind=generator&say=13"),
		want: want{body: "one two three", framing: rawhttp.Length}},
	{name: "shape-http10", send: old("/shape?kind=generator"),
		want: want{body: "one two three", after: closed}},
	{name: "shape-http10-keep", send: old("/shape?kind=generator&say=13", "Connection: keep-alive"),
		want: want{body: "one two three", framing: rawhttp.Length,
			fields: []string{"Content-Length: 13"}}},
	{name: "shape-none", send: get("/shape?kind=none"), want: failed},
	{name: "shape-number", send: get("/shape?kind=number"), want: failed},
	{name: "shape-string", send: get("/shape?kind=string"), want: failed},
	{name: "shape-bytes", send: get("/shape?kind=bytes"), want: failed},
	{name: "shape-strings", send: get("/shape?kind=strings"), want: failed},
	{name: "shape-numbers", send: get("/shape?kind=numbers"), want: failed},
	{name: "shape-none-second", send: get("/shape?kind=none-second"), want: broken("one ")},
	{name: "shape-string-second-length", send: get("/shape?kind=string-second&say=7"),
		want: want{body: "one ", after: cut}},
}

// lengthCases are about lengths that do not fit, and large answers.
var lengthCases = []kase{
	{name: "length-right", send: get("/length?say=10&have=10"), want: want{body: pattern(10)}},
	{name: "length-pieces", send: get("/length?say=10&have=10&by=3"), want: want{body: pattern(10)}},
	{name: "length-long", send: get("/length?say=4&have=10"), want: want{
		body: "0000", after: either,
	}},
	{name: "length-long-pieces", send: get("/length?say=4&have=10&by=3&id=$ID"), want: want{
		body: "0000", after: either,
	}},
	{name: "length-short", send: get("/length?say=10&have=4"), want: broken("0000")},
	{name: "length-short-pieces", send: get("/length?say=10&have=4&by=3&id=$ID"), want: want{
		body: "0000", after: cut, events: "iter,next,next,end,close",
	}},
	{name: "length-nothing", send: get("/length?say=10&have=0"), want: broken("")},
	{name: "length-zero-some", send: get("/length?say=0&have=4"), want: want{after: either}},
	{name: "length-leading-zero", send: get("/length?say=0010&have=10"), want: want{
		body: pattern(10), after: either,
	}},
	{name: "large-1m", send: get("/sized?n=1000000"), want: want{body: pattern(1_000_000)}},
	{name: "large-9m", send: get("/sized?n=9000000"), want: want{body: pattern(9_000_000)}},
	{name: "large-pieces", send: get("/length?say=2000000&have=2000000&by=9999"), want: want{
		body: pattern(2_000_000),
	}},
	{name: "many-pieces", send: get("/chatty?n=5000"), want: want{
		has: []string{"00000001", "49984999"},
	}},
}

// streamCases are about close() and the order in which the iterable is used.
var streamCases = []kase{
	{name: "close-once", send: get("/stream?id=$ID&n=3"), want: want{
		body: "0,1,2,", events: "iter,next,next,next,end,close",
	}},
	{name: "close-length", send: get("/stream?id=$ID&n=2&say=4"), want: want{
		body: "0,1,", events: "iter,next,next,end,close",
	}},
	{name: "close-empty", send: get("/stream?id=$ID&n=0"), want: want{events: "iter,end,close"}},
	{name: "close-http10", send: old("/stream?id=$ID&n=2"), want: want{
		body: "0,1,", events: "iter,next,next,end,close", after: closed,
	}},
	{name: "close-requested", send: get("/stream?id=$ID&n=2", "Connection: close"), want: want{
		body: "0,1,", events: "iter,next,next,end,close", after: closed,
	}},
	{name: "close-slow", send: get("/stream?id=$ID&n=3&ms=20"), want: want{
		body: "0,1,2,", events: "iter,next,next,next,end,close",
	}},
	{name: "close-large", send: get("/stream?id=$ID&n=3&size=300000"), want: want{
		has: []string{"0,0,", "2,2,"}, events: "iter,next,next,next,end,close",
	}},
	{name: "write", send: get("/write?w=one&w=two"), want: want{body: "onetwo"}},
	{name: "write-then-return", send: get("/write?w=one&r=two&r=three&id=$ID"), want: want{
		body: "onetwothree", events: "iter,next,next,end,close",
	}},
	{name: "write-nothing", send: get("/write?w=&r=two"), want: want{body: "two"}},
	{name: "write-none", send: get("/write"), want: want{}},
	{name: "write-length", send: get("/write?w=one&r=two&say=6"), want: want{
		body: "onetwo", framing: rawhttp.Length,
	}},
	{name: "write-long", send: get("/write?w=one&w=two&say=4"), want: want{
		body: "onet", after: either,
	}},
	{name: "write-short", send: get("/write?w=one&say=9"), want: broken("one")},
	{name: "write-http10", send: old("/write?w=one&r=two"), want: want{
		body: "onetwo", after: closed,
	}},
	{name: "write-late", send: get("/write/late"), want: want{body: "abc"}},
	{name: "write-fails", send: get("/write/fails"), want: want{
		body: "some", after: cut, log: "BARE failure behind write()",
	}},
	{name: "write-text", send: get("/write/wrong?id=$ID"), want: want{
		status: failed.status, after: either, events: "TypeError",
	}, strict: &want{status: failed.status, after: either, events: "AssertionError"}},
}
