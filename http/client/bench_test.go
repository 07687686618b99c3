// SPDX-License-Identifier: MIT

package client

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// serveBytes gives each request that comes in one piece the same answer, and
// does as little as a server can.
func serveBytes(tb testing.TB, answer string) (url string) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go answerAll(c, []byte(answer))
		}
	}()
	return "http://" + ln.Addr().String() + "/"
}

func answerAll(c net.Conn, answer []byte) {
	defer c.Close()
	b := make([]byte, 4096)
	for {
		if _, err := c.Read(b); err != nil {
			return
		}
		if _, err := c.Write(answer); err != nil {
			return
		}
	}
}

// BenchmarkGet asks for 1 KiB; whole programs are compared by tools' bench.
func BenchmarkGet(b *testing.B) {
	url := serveBytes(b, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"+
		"Content-Length: 1024\r\n\r\n"+strings.Repeat("x", 1024))
	b.Run("ours", func(b *testing.B) {
		c := New(Config{})
		defer c.Close()
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			var resp Response
			req := Request{URL: url}
			for pb.Next() {
				if err := c.Do(context.Background(), &req, &resp); err != nil {
					b.Error(err)
				}
			}
		})
	})
	b.Run("nethttp", func(b *testing.B) {
		tr := &http.Transport{MaxIdleConnsPerHost: 64}
		defer tr.CloseIdleConnections()
		c := &http.Client{Transport: tr}
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				resp, err := c.Get(url)
				if err != nil {
					b.Error(err)
					continue
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		})
	})
}
