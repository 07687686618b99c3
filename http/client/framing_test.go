// SPDX-License-Identifier: MIT

package client

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"m0serve.dev/http/wire"
)

// fate is what becomes of the connection behind an answer.
type fate uint8

const (
	kept    fate = iota // it carries the next request
	retired             // the next request gets another
)

const (
	ok200 = "HTTP/1.1 200 OK\r\n"
	len5  = ok200 + "Content-Length: 5\r\n"
	chunk = ok200 + "Transfer-Encoding: chunked\r\n\r\n"
)

// A framing is what a server sends and what the client has to make of it.
type framing struct {
	name, method string
	send         string
	end          ending
	status       int
	body         string
	kind         Kind // 0: a whole answer
	fate         fate
	more         string // "NAME=value" of a trailer, interim statuses, or the cause
}

// framings is the table of conformance: section numbers are RFC 9112's.
var framings = []framing{
	// A body of known length (6.2).
	{"length", "GET", len5 + "\r\nhello", stay, 200, "hello", 0, kept, ""},
	{"length zero", "GET", ok200 + "Content-Length: 0\r\n\r\n", stay, 200, "", 0, kept, ""},
	{"length, POST", "POST", len5 + "\r\nhello", stay, 200, "hello", 0, kept, ""},
	{"length, leading zeros", "GET", ok200 + "Content-Length: 0005\r\n\r\nhello", stay, 200,
		"hello",
		0, kept, ""},
	{"length, no space", "GET", ok200 + "Content-Length:5\r\n\r\nhello", stay, 200, "hello", 0,
		kept,
		""},
	{"length, tab around", "GET", ok200 + "content-length:\t5\t\r\n\r\nhello", stay, 200,
		"hello", 0,
		kept, ""},
	{"length, then closed", "GET", len5 + "\r\nhello", shut, 200, "hello", 0, retired, ""},
	{"length twice the same", "GET", len5 + "Content-Length: 5\r\n\r\nhello", stay, 200,
		"hello", 0,
		retired, ""},
	{"length twice, different", "GET", len5 + "Content-Length: 6\r\n\r\nhello!", stay, 0, "",
		Protocol,
		retired, ""},
	{"length list", "GET", ok200 + "Content-Length: 5, 5\r\n\r\nhello", stay, 0, "", Protocol,
		retired, ""},
	{"length negative", "GET", ok200 + "Content-Length: -5\r\n\r\nhello", stay, 0, "", Protocol,
		retired, ""},
	{"length signed", "GET", ok200 + "Content-Length: +5\r\n\r\nhello", stay, 0, "", Protocol,
		retired, ""},
	{"length hex", "GET", ok200 + "Content-Length: 0x5\r\n\r\nhello", stay, 0, "", Protocol,
		retired,
		""},
	{"length empty", "GET", ok200 + "Content-Length:\r\n\r\nhello", stay, 0, "", Protocol, retired,
		""},
	{"length out of range", "GET", ok200 + "Content-Length: 99999999999999999999\r\n\r\n", stay,
		0, "",
		TooLarge, retired, ""},
	{"length above BodyMax", "GET", ok200 + "Content-Length: 1001\r\n\r\n", stay, 200, "",
		TooLarge,
		retired, ""},
	{"length at BodyMax", "GET", ok200 + "Content-Length: 1000\r\n\r\n" + strings.Repeat("x",
		1000),
		stay, 200, strings.Repeat("x", 1000), 0, kept, ""},

	// A body that ends too early (8).
	{"short body", "GET", len5 + "\r\nhell", shut, 200, "hell", Truncated, retired, ""},
	{"no body", "GET", len5 + "\r\n", shut, 200, "", Truncated, retired, ""},
	{"short body, reset", "GET", len5 + "\r\nhell", reset, 200, "", Truncated, retired, ""},
	{"nothing", "POST", "", shut, 0, "", Lost, retired, ""},
	{"nothing, reset", "POST", "", reset, 0, "", Lost, retired, ""},
	{"status line cut", "GET", "HTTP/1.1 200", shut, 0, "", Truncated, retired, ""},
	{"one byte", "GET", "H", shut, 0, "", Truncated, retired, ""},
	{"head cut", "GET", len5, shut, 0, "", Truncated, retired, ""},
	{"head cut in CRLF", "GET", len5 + "\r", shut, 0, "", Truncated, retired, ""},
	{"field cut", "GET", ok200 + "Content-Le", shut, 0, "", Truncated, retired, ""},

	// Chunks (7.1).
	{"chunks", "GET", chunk + "3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n", stay, 200, "hello", 0, kept, ""},
	{"no chunk", "GET", chunk + "0\r\n\r\n", stay, 200, "", 0, kept, ""},
	{"chunk sizes in hex", "GET", chunk + "A\r\n0123456789\r\n0b\r\nhello world\r\n000\r\n\r\n",
		stay,
		200, "0123456789hello world", 0, kept, ""},
	{"chunk extension", "GET", chunk + "5;a=\"b\";c\r\nhello\r\n0;x\r\n\r\n", stay, 200,
		"hello", 0,
		kept, ""},
	{"coding in capitals", "GET",
		ok200 + "Transfer-Encoding: Chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
		stay, 200, "hello", 0, kept, ""},
	{"chunked and a length", "GET",
		len5 + "Transfer-Encoding: chunked\r\n\r\n6\r\nhello!\r\n0\r\n\r\n",
		stay, 200, "hello!", 0, retired, ""},
	{"trailer", "GET", chunk + "5\r\nhello\r\n0\r\nX-Sum: 7\r\n\r\n", stay, 200, "hello", 0, kept,
		"X-Sum=7"},
	{"trailer that means nothing", "GET", chunk + "5\r\nhello\r\n0\r\nSet-Cookie: a\r\n\r\n", stay,
		200, "hello", 0, kept, ""},
	{"trailer of framing", "GET", chunk + "5\r\nhello\r\n0\r\nContent-Length: 5\r\n\r\n", stay,
		200,
		"hello", Protocol, retired, ""},
	{"trailers too long", "GET", chunk + "0\r\nX: " + strings.Repeat("x", 100) + "\r\n\r\n",
		stay, 200,
		"", TooLarge, retired, ""},
	{"chunk cut", "GET", chunk + "5\r\nhel", shut, 200, "hel", Truncated, retired, ""},
	{"chunk cut behind its data", "GET", chunk + "5\r\nhello", shut, 200, "hello", Truncated,
		retired,
		""},
	{"chunk size cut", "GET", chunk + "5\r\nhello\r\n1", shut, 200, "hello", Truncated, retired,
		""},
	{"last chunk missing", "GET", chunk + "5\r\nhello\r\n", shut, 200, "hello", Truncated,
		retired, ""},
	{"no chunk at all", "GET", chunk, shut, 200, "", Truncated, retired, ""},
	{"last chunk without its end", "GET", chunk + "5\r\nhello\r\n0\r\n", shut, 200, "hello",
		Truncated,
		retired, ""},
	{"trailer cut", "GET", chunk + "5\r\nhello\r\n0\r\nX-Sum: 7", shut, 200, "hello", Truncated,
		retired, ""},
	{"chunks, reset", "GET", chunk + "5\r\nhello\r\n", reset, 200, "", Truncated, retired, ""},
	{"chunk size no number", "GET", chunk + "g\r\nhello\r\n0\r\n\r\n", stay, 200, "", Protocol,
		retired, ""},
	{"chunk size empty", "GET", chunk + "\r\nhello\r\n0\r\n\r\n", stay, 200, "", Protocol,
		retired, ""},
	{"chunk size signed", "GET", chunk + "+5\r\nhello\r\n0\r\n\r\n", stay, 200, "", Protocol,
		retired,
		""},
	{"chunk size 0x5", "GET", chunk + "0x5\r\nhello\r\n0\r\n\r\n", stay, 200, "", Protocol,
		retired, ""},
	{"chunk size with space", "GET", chunk + "5 \r\nhello\r\n0\r\n\r\n", stay, 200, "", Protocol,
		retired, ""},
	{"chunk size behind LF", "GET", chunk + "5\nhello\r\n0\r\n\r\n", stay, 200, "", Protocol,
		retired,
		""},
	{"chunk size overflow", "GET", chunk + "10000000000000005\r\nhello\r\n0\r\n\r\n", stay, 200,
		"",
		Protocol, retired, ""},
	{"chunk without its end", "GET", chunk + "5\r\nhello0\r\n\r\n", stay, 200, "hello", Protocol,
		retired, ""},
	{"chunk end is LF", "GET", chunk + "5\r\nhello\n0\r\n\r\n", stay, 200, "hello", Protocol,
		retired,
		""},
	{"chunk extension too long", "GET", chunk + "1;" + strings.Repeat("x", 60) + "\r\n", stay,
		200, "",
		TooLarge, retired, ""},
	{"chunks above BodyMax", "GET", chunk + "3e8\r\n" + strings.Repeat("x", 1000) + "\r\n1\r\n",
		stay,
		200, strings.Repeat("x", 1000), TooLarge, retired, ""},
	{"gzip, chunked", "GET", ok200 + "Transfer-Encoding: gzip, chunked\r\n\r\n", stay, 0, "",
		Protocol,
		retired, ""},
	{"chunked, gzip", "GET", ok200 + "Transfer-Encoding: chunked, gzip\r\n\r\n", stay, 0, "",
		Protocol,
		retired, ""},
	{"identity", "GET", ok200 + "Transfer-Encoding: identity\r\n\r\nhello", shut, 0, "", Protocol,
		retired, ""},
	{"chunked twice", "GET", ok200 + strings.Repeat("Transfer-Encoding: chunked\r\n",
		2) + "\r\n", stay,
		0, "", Protocol, retired, ""},
	{"chunked on HTTP/1.0", "GET",
		"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		stay, 0, "", Protocol, retired, ""},

	// A body that ends with its connection (6.3, 8).
	{"until close", "GET", ok200 + "\r\nhello", shut, 200, "hello", 0, retired, ""},
	{"until close, empty", "GET", ok200 + "\r\n", shut, 200, "", 0, retired, ""},
	{"until close, reset", "GET", ok200 + "\r\nhello", reset, 200, "", Truncated, retired, ""},
	{"until close above BodyMax", "GET", ok200 + "\r\n" + strings.Repeat("x", 1001), shut, 200, "",
		TooLarge, retired, ""},
	{"HTTP/1.0 until close", "GET", "HTTP/1.0 200 OK\r\n\r\nhello", shut, 200, "hello", 0,
		retired, ""},
	{"until close in spite of keep-alive", "GET", ok200 + "Connection: keep-alive\r\n\r\nhello",
		shut,
		200, "hello", 0, retired, ""},

	// Answers without a body (6.3).
	{"HEAD", "HEAD", len5 + "\r\n", stay, 200, "", 0, kept, ""},
	{"HEAD chunked", "HEAD", chunk, stay, 200, "", 0, kept, ""},
	{"HEAD without length", "HEAD", ok200 + "\r\n", stay, 200, "", 0, kept, ""},
	{"HEAD above BodyMax", "HEAD", ok200 + "Content-Length: 100000\r\n\r\n", stay, 200, "", 0,
		kept, ""},
	{"HEAD with a body", "HEAD", len5 + "\r\nhello", stay, 200, "", 0, retired, ""},
	{"204", "GET", "HTTP/1.1 204 No Content\r\n\r\n", stay, 204, "", 0, kept, ""},
	{"204 with length zero", "GET", "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n",
		stay, 204,
		"", 0, kept, ""},
	{"204 with a length", "GET", "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", stay,
		204, "",
		0, retired, ""},
	{"204 chunked", "GET", "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n",
		stay, 204,
		"", 0, retired, ""},
	{"304", "GET", "HTTP/1.1 304 Not Modified\r\n\r\n", stay, 304, "", 0, kept, ""},
	{"304 with a length", "GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", stay,
		304,
		"", 0, kept, ""},
	{"304 with a body", "GET", "HTTP/1.1 304 No\r\nContent-Length: 5\r\n\r\nhello", stay, 304,
		"", 0,
		retired, ""},

	// Any status is an answer; a redirect is one, too.
	{"301", "GET",
		"HTTP/1.1 301 Moved\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
		stay, 301, "", 0, kept, ""},
	{"307 to POST", "POST", "HTTP/1.1 307 T\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n", stay,
		307,
		"", 0, kept, ""},
	{"404", "GET", "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno", stay, 404, "no", 0,
		kept,
		""},
	{"500, closed", "GET", "HTTP/1.1 500 X\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno",
		shut,
		500, "no", 0, retired, ""},
	{"999", "GET", "HTTP/1.1 999 ?\r\nContent-Length: 2\r\n\r\nno", stay, 999, "no", 0, kept, ""},
	{"421", "GET", "HTTP/1.1 421 Misdirected\r\nContent-Length: 0\r\n\r\n", stay, 421, "", 0,
		kept, ""},

	// Interim answers (RFC 9110 section 15.2).
	{"100", "POST", "HTTP/1.1 100 Continue\r\n\r\n" + len5 + "\r\nhello", stay, 200, "hello", 0,
		kept,
		"100"},
	{"103", "GET", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + len5 + "\r\nhello", stay,
		200,
		"hello", 0, kept, "103"},
	{"100 102 103", "GET",
		"HTTP/1.1 100 C\r\n\r\nHTTP/1.1 102 P\r\n\r\nHTTP/1.1 103 E\r\n\r\n" + len5 +
			"\r\nhello", stay, 200, "hello", 0, kept, "100 102 103"},
	{"100 with a length", "GET",
		"HTTP/1.1 100 C\r\nContent-Length: 5\r\n\r\n" + len5 + "\r\nhello",
		stay, 200, "hello", 0, kept, "100"},
	{"only 100", "GET", "HTTP/1.1 100 Continue\r\n\r\n", shut, 0, "", Truncated, retired, "100"},
	{"100 without end", "GET", strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 40) + len5 +
		"\r\nhello", stay, 0, "", Protocol, retired, "32 interim"},
	{"101 nobody asked for", "GET",
		"HTTP/1.1 101 S\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", hang,
		0, "", Protocol, retired, ""},

	// The life of the connection (9.3, 9.6).
	{"close", "GET", len5 + "Connection: close\r\n\r\nhello", shut, 200, "hello", 0, retired, ""},
	{"close that stays", "GET", len5 + "Connection: close\r\n\r\nhello", stay, 200, "hello", 0,
		retired,
		""},
	{"close in a list", "GET", len5 + "Connection: X-A , CLOSE\r\n\r\nhello", stay, 200,
		"hello", 0,
		retired, ""},
	{"close and keep-alive", "GET",
		len5 + "Connection: keep-alive\r\nConnection: close\r\n\r\nhello",
		stay, 200, "hello", 0, retired, ""},
	{"HTTP/1.0", "GET", "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", stay, 200, "hello", 0,
		retired, ""},
	{"HTTP/1.0 keep-alive", "GET",
		"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello", stay,
		200, "hello",
		0, kept, ""},
	{"HTTP/1.7", "GET", "HTTP/1.7 200 OK\r\nContent-Length: 5\r\n\r\nhello", stay, 200, "hello", 0,
		kept, ""},
	{"stray byte", "GET", len5 + "\r\nhello!", stay, 200, "hello", 0, retired, ""},
	{"stray answer", "GET", len5 + "\r\nhello" + usual, stay, 200, "hello", 0, retired, ""},
	{"stray CRLF", "GET", len5 + "\r\nhello\r\n", stay, 200, "hello", 0, retired, ""},
	{"stray behind chunks", "GET", chunk + "0\r\n\r\n\r\n", stay, 200, "", 0, retired, ""},
	{"stray behind 204", "GET", "HTTP/1.1 204 N\r\n\r\nx", stay, 204, "", 0, retired, ""},

	// Heads that are none (2.2, 4, 5).
	{"HTTP/0.9", "GET", "hello", shut, 0, "", Protocol, retired, ""},
	{"HTTP/2", "GET", "HTTP/2.0 200 OK\r\n\r\n", shut, 0, "", Protocol, retired, ""},
	{"HTTP/3 digits", "GET", "HTTP/1.10 200 OK\r\n\r\n", shut, 0, "", Protocol, retired, ""},
	{"other protocol", "GET", "SSH-2.0-OpenSSH_9.2\r\n", hang, 0, "", Protocol, retired, ""},
	{"http in lower case", "GET", "http/1.1 200 OK\r\n\r\n", shut, 0, "", Protocol, retired, ""},
	{"empty line first", "GET", "\r\n" + len5 + "\r\nhello", stay, 0, "", Protocol, retired, ""},
	{"status of two digits", "GET", "HTTP/1.1 20 OK\r\n\r\n", shut, 0, "", Protocol, retired, ""},
	{"status of four digits", "GET", "HTTP/1.1 2000 OK\r\n\r\n", shut, 0, "", Protocol, retired,
		""},
	{"status 099", "GET", "HTTP/1.1 099 OK\r\n\r\n", shut, 0, "", Protocol, retired, ""},
	{"two spaces", "GET", "HTTP/1.1  200 OK\r\n\r\n", shut, 0, "", Protocol, retired, ""},
	{"no reason", "GET", "HTTP/1.1 200 \r\nContent-Length: 5\r\n\r\nhello", stay, 200, "hello",
		0, kept,
		""},
	{"no reason, no space", "GET", "HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello", stay, 200,
		"hello",
		0, kept, ""},
	{"reason in 8 bits", "GET", "HTTP/1.1 200 \xe9t\xe9\r\nContent-Length: 5\r\n\r\nhello",
		stay, 200,
		"hello", 0, kept, ""},
	{"NUL in the reason", "GET", "HTTP/1.1 200 O\x00K\r\n\r\n", shut, 0, "", Protocol, retired,
		""},
	{"lines of LF", "GET", "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello", stay, 0, "", Protocol,
		retired, ""},
	{"CR alone in a value", "GET", ok200 + "A: b\rc\r\n\r\n", shut, 0, "", Protocol, retired, ""},
	{"NUL in a value", "GET", ok200 + "A: b\x00c\r\n\r\n", shut, 0, "", Protocol, retired, ""},
	{"space before the colon", "GET", ok200 + "Content-Length : 5\r\n\r\nhello", stay, 0, "",
		Protocol,
		retired, ""},
	{"folded line", "GET", ok200 + "A: b\r\n c\r\n\r\n", shut, 0, "", Protocol, retired, ""},
	{"field without colon", "GET", ok200 + "Hello\r\n\r\n", shut, 0, "", Protocol, retired, ""},
	{"field without name", "GET", ok200 + ": x\r\n\r\n", shut, 0, "", Protocol, retired, ""},

	// Limits.
	{"status line too long", "GET", "HTTP/1.1 200 " + strings.Repeat("x", 200) + "\r\n\r\n",
		stay, 0,
		"", TooLarge, retired, ""},
	{"field too long", "GET", ok200 + "A: " + strings.Repeat("x", 200) + "\r\n\r\n", stay, 0, "",
		TooLarge, retired, ""},
	{"too many fields", "GET", ok200 + strings.Repeat("A: b\r\n", 11) + "\r\n", stay, 0, "",
		TooLarge,
		retired, ""},
	{"head too large", "GET", ok200 + strings.Repeat("A: "+strings.Repeat("x", 150)+"\r\n",
		8) + "\r\n",
		stay, 0, "", TooLarge, retired, ""},
	{"line without end", "GET", strings.Repeat("x", 2000), hang, 0, "", Protocol, retired, ""},
	{"field without end", "GET", ok200 + "A: " + strings.Repeat("x", 2000), hang, 0, "", TooLarge,
		retired, ""},

	// Silence.
	{"nothing for long", "POST", "", hang, 0, "", Timeout, retired, "slow"},
	{"head that stops", "GET", len5, hang, 0, "", Timeout, retired, "slow"},
	{"body that stops", "GET", len5 + "\r\nhel", hang, 200, "hel", Timeout, retired, "slow"},
	{"chunk that stops", "GET", chunk + "5\r\nhel", hang, 200, "hel", Timeout, retired, "slow"},
	{"interim, then silence", "GET", "HTTP/1.1 103 E\r\n\r\n", hang, 0, "", Timeout, retired,
		"slow 103"},
}

// TestFramings plays every script over TCP, over a pipe in one piece, and over
// one that delivers every byte alone.
func TestFramings(t *testing.T) {
	if len(framings) < 80 {
		t.Errorf("%d framings, want at least 80", len(framings))
	}
	for _, f := range framings {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			for _, mode := range []string{"tcp", "pipe", "bytes"} {
				slow := strings.HasPrefix(f.more, "slow")
				switch {
				case slow && mode != "tcp": // in time that is not real
					t.Run(mode, func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) { f.play(t, mode) })
					})
				case !slow && (mode == "tcp" || f.end != reset):
					t.Run(mode, func(t *testing.T) { f.play(t, mode) })
				}
			}
		})
	}
}

func (f *framing) play(t *testing.T, mode string) {
	srv := newScripted(t, script{send: f.send, end: f.end})
	srv.bytes = mode == "bytes"
	cfg := Config{Limits: small, BodyMax: 1000}
	if strings.HasPrefix(f.more, "slow") {
		cfg.HeadTimeout, cfg.BodyTimeout = 30*time.Millisecond, 30*time.Millisecond
	}
	url := "http://a/"
	if mode == "tcp" {
		url = "http://" + srv.listen() + "/"
	} else {
		cfg.Dial = srv.pipe
	}
	c := newClient(t, cfg)
	var resp Response
	interims := ""
	req := &Request{Method: f.method, URL: url, Interim: func(r *wire.Response) {
		interims += fmt.Sprint(" ", r.Status)
	}}
	err := c.Do(within(t), req, &resp)
	f.compare(t, mode, &resp, err, interims)
	if mode == "bytes" && strings.HasPrefix(f.name, "stray") || mode == "pipe" && f.end == hang {
		return // what nobody reads comes to the next request, and is an error there
	}
	if strings.HasSuffix(f.name, "with a body") && mode == "bytes" {
		return
	}
	next, err := c.Get(within(t), url+"next")
	if err != nil || string(next.Body) != "usual" {
		t.Fatalf("the next request: %q, %v; want %q", next.Body, err, "usual")
	}
	seen := srv.seen()
	if got, want := seen[len(seen)-1], fmt.Sprintf("%d GET /next ", f.fate); got != want {
		t.Errorf("the next request is %q, want %q", got, want)
	}
}

// compare checks the answer to the first request.
func (f *framing) compare(t *testing.T, mode string, resp *Response, err error, interims string) {
	t.Helper()
	kind := Kind(0)
	var e *Error
	if errors.As(err, &e) {
		kind = e.Kind
	}
	if kind != f.kind || (err == nil) != (f.kind == 0) {
		t.Fatalf("Do = %v (%v), want %v", err, kind, f.kind)
	}
	if errors.Is(err, io.EOF) {
		t.Errorf("Do = %v, which is an io.EOF", err)
	}
	cut := kind == Truncated || kind == Lost
	if errors.Is(err, io.ErrUnexpectedEOF) != cut {
		t.Errorf("%v is an io.ErrUnexpectedEOF: %v, want %v", err, !cut, cut)
	}
	if resp.Status != f.status {
		t.Errorf("status %d, want %d", resp.Status, f.status)
	}
	if f.end != reset && kind != TooLarge && string(resp.Body) != f.body {
		t.Errorf("body %q, want %q", resp.Body, f.body)
	}
	more := strings.TrimPrefix(strings.TrimPrefix(f.more, "slow"), " ")
	switch {
	case more == "32 interim":
		more = strings.TrimSpace(strings.Repeat("100 ", 32))
	case strings.Contains(more, "="):
		got := ""
		for _, f := range resp.Trailers {
			got += string(f.Name) + "=" + string(f.Value)
		}
		if got != more {
			t.Errorf("trailers %q, want %q", got, more)
		}
		more = ""
	}
	if got := strings.TrimSpace(interims); got != more {
		t.Errorf("interim answers %q, want %q", got, more)
	}
}
