// SPDX-License-Identifier: MIT

package wire

import (
	"strings"
	"testing"
)

// TestLimitsDefaults: each limit that is not set has its default, whatever the others are.
func TestLimitsDefaults(t *testing.T) {
	for _, limit := range []func(*Limits) *int{
		func(l *Limits) *int { return &l.LineBytes }, func(l *Limits) *int { return &l.HeadBytes },
		func(l *Limits) *int { return &l.Fields }, func(l *Limits) *int { return &l.TrailerBytes },
		func(l *Limits) *int { return &l.ChunkExtBytes },
	} {
		l, want := Limits{1, 2, 3, 4, 5}, Limits{1, 2, 3, 4, 5}
		*limit(&l), *limit(&want) = 0, *limit(&defaultLimits)
		if got := limitsOf(&l); *got != want {
			t.Errorf("limits of %+v = %+v, want %+v", l, *got, want)
		}
	}
}

// TestLineWithoutEnd: a line that is too long is refused at its last byte, wherever in it
// the parser stands, and not only when another byte comes.
func TestLineWithoutEnd(t *testing.T) {
	for _, text := range []string{"HTTP/1.1 200", "HTTP/1.1 20", "HTTP/1.1 200 "} {
		p := ResponseParser{Limits: &Limits{LineBytes: len(text) - 1}}
		if _, err := p.Parse([]byte(text), &Response{}); err != ErrLineTooLong {
			t.Errorf("Parse(%q) of %d bytes at most: %v, want %v", text, len(text)-1, err, ErrLineTooLong)
		}
	}
	for _, text := range []string{"GET http:", "GET http:/", "GET http://a", "GET / HTTP/1"} {
		_, _, err := parseRequest(text, &Limits{LineBytes: len(text) - 1})
		if err != ErrLineTooLong {
			t.Errorf("Parse(%q) of %d bytes at most: %v, want %v", text, len(text)-1, err, ErrLineTooLong)
		}
	}
}

// TestManyLengths: as many as a byte can count and one more are not one.
func TestManyLengths(t *testing.T) {
	text := "HTTP/1.1 200 OK\r\n" + strings.Repeat("Content-Length: 5\r\n", 257) + "\r\n"
	p := ResponseParser{Limits: &Limits{Fields: 300}}
	var resp Response
	n, err := p.Parse([]byte(text), &resp)
	if n != len(text) || err != nil || resp.KeepAlive || resp.ContentLength != 5 {
		t.Errorf("Parse = %d, %v with %+v, want the length and no further request", n, err, resp)
	}
}

// TestSizeOfChunk: each digit, either case.
func TestSizeOfChunk(t *testing.T) {
	for size, digit := range "0123456789abcdef" {
		for _, digit := range []string{string(digit), strings.ToUpper(string(digit))} {
			if got := hexValue(digit[0]); int(got) != size {
				t.Errorf("hexValue(%s) = %d, want %d", digit, got, size)
			}
		}
	}
}

// TestFaultBehindTheBound: of a line that is too long that is said, whatever else is wrong
// with it behind its last byte.
func TestFaultBehindTheBound(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want error
	}{
		{"GET / HTTX/1.1\r\n", 8, ErrLineTooLong}, {"GET / HTTX/1.1\r\n", 9, ErrVersionSyntax},
		{"GET / HTTP/1.1X\r\n", 13, ErrLineTooLong}, {"GET / HTTP/1.1X\r\n", 14, ErrVersionSyntax},
		{"GET / HTTP/2.0\r\n", 13, ErrLineTooLong}, {"GET / HTTP/2.0\r\n", 14, ErrVersion},
	} {
		if _, _, err := parseRequest(c.text, &Limits{LineBytes: c.most}); err != c.want {
			t.Errorf("Parse(%q) of %d bytes at most: %v, want %v", c.text, c.most, err, c.want)
		}
	}
}

// TestHeadWithoutEnd: a head as long as it may be and not whole is refused at once, read
// in one go or behind a part of it.
func TestHeadWithoutEnd(t *testing.T) {
	text := "GET / HTTP/1.1\r\nHost: a\r\nX: y"
	for first := range len(text) {
		p := RequestParser{Limits: &Limits{HeadBytes: len(text)}}
		var req Request
		if _, err := p.Parse([]byte(text[:first]), &req); err != nil {
			t.Fatalf("Parse of %d bytes: %v", first, err)
		}
		if _, err := p.Parse([]byte(text), &req); err != ErrHeadTooLarge {
			t.Errorf("Parse of %d bytes and then of all: %v, want %v", first, err, ErrHeadTooLarge)
		}
	}
}

// TestFirstBytes: what is wrong with a request line is named by its first wrong byte.
func TestFirstBytes(t *testing.T) {
	for text, want := range map[string]error{
		" / HTTP/1.1\r\n": ErrRequestLine, "(GET / HTTP/1.1\r\n": ErrMethod, "\n": ErrLineEnd,
		"GE(T / HTTP/1.1\r\n": ErrMethod, "GET\r\n": ErrRequestLine, "GET\n": ErrLineEnd,
		"GET / HTTP/1.1X\nHost: a\r\n\r\n":    ErrVersionSyntax,
		"GET / HTTP/1.1\rXHost: a\r\n\r\n":    ErrLineEnd,
		"GET / HTTP/1.1\nHost: a\r\n\r\n":     ErrLineEnd,
		"GET / HTTP/1.1\r\r\nHost: a\r\n\r\n": ErrLineEnd,
	} {
		if _, _, err := parseRequest(text, nil); err != want {
			t.Errorf("Parse(%q): %v, want %v", text, err, want)
		}
	}
}

// TestLongestAddress: as many colons, and as many bytes, as an address can have.
func TestLongestAddress(t *testing.T) {
	for host, want := range map[string]bool{
		"[1:2:3:4:5:6:7::]": true, "[::1:2:3:4:5:6:7]": true, "[1:2:3:4:5:6:7:8:9:]": false,
		"[ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255]":  true,
		"[ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.2555]": false,
		"[::]": true, "[:]": false, "[::]:65535": true, "[::]:65536": false,
	} {
		if got := ValidHost([]byte(host)); got != want {
			t.Errorf("ValidHost(%s) = %v, want %v", host, got, want)
		}
	}
}

func TestHasBody(t *testing.T) {
	for _, c := range []struct {
		r    Request
		want bool
	}{
		{Request{ContentLength: -1}, false}, {Request{}, false}, {Request{ContentLength: 1}, true},
		{Request{ContentLength: -1, Chunked: true}, true},
	} {
		if got := c.r.HasBody(); got != c.want {
			t.Errorf("HasBody with length %d, chunked %v = %v", c.r.ContentLength, c.r.Chunked, got)
		}
	}
}

// TestKnownNamesAreNotCopied: however they are spelt.
func TestKnownNamesAreNotCopied(t *testing.T) {
	for _, name := range []string{"Content-Type", "content-type", "CONTENT-TYPE", "hoST", "te"} {
		b := []byte(name)
		if got := testing.AllocsPerRun(10, func() { CanonicalName(b) }); got != 0 {
			t.Errorf("CanonicalName(%s): %v allocations, want 0", name, got)
		}
	}
}
