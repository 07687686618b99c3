// SPDX-License-Identifier: MIT

package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"m0serve.dev/http/internal/corpus"
)

// fuzzLimits are small, so that a fuzzer reaches them.
var fuzzLimits = &Limits{
	LineBytes: 200, HeadBytes: 600, Fields: 8, TrailerBytes: 60, ChunkExtBytes: 20,
}

// addCorpora seeds a fuzz target with every request of both corpora that is not
// huge, and with a few of its own.
func addCorpora(f *testing.F) {
	f.Helper()
	for _, seed := range []string{
		smallGet, browserGet,
		"\r\nPOST /a%20b?c HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nxGET",
		"PUT http://h:1?q HTTP/1.1\r\nHost: a\r\nA_b: c\r\nTransfer-Encoding: chunked\r\n\r\n" +
			"5;x\r\nhello\r\n0\r\nT: v\r\n\r\nOPTIONS * HTTP/1.1\r\nHost: \r\n\r\n",
	} {
		f.Add([]byte(seed))
	}
	if testing.Short() {
		return // the corpus tests run the same bytes
	}
	for _, c := range corpus.HTTP1(f) {
		if in := c.Bytes(); len(in) < 4096 {
			f.Add(in)
		}
	}
	files, err := filepath.Glob(filepath.Join(corpus.Dir(f, "gunicorn"), "wire", "*.bin"))
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		in, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		if len(in) < 4096 {
			f.Add(in)
		}
	}
}

// FuzzRequest: however a connection is cut it comes to the same, and what was
// accepted means the same when it is encoded again.
func FuzzRequest(f *testing.F) {
	addCorpora(f)
	f.Fuzz(func(t *testing.T, in []byte) {
		for _, lim := range []*Limits{nil, fuzzLimits} {
			whole := serve(in, lim, max(1, len(in)))
			for _, sizes := range [][]int{{1}, {2}, {7, 1, 30}, {len(in)/2 + 1}, {1, max(1, len(in))}} {
				cut := func(in []byte) outcome { return serve(in, lim, sizes...) }
				if !sameOutcome(in, lim, whole, cut) {
					t.Fatalf("%q\nin pieces %v: %v\nwhole: %v", in, sizes, cut(in), whole)
				}
			}
		}
		whole := serve(in, nil, max(1, len(in)))
		for _, r := range whole.requests[:min(len(whole.requests), len(whole.status))] {
			again := serve(encodeRequest(t, r), nil, 1<<20)
			if len(again.requests) != 1 || again.err != nil {
				t.Fatalf("%+v encoded again: %v", r, again)
			}
			if got := again.requests[0]; !sameMeaning(got, r) {
				t.Fatalf("encoded again\n got %+v\nwant %+v", got, r)
			}
		}
	})
}

func encodeRequest(t *testing.T, r served) []byte {
	t.Helper()
	out, err := AppendRequestLine(nil, r.method, r.target)
	if r.minor == 0 {
		out = bytes.Replace(out, []byte(" HTTP/1.1\r"), []byte(" HTTP/1.0\r"), 1)
	}
	for _, f := range r.fields {
		if err == nil {
			out, err = AppendField(out, f[0], f[1])
		}
	}
	out = append(out, LineEnd...)
	if r.chunked() {
		var trailer []Field
		for _, f := range r.trailers {
			trailer = append(trailer, Field{Name: []byte(f[0]), Value: []byte(f[1])})
		}
		out = AppendChunk(out, []byte(r.body))
		if err == nil {
			out, err = AppendLastChunk(out, trailer)
		}
	} else {
		out = append(out, r.body...)
	}
	if err != nil {
		t.Fatalf("encode %+v: %v", r, err)
	}
	return out
}

// chunked: an accepted request says so in exactly one way.
func (r *served) chunked() bool {
	return slices.ContainsFunc(r.fields, func(f [2]string) bool {
		return strings.EqualFold(f[0], "Transfer-Encoding")
	})
}

func sameMeaning(a, b served) bool {
	return a.method == b.method && a.target == b.target && a.path == b.path && a.query == b.query &&
		a.host == b.host && a.minor == b.minor && a.length == b.length && a.body == b.body &&
		a.keepAlive == b.keepAlive && slices.Equal(a.fields, b.fields) &&
		slices.Equal(a.trailers, b.trailers)
}

// FuzzChunked: cuts change nothing, and data that was decoded and encoded again
// is decoded the same.
func FuzzChunked(f *testing.F) {
	for _, seed := range []string{
		"0\r\n\r\n", "5;a=b\r\nhello\r\n0\r\nX: y\r\n\r\nrest", "A\r\n0123456789\r\n000\r\n\r\n",
		"1\r\na\r\n1\r\nb\r\n0\r\nHost: a\r\n\r\n", "5\r\nhello\r0", "0\r\nX: y\r\n z\r\n\r\n",
		"FFFFFFFFFFFFFFFF\r\n", "5;\x00\r\nhello", "0;0123456789012345678901\r\n\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		for _, lim := range []*Limits{nil, fuzzLimits} {
			var whole, cut Decoder
			whole.StartChunked(lim, 1000)
			data, rest, err := decode(&whole, in, max(1, len(in)))
			for _, step := range []int{1, 3, len(in)/2 + 1} {
				cut.StartChunked(lim, 1000)
				data2, rest2, err2 := decode(&cut, in, step)
				trailers, trailers2 := copyFields(whole.Trailers), copyFields(cut.Trailers)
				if string(data) != string(data2) || err != err2 || whole.Done() != cut.Done() ||
					err == nil && (string(rest) != string(rest2) || !slices.Equal(trailers, trailers2)) {
					t.Fatalf("%q in pieces of %d: %q %q %v, whole: %q %q %v",
						in, step, data2, rest2, err2, data, rest, err)
				}
			}
			if err != nil || !whole.Done() {
				continue
			}
			again, err := AppendLastChunk(AppendChunk(nil, data), whole.Trailers)
			if err != nil {
				t.Fatalf("encode again: %v", err)
			}
			cut.StartChunked(nil, 0)
			data2, _, err := decode(&cut, again, 1<<20)
			if err != nil || !cut.Done() || string(data2) != string(data) {
				t.Fatalf("%q encoded again: %q, %v", data, data2, err)
			}
			inPlace := append([]byte(nil), in...)
			cut.StartChunked(lim, 1000)
			data2, _, err = cut.Append(inPlace[:0], inPlace)
			if err != nil || string(data2) != string(data) {
				t.Fatalf("%q in place: %q, %v", data, data2, err)
			}
		}
	})
}

// FuzzResponse: cuts change nothing, and net/http agrees on what is accepted.
func FuzzResponse(f *testing.F) {
	for _, seed := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "HTTP/1.0 404 \r\n\r\n",
		"HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\nA: b\r\n\r\n5\r\n",
		"HTTP/1.1 304 x\r\nE: \t f\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n", "HTTP/1.1 99 x\r\n\r\n",
		"HTTP/1.1 101 x\r\nUpgrade: a\r\nConnection: upgrade\r\n\r\n", "HTTP/1.1 200 OK\n\n",
		"HTTP/1.0 200 x\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		for _, lim := range []*Limits{nil, fuzzLimits} {
			want, err := parseResponse(in, lim, max(1, len(in)))
			for _, step := range []int{1, 5, len(in)/2 + 1} {
				got, err2 := parseResponse(in, lim, step)
				if err != nil && err2 == nil || err2 != nil && err == nil {
					ended := append(bytes.Clone(in), "\r\n\r\n"...) // as in sameOutcome
					_, err = parseResponse(ended, lim, len(ended))
					_, err2 = parseResponse(ended, lim, step)
				}
				if err != err2 || err == nil && got != want {
					t.Fatalf("%q in pieces of %d: %q %v, whole: %q %v", in, step, got, err2, want, err)
				}
			}
			if err != nil || want == "" {
				continue
			}
			std, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(in)), nil)
			if err != nil {
				t.Fatalf("%q: accepted, net/http: %v", in, err)
			}
			var resp Response
			p := ResponseParser{Limits: lim}
			if _, err := p.Parse(in, &resp); err != nil {
				t.Fatal(err)
			}
			compareResponse(t, in, &resp, std)
		}
	})
}

func compareResponse(t *testing.T, in []byte, r *Response, std *http.Response) {
	t.Helper()
	chunked := len(std.TransferEncoding) == 1 && std.TransferEncoding[0] == "chunked"
	if r.Status != std.StatusCode || BodyAllowed(r.Status) && r.Chunked != chunked {
		t.Errorf("%q: status %d chunked %v, net/http %d %v", in, r.Status, r.Chunked,
			std.StatusCode, chunked)
	}
	if BodyAllowed(r.Status) && !r.Chunked && r.ContentLength != std.ContentLength {
		t.Errorf("%q: length %d, net/http %d", in, r.ContentLength, std.ContentLength)
	}
	if r.KeepAlive && std.Close && !(r.Minor == 1 && !strings.HasPrefix(std.Proto, "HTTP/1.1")) &&
		(r.Chunked || r.ContentLength >= 0) {
		t.Errorf("%q: keeps the connection, net/http closes", in)
	}
}

// parseResponse parses in growing pieces and writes down what was understood.
func parseResponse(in []byte, lim *Limits, step int) (string, error) {
	p := ResponseParser{Limits: lim}
	var r Response
	for k := 0; k < len(in); {
		k = min(k+step, len(in))
		n, err := p.Parse(bytes.Clone(in[:k]), &r)
		if err != nil {
			return "", err
		}
		if n > 0 {
			return fmt.Sprintf("%d %d %q %q %d %v %v %q", n, r.Status, r.Reason, r.Upgrade,
				r.ContentLength, r.Chunked, r.KeepAlive, copyFields(r.Fields)), nil
		}
	}
	return "", nil
}

// stricter are the errors where net/http serves the request and we refuse it,
// each reviewed: a proxy in front may read such a message in another way.
var stricter = map[Error]string{
	ErrLineEnd:          "it takes LF for CRLF",
	ErrFold:             "it joins folded lines",
	ErrFieldValue:       "it leaves control bytes of values to the server",
	ErrFieldName:        "it leaves some names to the server",
	ErrTarget:           "it takes raw 8-bit, fragments, bad triplets in a query, other schemes",
	ErrRequestLine:      "it cuts the line at the first and last space",
	ErrMethod:           "it takes CR before LF for part of the end of the line",
	ErrConnect:          "it leaves CONNECT to the handler",
	ErrVersion:          "it reads the head of any HTTP/d.d",
	ErrHost:             "it leaves Host to the server",
	ErrContentLength:    "it merges equal repetitions",
	ErrTransferEncoding: "it ignores Transfer-Encoding on HTTP/1.0",
	ErrFraming:          "it lets Transfer-Encoding win",
	ErrDuplicate:        "it takes any number of Content-Type",
	ErrExpectation:      "it leaves Expect to the server",
	ErrLineTooLong:      "its limit is one for the whole head",
	ErrFieldTooLong:     "the same",
	ErrTooManyFields:    "the same",
	ErrHeadTooLarge:     "the same",
}

// FuzzRequestLikeNetHTTP: what we accept net/http understands in the same way,
// and what we refuse it refuses too, or there is a reviewed reason.
func FuzzRequestLikeNetHTTP(f *testing.F) {
	addCorpora(f)
	f.Fuzz(func(t *testing.T, in []byte) {
		var p RequestParser
		var req Request
		n, err := p.Parse(in, &req)
		std, stdErr := http.ReadRequest(bufio.NewReader(bytes.NewReader(in)))
		if err != nil {
			if stdErr == nil && stricter[err.(Error)] == "" {
				t.Errorf("%q: %v, net/http accepts", in, err)
			}
			return
		}
		if n == 0 {
			if stdErr == nil {
				t.Errorf("%q: waits for more, net/http accepts", in)
			}
			return
		}
		if stdErr != nil {
			if !looser(in, &req, stdErr) {
				t.Errorf("%q: accepted, net/http: %v", in, stdErr)
			}
			return
		}
		compareRequest(t, in, &req, std)
	})
}

// looser are the reviewed requests we serve and net/http does not.
func looser(in []byte, req *Request, err error) bool {
	switch {
	case in[0] == '\r': // the empty line of RFC 9112 section 2.2
		return true
	case bytes.ContainsAny(req.Path, "[]:") || bytes.HasPrefix(req.Path, []byte("//")):
		return true // url.Parse takes them for parts of an authority
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		return false
	case bytes.IndexByte(req.Host, '[') >= 0 || bytes.IndexByte(req.Host, '%') >= 0:
		return true // url.Parse checks an address in brackets, and an escaped name, further
	case bytes.HasSuffix(req.Host, []byte(":")), bytes.IndexByte(req.Host, ':') >= 0:
		return true
	}
	return false
}

func compareRequest(t *testing.T, in []byte, r *Request, std *http.Request) {
	t.Helper()
	if string(r.Method) != std.Method || string(r.Target) != std.RequestURI {
		t.Errorf("%q: %s %s, net/http %s %s", in, r.Method, r.Target, std.Method, std.RequestURI)
	}
	path, err := url.PathUnescape(string(r.Path))
	if std.URL.Path == "" {
		std.URL.Path = "/"
	}
	if path != std.URL.Path || err != nil || string(r.RawQuery) != std.URL.RawQuery {
		t.Errorf("%q: path %q query %q, %v, net/http %q %q", in, r.Path, r.RawQuery, err,
			std.URL.Path, std.URL.RawQuery)
	}
	if string(r.Host) != std.Host {
		t.Errorf("%q: host %q, net/http %q", in, r.Host, std.Host)
	}
	chunked, length := len(std.TransferEncoding) > 0, max(std.ContentLength, 0)
	if r.Chunked != chunked || max(r.ContentLength, 0) != length {
		t.Errorf("%q: chunked %v length %d, net/http %v %d", in, r.Chunked, r.ContentLength,
			chunked, length)
	}
	if r.KeepAlive && std.Close {
		t.Errorf("%q: keeps the connection, net/http closes", in)
	}
	for _, field := range r.Fields {
		name := CanonicalName(field.Name)
		switch name {
		case "Host", "Transfer-Encoding", "Content-Length", "Trailer":
			continue // net/http moves them out of the header
		}
		if !slices.Contains(std.Header[name], string(field.Value)) {
			t.Errorf("%q: %s is %q, net/http has %q", in, name, field.Value, std.Header[name])
		}
	}
}
