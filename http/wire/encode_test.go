// SPDX-License-Identifier: MIT

package wire

import (
	"net/http"
	"net/textproto"
	"strings"
	"testing"
	"time"
)

func TestEncode(t *testing.T) {
	out := AppendStatusLine(nil, 200)
	out = AppendStatusLine(out, 404)
	out = AppendStatusLine(out, 299)
	out, err1 := AppendStatusReason(out, 200, "Alles gut\xff")
	out, err2 := AppendField(out, "X", []byte("a\tb"))
	out, err3 := AppendRequestLine(out, "GET", "/a?b")
	out = AppendContentLength(out, 1<<40)
	out = AppendDate(out, []byte("now"))
	want := "HTTP/1.1 200 OK\r\nHTTP/1.1 404 Not Found\r\nHTTP/1.1 299 \r\n" +
		"HTTP/1.1 200 Alles gut\xff\r\nX: a\tb\r\nGET /a?b HTTP/1.1\r\n" +
		"Content-Length: 1099511627776\r\nDate: now\r\n"
	if string(out) != want || err1 != nil || err2 != nil || err3 != nil {
		t.Errorf("got %q, %v %v %v\nwant %q", out, err1, err2, err3, want)
	}
}

func TestEncodeChunks(t *testing.T) {
	out := AppendChunk([]byte("|"), nil)
	out = AppendChunk(out, []byte("hello"))
	for _, n := range []int{1, 15, 16, 255, 256, 4096, 0xabcdef} {
		out = AppendChunkHeader(out, n)
	}
	out, err := AppendLastChunk(out, []Field{{Name: []byte("T"), Value: []byte("v")}})
	want := "|5\r\nhello\r\n1\r\nf\r\n10\r\nff\r\n100\r\n1000\r\nabcdef\r\n0\r\nT: v\r\n\r\n"
	if string(out) != want || err != nil {
		t.Errorf("got %q, %v, want %q", out, err, want)
	}
}

// TestEncodeRefuses: no value can end a line, and what was appended stays whole.
func TestEncodeRefuses(t *testing.T) {
	evil := []string{"a\r\nSet-Cookie: x", "a\n", "a\r", "a\x00", "\x7f", "a\x0b"}
	try := func(what, value string, out []byte, err, want error) {
		t.Helper()
		if err != want || string(out) != "before" {
			t.Errorf("%s(%q) = %q, %v, want %v", what, value, out, err, want)
		}
	}
	before := []byte("before")
	for _, v := range evil {
		out, err := AppendField(before, "X", v)
		try("AppendField value", v, out, err, ErrEncodeValue)
		out, err = AppendField(before, []byte("X"), []byte(v))
		try("AppendField bytes", v, out, err, ErrEncodeValue)
		out, err = AppendField(before, v, "x")
		try("AppendField name", v, out, err, ErrEncodeName)
		out, err = AppendStatusReason(before, 200, v)
		try("AppendStatusReason", v, out, err, ErrEncodeValue)
		out, err = AppendRequestLine(before, "GET", v)
		try("AppendRequestLine target", v, out, err, ErrEncodeLine)
		out, err = AppendRequestLine(before, v, "/")
		try("AppendRequestLine method", v, out, err, ErrEncodeLine)
		out, err = AppendLastChunk(before, []Field{{Name: []byte("X"), Value: []byte(v)}})
		try("AppendLastChunk", v, out, err, ErrEncodeValue)
	}
	for _, v := range []string{"", "a b", "a:", "é"} {
		out, err := AppendField(before, v, "x")
		try("AppendField name", v, out, err, ErrEncodeName)
	}
	for _, v := range []string{"", "/a b", "/é", "/#"} {
		out, err := AppendRequestLine(before, "GET", v)
		try("AppendRequestLine target", v, out, err, ErrEncodeLine)
	}
	for _, status := range []int{-1, 0, 99, 1000} {
		out, err := AppendStatusReason(before, status, "x")
		try("AppendStatusReason", "", out, err, ErrEncodeStatus)
	}
}

func TestAppendTime(t *testing.T) {
	at := time.Date(1999, 12, 31, 22, 59, 1, 0, time.FixedZone("", -3600))
	for range 500 {
		want := at.UTC().Format(http.TimeFormat)
		if got := string(AppendTime(nil, at)); got != want || len(got) != DateLen {
			t.Fatalf("AppendTime(%v) = %q, want %q", at, got, want)
		}
		at = at.Add(31*time.Hour + 7*time.Minute + 13*time.Second)
	}
}

func TestCanonicalName(t *testing.T) {
	var names []string
	for n, known := range knownNames {
		for _, name := range known {
			if len(name) != n {
				t.Errorf("%q stands among the names of length %d", name, n)
			}
			names = append(names, name, strings.ToLower(name), strings.ToUpper(name))
		}
	}
	names = append(names, "x", "-", "a--B", "x_Y", "1a-2b", "sEC-fetch-DEST2", "", "A|`~",
		"az-za", "AZ-ZA", "kost", "xate", strings.Repeat("x", len(knownNames)))
	for _, name := range names {
		want := textproto.CanonicalMIMEHeaderKey(name)
		if got := CanonicalName([]byte(name)); got != want {
			t.Errorf("CanonicalName(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestValidStatus(t *testing.T) {
	for status, want := range map[int]bool{-1: false, 99: false, 100: true, 999: true, 1000: false} {
		if got := ValidStatus(status); got != want {
			t.Errorf("ValidStatus(%d) = %v, want %v", status, got, want)
		}
	}
}

func TestNames(t *testing.T) {
	for _, m := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY",
		"TRACE", "BREW", ""} {
		if got := MethodName([]byte(m)); got != m {
			t.Errorf("MethodName(%q) = %q", m, got)
		}
	}
	for status := -1; status < 1100; status++ {
		got, std := StatusText(status), http.StatusText(status)
		if (got == "") != (std == "") {
			t.Errorf("StatusText(%d) = %q, net/http has %q", status, got, std)
		}
	}
	for value, want := range map[string]bool{
		"gzip": true, "a, GZIP ,b": true, "a,gzip": true, ",,\tgzip,": true,
		"": false, "gzipx": false, "a gzip": false, "gzip;q=1": false,
	} {
		if got := HasToken([]byte(value), "gzip"); got != want {
			t.Errorf("HasToken(%q, gzip) = %v, want %v", value, got, want)
		}
	}
}
