// SPDX-License-Identifier: MIT

package wire

import (
	"reflect"
	"strings"
	"testing"
)

// parseRequest parses all of text at once.
func parseRequest(text string, lim *Limits) (served, *Request, error) {
	m := model{}
	m.parser.Limits = lim
	_, err := m.parser.Parse([]byte(text), &m.req)
	return m.copyHead(), &m.req, err
}

const end = "\r\nHost: a\r\n\r\n"

func TestRequestTargets(t *testing.T) {
	for _, tt := range []struct {
		line, path, query, host string
		err                     error
	}{
		{"GET / HTTP/1.1", "/", "", "a", nil},
		{"GET //x/../y HTTP/1.1", "//x/../y", "", "a", nil},
		{"GET /a%2Fb%00?c=%zz HTTP/1.1", "/a%2Fb%00", "c=%zz", "a", nil},
		{"GET /?a?b HTTP/1.1", "/", "a?b", "a", nil},
		{"GET /a?b=http://c/d HTTP/1.1", "/a", "b=http://c/d", "a", nil},
		{"GET http://b:80/x?y HTTP/1.1", "/x", "y", "b:80", nil},
		{"GET HTTPS://b HTTP/1.1", "/", "", "b", nil},
		{"GET http://b?y HTTP/1.1", "/", "y", "b", nil},
		{"GET http://[::1]:8/ HTTP/1.1", "/", "", "[::1]:8", nil},
		{"OPTIONS * HTTP/1.1", "*", "", "a", nil},
		{"GET * HTTP/1.1", "", "", "", ErrTarget},
		{"GET *x HTTP/1.1", "", "", "", ErrTarget},
		{"GET a:80 HTTP/1.1", "", "", "", ErrTarget},
		{"GET a/b HTTP/1.1", "", "", "", ErrTarget},
		{"GET ftp://b/ HTTP/1.1", "", "", "", ErrTarget},
		{"GET http:/b HTTP/1.1", "", "", "", ErrTarget},
		{"GET http:///b HTTP/1.1", "", "", "", ErrTarget},
		{"GET http://u:p@b/ HTTP/1.1", "", "", "", ErrTarget},
		{"GET /a#b HTTP/1.1", "", "", "", ErrTarget},
		{"GET /?a#b HTTP/1.1", "", "", "", ErrTarget},
		{"GET /a%2 HTTP/1.1", "", "", "", ErrTarget},
		{"GET /a%2g HTTP/1.1", "", "", "", ErrTarget},
		{"GET /a\\b HTTP/1.1", "", "", "", ErrTarget},
		{"GET /\x80 HTTP/1.1", "", "", "", ErrTarget},
		{"GET /?\xff HTTP/1.1", "", "", "", ErrTarget},
		{"GET  / HTTP/1.1", "", "", "", ErrRequestLine},
		{"GET / x HTTP/1.1", "", "", "", ErrVersionSyntax},
		{"CONNECT a:80 HTTP/1.1", "", "", "", ErrConnect},
		{"CONNECT / HTTP/1.1", "", "", "", ErrConnect},
		{"GET / HTTP/1.1 ", "", "", "", ErrVersionSyntax},
		{"GET / HTTP/1.1\rx", "", "", "", ErrLineEnd},
		{"GET / HTTP/2.0", "", "", "", ErrVersion},
		{"GET / http/1.1", "", "", "", ErrVersionSyntax},
		{"G\x00T / HTTP/1.1", "", "", "", ErrMethod},
		{"\r\nGET /x HTTP/1.1", "/x", "", "a", nil},
		{"\r\n\r\nGET / HTTP/1.1", "", "", "", ErrRequestLine},
	} {
		got, _, err := parseRequest(tt.line+end, nil)
		if err != tt.err {
			t.Errorf("Parse(%q) error %v, want %v", tt.line, err, tt.err)
			continue
		}
		if err == nil && (got.path != tt.path || got.query != tt.query || got.host != tt.host) {
			t.Errorf("Parse(%q) path %q query %q host %q, want %q %q %q",
				tt.line, got.path, got.query, got.host, tt.path, tt.query, tt.host)
		}
	}
}

func TestRequestFraming(t *testing.T) {
	type want struct {
		length            int64
		chunked, keep, ex bool
		upgrade           string
		err               error
	}
	refused := func(err error) want { return want{err: err} }
	const te, cl = "Transfer-Encoding: ", "Content-Length: "
	const line10, line11 = "POST / HTTP/1.0\r\n", "POST / HTTP/1.1\r\nHost: a\r\n"
	for text, want := range map[string]want{
		line11:                                  {-1, false, true, false, "", nil},
		line10:                                  {-1, false, false, false, "", nil},
		line10 + "Connection: x,Keep-Alive\r\n": {-1, false, true, false, "", nil},
		line10 + "Connection: keep-alive, close\r\n":          {-1, false, false, false, "", nil},
		line11 + "Connection: x, CLOSE ,y\r\n":                {-1, false, false, false, "", nil},
		line11 + "Connection: closed\r\n":                     {-1, false, true, false, "", nil},
		line11 + cl + "0007\r\n":                              {7, false, true, false, "", nil},
		line11 + "content-LENGTH: 9223372036854775807\r\n":    {1<<63 - 1, false, true, false, "", nil},
		line11 + te + "CHUNKed\r\n":                           {-1, true, true, false, "", nil},
		line11 + "Transfer_Encoding: chunked\r\n":             {-1, false, true, false, "", nil},
		line11 + "Expect: 100-Continue\r\n" + cl + "1\r\n":    {1, false, true, true, "", nil},
		line11 + "Expect: 100-continue\r\n":                   {-1, false, true, false, "", nil},
		line10 + "Expect: 100-continue\r\n" + cl + "1\r\n":    {1, false, false, false, "", nil},
		line10 + "Expect: x\r\n":                              {-1, false, false, false, "", nil},
		line11 + "Upgrade: h2c\r\nConnection: upgrade, x\r\n": {-1, false, true, false, "h2c", nil},
		line11 + "Upgrade: h2c\r\n":                           {-1, false, true, false, "", nil},
		line10 + "Upgrade: h2c\r\nConnection: upgrade\r\n":    {-1, false, false, false, "", nil},
		line11 + "Expect: x\r\n":                              refused(ErrExpectation),
		line11 + cl + "1\r\n" + cl + "1\r\n":                  refused(ErrContentLength),
		line11 + cl + "\r\n":                                  refused(ErrContentLength),
		line11 + cl + "+1\r\n":                                refused(ErrContentLength),
		line11 + cl + "1,1\r\n":                               refused(ErrContentLength),
		line11 + cl + "9223372036854775808\r\n":               refused(ErrLengthTooLarge),
		line11 + cl + "18446744073709551617\r\n":              refused(ErrLengthTooLarge),
		line11 + te + "chunked\r\n" + cl + "1\r\n":            refused(ErrFraming),
		line11 + cl + "x\r\n" + te + "chunked\r\n":            refused(ErrFraming),
		line11 + te + "gzip, chunked\r\n":                     refused(ErrCoding),
		line11 + te + "gzip\r\n":                              refused(ErrTransferEncoding),
		line11 + te + "chunked, gzip\r\n":                     refused(ErrTransferEncoding),
		line11 + te + "chunked, chunked\r\n":                  refused(ErrTransferEncoding),
		line11 + te + "chunked,\r\n":                          refused(ErrTransferEncoding),
		line11 + te + "a b, chunked\r\n":                      refused(ErrTransferEncoding),
		line11 + te + "\r\n":                                  refused(ErrTransferEncoding),
		line11 + te + "a\r\n" + te + "chunked\r\n":            refused(ErrTransferEncoding),
		line10 + te + "chunked\r\n":                           refused(ErrTransferEncoding),
		line11 + "Content-Type: a\r\nContent-Type: a\r\n":     refused(ErrDuplicate),
		line11 + "Host: a\r\n":                                refused(ErrHost),
		line10 + "Host: a\r\nHost: a\r\n":                     refused(ErrHost),
		"POST / HTTP/1.1\r\n":                                 refused(ErrHost),
		"POST http://a/ HTTP/1.1\r\n":                         refused(ErrHost),
		"POST http://a/ HTTP/1.1\r\nHost: a b\r\n":            refused(ErrHost),
	} {
		_, r, err := parseRequest(text+"\r\n", nil)
		got := want
		if got.err = err; err == nil {
			got.length, got.chunked, got.keep = r.ContentLength, r.Chunked, r.KeepAlive
			got.ex, got.upgrade = r.Expect100, string(r.Upgrade)
		}
		if got != want {
			t.Errorf("Parse(%q)\n got %+v\nwant %+v", text, got, want)
		}
	}
}

func TestRequestFieldLines(t *testing.T) {
	for line, want := range map[string]any{
		"X:y":                     [2]string{"X", "y"},
		"X: \t y z\t ":            [2]string{"X", "y z"},
		"X:":                      [2]string{"X", ""},
		"X: \t ":                  [2]string{"X", ""},
		"X: a\tb\x80\xff":         [2]string{"X", "a\tb\x80\xff"},
		"X: \xff~\xff~\xff~\xff~": [2]string{"X", "\xff~\xff~\xff~\xff~"},
		"!#$%&'*+-.^`|~09aZ: a:b": [2]string{"!#$%&'*+-.^`|~09aZ", "a:b"},
		"X : y":                   ErrFieldName,
		": y":                     ErrFieldName,
		"X":                       ErrLineEnd,
		"X[]: y":                  ErrFieldName,
		"X\x80: y":                ErrFieldName,
		" X: y":                   ErrFold,
		"X: a\r\n b":              ErrFold,
		"\tX: y":                  ErrFold,
		"X: a\rb":                 ErrLineEnd,
		"X: a\nb":                 ErrLineEnd,
		"X: a\nY: b":              ErrLineEnd,
		"X\n: a":                  ErrLineEnd,
		"\rX: a":                  ErrLineEnd,
		"X: \x00":                 ErrFieldValue,
		"X: 0123456789\x7f":       ErrFieldValue,
		"X: 0123\x1f456789abcdef": ErrFieldValue,
		"X: 0123456789abcdef\x0b": ErrFieldValue,
	} {
		got, _, err := parseRequest("GET / HTTP/1.1\r\nHost: a\r\n"+line+"\r\n\r\n", nil)
		if wantErr, isErr := want.(Error); isErr {
			if err != wantErr {
				t.Errorf("Parse(%q) error %v, want %v", line, err, wantErr)
			}
		} else if err != nil || len(got.fields) != 2 || got.fields[1] != want {
			t.Errorf("Parse(%q) = %q, %v, want %q", line, got.fields, err, want)
		}
	}
}

// TestFieldBytes tries every byte at every place of a word in a name and a value.
func TestFieldBytes(t *testing.T) {
	for pos := 0; pos < 20; pos++ {
		for c := 0; c < 256; c++ {
			word := []byte("abcdefgh-jklmnopqrstuvw")
			word[pos] = byte(c)
			var f Field
			_, code := fieldLine(append(word, ": v\r\n"...), 0, &f)
			token := strings.IndexByte("!#$%&'*+-.^_`|~", byte(c)) >= 0 || c >= '0' && c <= '9' ||
				c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
			if (code == ok) != token && !(c == ':' && pos > 0) {
				t.Errorf("byte %#x at %d of a name: %v", c, pos, code)
			}
			if code == ok && f.Underscore != (c == '_') {
				t.Errorf("byte %#x at %d of a name: Underscore %v", c, pos, f.Underscore)
			}
			_, code = fieldLine(append(append([]byte("n:"), word...), '\r', '\n'), 0, &f)
			if valid := c >= 0x20 && c != 0x7f || c == '\t'; (code == ok) != valid {
				t.Errorf("byte %#x at %d of a value: %v", c, pos, code)
			}
		}
	}
}

func TestValidHost(t *testing.T) {
	for host, want := range map[string]bool{
		"": true, "a": true, "a.b-c_d~": true, "a:": true, "a:65535": true, "1.2.3.4:80": true,
		"a%2fb": true, "0.0.0.0=5000": true, "[::1]": true, "[1:2::3.4.5.6]:80": true,
		"a b": false, "a,b": false, "a@b": false, "a/b": false, "a:65536": false, "a:b": false,
		"a:1:1": false, ":80": false, "[::1": false, "[]": false, "[1:2]": false, "[::g]": false,
		"[::1]x": false, "::1": false, "a%2": false, "a%zz": false, "é": false, "a\"": false,
		"[1:2:3:4:5:6:7:8:9:a]": false, "a%2fb%": false,
	} {
		if got := ValidHost([]byte(host)); got != want {
			t.Errorf("ValidHost(%q) = %v, want %v", host, got, want)
		}
	}
}

// TestRequestLimits holds each limit at the last size that passes and the first
// that does not, whole and byte by byte.
func TestRequestLimits(t *testing.T) {
	pad := func(n int) string { return strings.Repeat("x", n) }
	lim := &Limits{LineBytes: 50, HeadBytes: 200, Fields: 3}
	head := "GET / HTTP/1.1\r\nHost: a\r\n"
	for _, tt := range []struct {
		name, text string
		err        error
	}{
		{"line", "GET /" + pad(36) + " HTTP/1.1" + end, nil},
		{"line above", "GET /" + pad(37) + " HTTP/1.1" + end, ErrLineTooLong},
		{"method above", pad(51), ErrLineTooLong},
		{"empty line counts", "\r\nGET /" + pad(34) + " HTTP/1.1" + end, nil},
		{"empty line counts above", "\r\nGET /" + pad(35) + " HTTP/1.1" + end, ErrLineTooLong},
		{"field", head + "X: " + pad(47) + "\r\n\r\n", nil},
		{"field above", head + "X: " + pad(48) + "\r\n\r\n", ErrFieldTooLong},
		{"field without end", head + "X: " + pad(48), ErrFieldTooLong},
		{"name above", head + pad(51), ErrFieldTooLong},
		{"spaces above", head + "X:" + strings.Repeat(" ", 49), ErrFieldTooLong},
		{"fault within", head + "X: " + pad(46) + "\x00\r\n\r\n", ErrFieldValue},
		{"fault behind", head + "X: " + pad(48) + "\x00\r\n\r\n", ErrFieldTooLong},
		{"version behind", "GET /" + pad(37) + " HTTP/2.0" + end, ErrLineTooLong},
		{"fields", head + "X:\r\nX:\r\n\r\n", nil},
		{"fields above", head + "X:\r\nX:\r\nX:\r\n", ErrTooManyFields},
		{"fault first", head + "X:\r\nX:\r\nX\r\n", ErrLineEnd},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, step := range []int{len(tt.text), 1, 7} {
				got := serve([]byte(tt.text), lim, step)
				if got.err != tt.err {
					t.Errorf("in pieces of %d: %v, want %v", step, got.err, tt.err)
				}
			}
		})
	}
	lim = &Limits{LineBytes: 500, HeadBytes: 100, Fields: 30}
	for n, want := range map[int]error{100: nil, 101: ErrHeadTooLarge} {
		text := head + "X: " + pad(n-len(head)-len("X: \r\n\r\n")) + "\r\n\r\n"
		for _, step := range []int{len(text), 1} {
			if got := serve([]byte(text+"GET / "), lim, step).err; got != want &&
				!(want == nil && got == ErrTruncated) {
				t.Errorf("a head of %d in pieces of %d: %v, want %v", n, step, got, want)
			}
		}
	}
	if got := serve([]byte("GET /"+pad(200)), lim, 1).err; got != ErrLineTooLong {
		t.Errorf("a request line that fills the head: %v, want %v", got, ErrLineTooLong)
	}
}

// TestRequestRemembersPosition: bytes that were seen are not looked at again.
func TestRequestRemembersPosition(t *testing.T) {
	whole := "GET / HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("y", 1000)
	text := []byte(whole)
	p := RequestParser{Limits: &Limits{LineBytes: 1010}} // of a line, not of all
	var req Request
	for k := 1; k <= len(text); k++ {
		if n, err := p.Parse(text[:k], &req); n != 0 || err != nil {
			t.Fatalf("Parse of %d bytes = %d, %v, want more", k, n, err)
		}
		if line := strings.LastIndex(whole[:k], "\n") + 1; p.line != line || p.seen != k {
			t.Fatalf("after %d bytes: line at %d, seen %d; want %d, %d", k, p.line, p.seen, line, k)
		}
		if k > 30 {
			clear(text[:k]) // nobody may read them before the line is whole
		}
	}
	if !p.Pending() {
		t.Error("Pending() = false inside a head")
	}
	p.Reset()
	if n, err := p.Parse([]byte(smallGet), &req); n != len(smallGet) || err != nil {
		t.Errorf("Parse after Reset = %d, %v", n, err)
	}
}

// TestRequestReuse: nothing of one request shows in the next.
func TestRequestReuse(t *testing.T) {
	var p RequestParser
	var req, fresh Request
	first := "POST http://h/p?q HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nUpgrade: x\r\n" +
		"Connection: upgrade\r\na_b: c\r\nTransfer-Encoding: chunked\r\n\r\n"
	if _, err := p.Parse([]byte(first), &req); err != nil || !req.Underscores || !req.HasBody() {
		t.Fatalf("Parse: %+v, %v", req, err)
	}
	if v, found := req.Field("upgrade"); string(v) != "x" || !found {
		t.Errorf("Field(upgrade) = %q, %v", v, found)
	}
	if _, found := req.Field("via"); found {
		t.Error("Field(via) found")
	}
	for _, r := range []*Request{&req, &fresh} {
		if _, err := p.Parse([]byte(smallGet), r); err != nil {
			t.Fatal(err)
		}
	}
	if !reflect.DeepEqual(req, fresh) {
		t.Errorf("after another request: %+v\nfresh: %+v", req, fresh)
	}
}

func TestErrors(t *testing.T) {
	for e := ok + 1; e < errMore; e++ {
		if e.Status() < 400 || e.Status() > 505 || len(e.Text()) < 8 || StatusText(e.Status()) == "" {
			t.Errorf("Error(%d): %d %q", e, e.Status(), e.Text())
		}
		if e.Error() != "wire: "+e.Text() {
			t.Errorf("Error(%d).Error() = %q", e, e.Error())
		}
	}
	for _, e := range []Error{ok, errMore, 255} {
		if e.Status() != 400 || e.Text() != "unknown error" {
			t.Errorf("Error(%d): %d %q", e, e.Status(), e.Text())
		}
	}
}

// TestNoAllocation covers what a server does for every request.
func TestNoAllocation(t *testing.T) {
	var p RequestParser
	var req Request
	var d Decoder
	in := []byte(browserGet)
	chunks := []byte("5;a=b\r\nhello\r\n0\r\n\r\n")
	bad := []byte("GET / HTTP/1.1\r\n x\r\n\r\n")
	out := make([]byte, 0, 1024)
	work := func() {
		if n, err := p.Parse(in[:300], &req); n != 0 || err != nil {
			t.Fatal(n, err)
		}
		if n, err := p.Parse(in, &req); n != len(in) || err != nil {
			t.Fatal(n, err)
		}
		if _, err := p.Parse(bad, &req); err != ErrFold {
			t.Fatal(err)
		}
		for i := range req.Fields {
			CanonicalName(req.Fields[i].Name)
		}
		MethodName(req.Method)
		d.StartChunked(nil, 100)
		for _, part := range [][]byte{chunks[:9], chunks[9:17], chunks[17:]} {
			if _, _, err := d.Append(out[:0], part); err != nil {
				t.Fatal(err)
			}
		}
		out = AppendStatusLine(out[:0], 404)
		out, _ = AppendField(out, "Content-Type", "text/plain")
		out, _ = AppendField(out, in[:3], in[:3])
		out = AppendChunk(AppendContentLength(out, 5), chunks)
	}
	work()
	if n := testing.AllocsPerRun(100, work); n != 0 {
		t.Errorf("%v allocations for a request, want 0", n)
	}
}
