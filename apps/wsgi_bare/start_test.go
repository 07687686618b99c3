// SPDX-License-Identifier: MIT

//go:build unix

package wsgibare

import "m0serve.dev/apps/internal/rawhttp"

// startCases are about start_response.
var startCases = []kase{
	{name: "start-never", send: get("/start/never"), want: failed},
	{name: "start-never-empty", send: get("/start/never/empty"), want: failed},
	{name: "start-lazy", send: get("/start/lazy"), want: want{
		status: "202 Lazy", fields: []string{"X-Lazy: yes"}, body: "lazy pieces",
	}},
	{name: "start-lazy-length", send: get("/start/lazy/sized"), want: want{
		status: "202 Lazy", fields: []string{"Content-Length: 4"}, body: "lazy",
	}},
	{name: "start-lazy-empty", send: get("/start/lazy/empty"), want: want{
		status: "202 Lazy", fields: []string{"Content-Length: 0"},
	}},
	{name: "start-lazy-head", send: head("/start/lazy"), want: want{
		status: "202 Lazy", fields: []string{"X-Lazy: yes"},
	}},
	{name: "start-lazy-never", send: get("/start/lazy/never"), want: failed},
	{name: "start-lazy-fails", send: get("/start/lazy/fails"), want: want{
		status: failed.status, after: either, log: "BARE lazy failure",
	}},
	{name: "start-twice", send: get("/start/twice"), want: failed},
	{name: "start-twice-none", send: get("/start/twice/none"), want: failed},
	{name: "start-twice-caught", send: get("/start/twice/caught"), want: want{
		status: "200 First", body: "refused",
	}},
	{name: "start-replaced", send: get("/start/replaced"), want: want{
		status: "503 Replaced", fields: []string{"X-Second: yes"},
		absent: []string{"X-First"}, body: "replaced",
	}},
	{name: "start-replaced-first", send: get("/start/replaced/first"), want: want{
		status: "503 Replaced", body: "replaced",
	}},
	{name: "start-replaced-lazily", send: get("/start/replaced/lazily"), want: want{
		status: "503 Replaced", body: "replaced",
	}},
	{name: "start-replaced-behind-nothing", send: get("/start/replaced/empty"), want: want{
		status: "503 Replaced", body: "replaced",
	}},
	{name: "start-late", send: get("/start/late?id=$ID"), want: want{
		body: "sent", after: cut, events: "iter,next,raised BARE too late,close",
		log: "BARE too late",
	}},
	{name: "start-late-write", send: get("/start/late/write?id=$ID"), want: want{
		body: "sent", after: cut, events: "raised BARE too late",
	}},
	{name: "start-returns", send: get("/start/returns"), want: want{body: "callable"}},
	{name: "start-keywords", send: get("/start/keywords"), want: want{body: "keywords"},
		strict: &failed},
	{name: "start-changed", send: get("/start/changed"), want: want{
		body: "changed", fields: []string{"X-Was: here"}, absent: []string{"X-Injected"},
	}},
	bad("status-number"), bad("status-bytes"), bad("status-empty"), bad("status-short"),
	bad("status-words"), bad("status-none"), bad("status-line"), bad("status-control"),
	bad("status-unicode"), bad("status-1xx"),
	bad("fields-none"), bad("fields-string"), bad("field-string"), bad("field-three"),
	bad("name-bytes"), bad("name-empty"), bad("name-space"), bad("name-colon"),
	bad("name-line"), bad("name-unicode"), bad("name-latin"),
	bad("value-bytes"), bad("value-number"), bad("value-none"), bad("value-line"),
	bad("value-lf"), bad("value-cr"), bad("value-nul"), bad("value-unicode"),
	bad("length-words"), bad("length-negative"), bad("length-twice"),
	{name: "bad-caught-line", send: get("/start/bad/caught?kind=value-line"), want: want{
		body: "refused at the call",
	}},
	{name: "bad-caught-unicode", send: get("/start/bad/caught?kind=value-unicode"), want: want{
		body: "refused at the call",
	}},
	{name: "bad-caught-status", send: get("/start/bad/caught?kind=status-number"), want: want{
		body: "refused at the call",
	}},
}

// bad is a call of start_response that has to fail: nothing of it is on the wire.
func bad(kind string) kase {
	w := failed
	w.absent = []string{"X-Evil", "X-A"}
	w.log = "Traceback"
	return kase{name: "bad-" + kind, send: get("/start/bad?kind=" + kind), want: w}
}

// fileCases are about wsgi.file_wrapper; the file has 300,000 bytes.
var fileCases = []kase{
	{name: "file", send: get("/file?say=300000"), want: want{
		body: pattern(300_000), framing: rawhttp.Length,
	}},
	{name: "file-no-length", send: get("/file"), want: want{body: pattern(300_000)}},
	{name: "file-offset", send: get("/file?offset=299990&say=10"), want: want{
		body: pattern(300_000)[299_990:],
	}},
	{name: "file-offset-no-length", send: get("/file?offset=100001"), want: want{
		body: pattern(300_000)[100_001:],
	}},
	{name: "file-peeked", send: get("/file?peek=5&say=299995"), want: want{
		body: pattern(300_000)[5:],
	}},
	{name: "file-peeked-no-length", send: get("/file?offset=3&peek=5"), want: want{
		body: pattern(300_000)[8:],
	}},
	{name: "file-part", send: get("/file?offset=8&say=16&s=206+Partial+Content"), want: want{
		status: "206 Partial Content", body: pattern(24)[8:],
	}},
	{name: "file-at-its-end", send: get("/file?offset=300000"), want: want{}},
	{name: "file-behind-its-end", send: get("/file?offset=300001&say=0"), want: want{}},
	{name: "file-short", send: get("/file?offset=299990&say=20"),
		want: broken(pattern(300_000)[299_990:])},
	{name: "file-block", send: get("/file?block=1000&say=300000"), want: want{body: pattern(300_000)}},
	{name: "file-http10", send: old("/file"), want: want{body: pattern(300_000), after: closed}},
	{name: "file-raw", send: get("/file?kind=raw&id=$ID&say=300000"), want: want{
		body: pattern(300_000), events: "close",
	}},
	{name: "file-raw-short", send: get("/file?kind=raw&id=$ID&say=300001"), want: want{
		body: pattern(300_000), after: cut, events: "close",
	}},
	{name: "file-raw-head", send: head("/file?kind=raw&id=$ID&say=300000"), want: want{
		events: "close",
	}},
	{name: "file-raw-304", send: get("/file?kind=raw&id=$ID&s=304+Not+Modified"), want: want{
		status: "304 Not Modified", events: "close",
	}, strict: &want{status: failed.status, after: either}},
	{name: "file-bytes", send: get("/file?kind=bytes&say=300000"), want: want{body: pattern(300_000)}},
	{name: "file-bytes-offset", send: get("/file?kind=bytes&offset=299990"), want: want{
		body: pattern(300_000)[299_990:],
	}},
	{name: "file-temporary", send: get("/file?kind=temporary&say=300000"), want: want{
		body: pattern(300_000),
	}},
	{name: "file-pipe", send: get("/file?kind=pipe"), want: want{body: "through a pipe"}},
	{name: "file-read-only", send: get("/file?kind=read&id=$ID&size=10&block=4"), want: want{
		body: "0000000\n00", events: "read,read,read,read,close",
	}},
	{name: "file-iterated", send: get("/file/iterated"), want: want{
		body: "[100000, 100000, 100000]",
	}},
	{name: "file-iterated-bytes", send: get("/file/iterated?kind=bytes&offset=250000"), want: want{
		body: "[50000]",
	}},
	{name: "file-inside", send: get("/file/inside"), want: want{body: pattern(300_000)}},
	{name: "file-unused", send: get("/file/unused"), want: want{body: "unused"}},
}

// fails wants the answer to a failure whose text the log shows.
func fails(log string) want {
	return want{status: failed.status, after: either, log: log}
}

// failCases are about failures at every stage.
var failCases = []kase{
	{name: "fail-call", send: get("/fail?at=call"), want: fails("ValueError: BARE failure")},
	{name: "fail-started", send: get("/fail?at=started"), want: fails("ValueError: BARE failure")},
	{name: "fail-iter", send: get("/fail?at=iter&id=$ID"), want: want{
		status: failed.status, after: either, events: "close",
	}, strict: &failed},
	{name: "fail-first", send: get("/fail?at=first&id=$ID"), want: want{
		status: failed.status, after: either, events: "close", log: "ValueError: BARE failure",
	}},
	{name: "fail-middle", send: get("/fail?at=middle&id=$ID"), want: want{
		body: "one ", after: cut, events: "close", log: "ValueError: BARE failure",
	}},
	{name: "fail-middle-length", send: get("/fail?at=middle&id=$ID&say=8"), want: want{
		body: "one ", after: cut, events: "close",
	}},
	{name: "fail-end", send: get("/fail?at=end&id=$ID"), want: want{
		body: "one two ", after: cut, events: "close",
	}},
	{name: "fail-end-length", send: get("/fail?at=end&id=$ID&say=8"), want: want{
		body: "one two ", after: anyway, events: "close",
	}},
	{name: "fail-close", send: get("/fail?at=close&id=$ID&say=8"), want: want{
		body: "one two ", after: anyway, events: "close", log: "ValueError: BARE failure",
	}},
	{name: "fail-post", send: post("/fail", pattern(100)), want: failed},
	{name: "fail-head", send: head("/fail"), want: failed},
	{name: "fail-http10", send: old("/fail"), want: want{status: failed.status, after: closed}},
	{name: "fail-exit", send: get("/fail?kind=exit"), want: fails("SystemExit: 3")},
	{name: "fail-exit-text", send: get("/fail?kind=exit-text"), want: fails("SystemExit: BARE exit")},
	{name: "fail-exit-middle", send: get("/fail?kind=exit&at=middle&id=$ID"), want: want{
		body: "one ", after: cut, events: "close",
	}},
	{name: "fail-interrupt", send: get("/fail?kind=interrupt"), want: fails("KeyboardInterrupt")},
	{name: "fail-memory", send: get("/fail?kind=memory"), want: fails("MemoryError: BARE memory")},
	{name: "fail-generator-exit", send: get("/fail?kind=generator-exit"),
		want: fails("GeneratorExit")},
	{name: "fail-stop", send: get("/fail?kind=stop"), want: fails("StopIteration")},
	{name: "fail-base", send: get("/fail?kind=base"), want: fails("BaseException: BARE base")},
	{name: "fail-unprintable", send: get("/fail?kind=unprintable"), want: fails("Unprintable")},
	{name: "fail-recursion", send: get("/fail/recursion"), want: fails("RecursionError")},
	{name: "fail-chained", send: get("/fail/chained"), want: fails("ValueError: BARE cause")},
}
