// SPDX-License-Identifier: MIT

// Package middleware_test compares what stands between server and application with
// the best-known of its kind: one request each time, into a response that forgets,
// without a server. Each request is new to its handler, as it is in a server: what
// a handler keeps in a request it pays for each time.
package middleware_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// TestMain gives the collector the heap of a small server, so that it runs as often
// as there, and not every few milliseconds.
func TestMain(m *testing.M) {
	heap := make([]byte, 64<<20)
	code := m.Run()
	runtime.KeepAlive(heap)
	os.Exit(code)
}

var sink *[512]byte

// nobody is a response that forgets, and counts.
type nobody struct {
	header http.Header
	status int
	bytes  int
}

func (n *nobody) Header() http.Header { return n.header }

func (n *nobody) Write(p []byte) (int, error) {
	if n.status == 0 {
		n.status = http.StatusOK
	}
	n.bytes += len(p)
	return len(p), nil
}

func (n *nobody) WriteHeader(status int) { n.status = status }

// reset makes n the response of another request.
func (n *nobody) reset() {
	clear(n.header)
	n.status, n.bytes = 0, 0
}

// newRequest is a GET with those fields, in pairs.
func newRequest(tb testing.TB, method, target string, fields ...string) *http.Request {
	tb.Helper()
	r, err := http.NewRequest(method, "http://example.com"+target, nil)
	if err != nil {
		tb.Fatal(err)
	}
	r.RequestURI = target
	for i := 0; i < len(fields); i += 2 {
		r.Header.Set(fields[i], fields[i+1])
	}
	return r
}

// A side is one of those that are compared.
type side struct {
	name    string
	handler http.Handler
}

// serve lets the sides answer r, one after the other. Every answer has to have that
// status, and a body where there is one.
func serve(b *testing.B, r *http.Request, status int, sides ...side) {
	for _, s := range sides {
		b.Run(s.name, func(b *testing.B) {
			w := &nobody{header: http.Header{}}
			fresh := new(http.Request)
			defer reportCPU(b)()
			for b.Loop() {
				w.reset()
				*fresh = *r
				s.handler.ServeHTTP(w, fresh)
			}
			if w.status != status {
				b.Fatalf("the answer is %d with %d bytes; want %d", w.status, w.bytes, status)
			}
		})
	}
}

// reportCPU begins to measure what b is about to do: the time of the processor, which
// counts the collector's work, too, and no work of others.
func reportCPU(b *testing.B) (end func()) {
	b.ReportAllocs()
	for range 3 << 16 { // 96 MiB: nobody pays for memory that was given back meanwhile
		sink = new([512]byte)
	}
	begin := cpu(b)
	return func() {
		took := cpu(b) - begin
		b.ReportMetric(float64(took.Nanoseconds())/float64(b.N), "cpu-ns/op")
	}
}

func cpu(tb testing.TB) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// must is the handler that wrap makes of next.
func must(
	tb testing.TB, wrap func(http.Handler) (http.Handler, error), next http.Handler,
) http.Handler {
	tb.Helper()
	h, err := wrap(next)
	if err != nil {
		tb.Fatal(err)
	}
	return h
}

// done answers without a body.
var done = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusOK)
})

// document is JSON of at least that many bytes, as a list of notes has it.
func document(size int) []byte {
	var doc bytes.Buffer
	doc.WriteByte('[')
	for i := 0; doc.Len() < size; i++ {
		if i > 0 {
			doc.WriteByte(',')
		}
		fmt.Fprintf(&doc, `{"id":%d,"title":"Note %d","done":%t,"owner":{"name":"user%d"},`,
			100000+i*37, i, i%3 == 0, i*7919%113)
		fmt.Fprintf(&doc, `"score":%.3f}`, float64(i*7919%1000)/7)
	}
	doc.WriteByte(']')
	return doc.Bytes()
}

// jsonOf answers with a document that may be kept.
func jsonOf(doc []byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h["Content-Type"] = jsonType
		h["Cache-Control"] = maxAge
		_, _ = w.Write(doc)
	})
}

// The values are shared, so that only the middleware allocates.
var (
	jsonType = []string{"application/json"}
	maxAge   = []string{"max-age=3600"}
)
