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
