// SPDX-License-Identifier: MIT

package static

import (
	"io"
	"net"
	"strings"
	"testing"
)

// One client that asks again when it has its answer: the figure is dominated by
// the two system calls of the answer unless files cost more.
func BenchmarkServe(b *testing.B) {
	dir := tree(b, map[string]string{
		"1k": pattern(1 << 10), "64k": pattern(64 << 10), "1m": pattern(1 << 20),
		"a/b/c/1k": pattern(1 << 10), "z.js": pattern(1 << 10), "z.js.gz": pattern(500),
	})
	url := native(b, serve(b, Config{Dir: dir}))
	for _, c := range []struct{ name, path, fields string }{
		{"1k", "/1k", ""},
		{"1k deep", "/a/b/c/1k", ""},
		{"1k without siblings", "/1k", "Accept-Encoding: gzip, br, zstd\r\n"},
		{"gzip sibling", "/z.js", "Accept-Encoding: gzip\r\n"},
		{"64k", "/64k", ""},
		{"1m", "/1m", ""},
		{"none", "/none", ""},
	} {
		b.Run(c.name, func(b *testing.B) {
			conn, err := net.Dial("tcp", url[len("http://"):])
			if err != nil {
				b.Fatal(err)
			}
			defer conn.Close()
			get := "GET " + c.path + " HTTP/1.1\r\nHost: a\r\n" + c.fields + "\r\n"
			buf := make([]byte, 64<<10)
			length := 0
			b.ReportAllocs()
			for b.Loop() {
				if _, err := io.WriteString(conn, get); err != nil {
					b.Fatal(err)
				}
				length = readAnswer(b, conn, buf, length)
			}
			b.SetBytes(int64(length))
		})
	}
}

// readAnswer reads length bytes, or finds out how long the answer is.
func readAnswer(b *testing.B, r io.Reader, buf []byte, length int) int {
	got := 0
	for length == 0 || got < length {
		n, err := r.Read(buf)
		if err != nil {
			b.Fatal(err)
		}
		if got += n; length == 0 {
			head, _, _ := strings.Cut(string(buf[:n]), "\r\n\r\n")
			_, after, _ := strings.Cut(head, "Content-Length: ")
			for _, c := range after {
				if c < '0' || c > '9' {
					break
				}
				length = length*10 + int(c-'0')
			}
			length += len(head) + len("\r\n\r\n")
		}
	}
	return length
}

// What a small file costs beside the answer itself: open, fstat, read, close.
func BenchmarkFile(b *testing.B) {
	f := serve(b, Config{Dir: tree(b, map[string]string{"1k": pattern(1 << 10)})})
	b.ReportAllocs()
	for b.Loop() {
		a, _ := f.answer(&request{method: "GET", path: []byte("/1k")})
		if err := a.body(io.Discard, func(_ io.Writer, s span) error {
			_, err := a.file.ReadAt(make([]byte, s.length), s.start)
			return err
		}); err != nil {
			b.Fatal(err)
		}
		a.close()
	}
}
