// SPDX-License-Identifier: MIT

package wire

import (
	"bufio"
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

const smallGet = "GET / HTTP/1.1\r\nHost: localhost:8080\r\n\r\n"

// browserGet is what a browser sends: 11 fields, about 740 bytes.
const browserGet = "GET /articles/2026/11/an-article?page=2 HTTP/1.1\r\n" +
	"Host: www.example.com\r\n" +
	"Connection: keep-alive\r\n" +
	"sec-ch-ua: \"Chromium\";v=\"142\", \"Not;A=Brand\";v=\"99\"\r\n" +
	"Upgrade-Insecure-Requests: 1\r\n" +
	"User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) " +
	"Chrome/142.0.0.0 Safari/537.36\r\n" +
	"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp," +
	"image/apng,*/*;q=0.8\r\n" +
	"Sec-Fetch-Site: same-origin\r\n" +
	"Referer: https://www.example.com/articles\r\n" +
	"Accept-Encoding: gzip, deflate, br, zstd\r\n" +
	"Accept-Language: en-GB,en;q=0.9,de;q=0.8\r\n" +
	"Cookie: session=0123456789abcdef0123456789abcdef0123456789abcdef; csrftoken=" +
	"abcdefghijklmnopqrstuvwxyzABCDEF; theme=dark; _ga=GA1.2.1234567890.1234567890\r\n\r\n"

func BenchmarkRequest(b *testing.B) {
	for _, bb := range []struct{ name, text string }{
		{"small", smallGet}, {"browser", browserGet},
	} {
		in := []byte(bb.text)
		b.Run(bb.name, func(b *testing.B) {
			var p RequestParser
			var req Request
			b.ReportAllocs()
			b.SetBytes(int64(len(in)))
			for b.Loop() {
				if n, err := p.Parse(in, &req); n != len(in) || err != nil {
					b.Fatal(n, err)
				}
			}
		})
		b.Run(bb.name+"/net-http", func(b *testing.B) {
			b.SetBytes(int64(len(in)))
			r := bytes.NewReader(in)
			br := bufio.NewReader(r)
			for b.Loop() {
				r.Reset(in)
				br.Reset(r)
				if _, err := http.ReadRequest(br); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkRequestDrip feeds a head one byte at a time: the cost of a byte
// must not grow with the length of the head.
func BenchmarkRequestDrip(b *testing.B) {
	for _, n := range []int{1 << 10, 8 << 10} {
		in := []byte("GET / HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("y", n) + "\r\n\r\n")
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			var p RequestParser
			var req Request
			b.SetBytes(int64(len(in)))
			for b.Loop() {
				for k := 1; k <= len(in); k++ {
					if _, err := p.Parse(in[:k], &req); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

func BenchmarkResponse(b *testing.B) {
	in := []byte("HTTP/1.1 200 OK\r\nDate: Sun, 29 Nov 2026 12:00:00 GMT\r\n" +
		"Content-Type: application/json\r\nContent-Length: 13\r\n\r\n")
	var p ResponseParser
	var resp Response
	b.ReportAllocs()
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		if n, err := p.Parse(in, &resp); n != len(in) || err != nil {
			b.Fatal(n, err)
		}
	}
}

func BenchmarkChunked(b *testing.B) {
	for _, size := range []int{16, 1024, 16384} {
		var in []byte
		data := bytes.Repeat([]byte("x"), size)
		for len(in) < 64<<10 {
			in = AppendChunk(in, data)
		}
		in = append(in, LastChunk...)
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			var d Decoder
			b.SetBytes(int64(len(in)))
			for b.Loop() {
				d.StartChunked(nil, 0)
				for n := 0; !d.Done(); {
					_, k, err := d.Next(in[n:])
					if err != nil {
						b.Fatal(err)
					}
					n += k
				}
			}
		})
	}
}

func BenchmarkAnswer(b *testing.B) {
	date := AppendTime(nil, time.Unix(1796000000, 0))
	var out []byte
	b.ReportAllocs()
	for b.Loop() {
		out = AppendStatusLine(out[:0], 200)
		out = AppendDate(out, date)
		out, _ = AppendField(out, "Content-Type", "text/plain; charset=utf-8")
		out = AppendContentLength(out, 13)
		out = append(out, LineEnd...)
		out = append(out, "Hello, World!"...)
	}
}

func BenchmarkCanonicalName(b *testing.B) {
	var p RequestParser
	var req Request
	if _, err := p.Parse([]byte(browserGet), &req); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		for i := range req.Fields {
			CanonicalName(req.Fields[i].Name)
		}
	}
}
