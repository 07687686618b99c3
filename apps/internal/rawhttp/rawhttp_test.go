// SPDX-License-Identifier: MIT

package rawhttp

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
)

// answered gives a connection on which the text comes, and then its end.
func answered(t *testing.T, text string) *Conn {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() }) // not before the peer is accepted: that would reset it
	go func() {
		if conn, err := ln.Accept(); err == nil {
			_, _ = io.WriteString(conn, text)
			_ = conn.Close()
		}
	}()
	c, err := Dial("http://" + ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestRead(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\n"
	tests := []struct {
		name, method, text string
		framing, body      string
		err                string // part of it; "" for none
	}{
		{"length", "GET", head + "Content-Length: 3\r\n\r\nabc", Length, "abc", ""},
		{"chunked", "GET", head + "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n",
			Chunked, "abc", ""},
		{"until the end", "GET", head + "\r\nabc", Close, "abc", ""},
		{"head", "HEAD", head + "Content-Length: 3\r\n\r\n", None, "", ""},
		{"behind a 100", "GET", "HTTP/1.1 100 Continue\r\n\r\n" + head + "Content-Length: 0\r\n\r\n",
			Length, "", ""},
		{"length cut", "GET", head + "Content-Length: 3\r\n\r\nab", Length, "ab", "cut"},
		{"chunk cut", "GET", head + "Transfer-Encoding: chunked\r\n\r\n3\r\nab",
			Chunked, "ab", "cut"},
		{"last chunk missing", "GET", head + "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n",
			Chunked, "ab", "cut"},
		{"last line missing", "GET", head + "Transfer-Encoding: chunked\r\n\r\n0\r\n",
			Chunked, "", "cut"},
		{"head cut", "GET", head + "Content-Le", "", "", "cut"},
		{"nothing", "GET", "", "", "", "EOF"},
		{"length and coding", "GET", head + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
			"", "", "both"},
		{"two lengths", "GET", head + "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
			"", "", "lengths"},
		{"no CR", "GET", "HTTP/1.1 200 OK\n\r\n", "", "", "without CR"},
		{"204 with a length", "GET", "HTTP/1.1 204 No\r\nContent-Length: 0\r\n\r\n",
			"", "", "with a body"},
		{"control in a value", "GET", head + "X: a\x01\r\n\r\n", "", "", "field line"},
		{"space before the colon", "GET", head + "X : a\r\n\r\n", "", "", "field line"},
		{"chunk extension", "GET", head + "Transfer-Encoding: chunked\r\n\r\n1;a\r\nb\r\n", Chunked, "",
			"size of a chunk"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := answered(t, tt.text).Read(tt.method)
			if tt.err == "" && err != nil || tt.err != "" &&
				(err == nil || !strings.Contains(err.Error(), tt.err)) {
				t.Fatalf("Read = %v, want an error with %q", err, tt.err)
			}
			if r != nil && (r.Framing != tt.framing || string(r.Body) != tt.body) {
				t.Errorf("Read = %s %q, want %s %q", r.Framing, r.Body, tt.framing, tt.body)
			}
		})
	}
}

func TestFieldsAsSent(t *testing.T) {
	c := answered(t, "HTTP/1.0 299 Odd Words\r\nx-a: 1\r\nX-A:  2\r\nE: \xe9\r\n\r\n")
	r, err := c.Read("GET")
	if err != nil || r.Version != "HTTP/1.0" || r.Status != "299 Odd Words" {
		t.Fatalf("Read = %+v, %v", r, err)
	}
	if got := strings.Join(r.All("X-a"), "|"); got != "1|2" || r.Get("none") != "" {
		t.Errorf("All(X-a) = %q, Get(none) = %q, want 1|2 and nothing", got, r.Get("none"))
	}
	if got := r.Get("e"); got != "é" {
		t.Errorf("Get(e) = %q, want the byte as a character", got)
	}
	if err := c.Ended(); err != nil {
		t.Errorf("Ended = %v, want nil", err)
	}
	if err := c.Silent(Patience); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("Silent on an ended connection = %v, want an error", err)
	}
}
