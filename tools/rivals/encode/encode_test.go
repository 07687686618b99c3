// SPDX-License-Identifier: MIT

// Package encode_test compares the encoding of Datastar events with the official
// Go SDK, for an event that goes to a thousand streams: ours is encoded once and
// its bytes copied to each, the SDK encodes it into each response.
package encode_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	rival "github.com/starfederation/datastar-go/datastar"

	"m0serve.dev/datastar"
	"m0serve.dev/tools/rivals/cputime"
)

var (
	html    = "<ul id=\"list\">\n" + strings.Repeat("<li>a line of usual length</li>\n", 32) + "</ul>"
	page20  = strings.Repeat("<p>one of four hundred and thirty lines</p>\n", 430) // 20 KB
	lineKB  = "<p>" + strings.Repeat("text of a page ", 68) + "</p>"
	signals = []byte(`{"count":12345,"user":{"name":"someone","tags":["a"]},"live":true}`)
)

// sink is a response that forgets.
type sink struct{ header http.Header }

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) Write(p []byte) (int, error) { return len(p), nil }
func (s *sink) WriteHeader(int)             {}
func (s *sink) Flush()                      {}

// newRival returns the SDK's stream on a response that forgets.
func newRival() *rival.ServerSentEventGenerator {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	return rival.NewSSE(&sink{http.Header{}}, r)
}

func newOurs(b *testing.B) *datastar.Writer {
	b.Helper()
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	w, err := datastar.NewWriter(&sink{http.Header{}}, r)
	if err != nil {
		b.Fatal(err)
	}
	return w
}

func BenchmarkElements(b *testing.B) {
	b.Run("ours/append", func(b *testing.B) {
		dst, page := make([]byte, 0, 8<<10), []byte(html)
		defer cputime.Count(b)()
		for b.Loop() {
			if _, err := datastar.AppendPatchElements(dst, page, datastar.ElementsOptions{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("ours/writer", func(b *testing.B) {
		w := newOurs(b)
		defer cputime.Count(b)()
		for b.Loop() {
			if err := w.PatchElements(html, datastar.ElementsOptions{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("theirs", func(b *testing.B) {
		w := newRival()
		defer cputime.Count(b)()
		for b.Loop() {
			if err := w.PatchElements(html); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkPage is an event of 20 KB in many lines, with the allocations of each side.
func BenchmarkPage(b *testing.B) {
	b.Run("ours/append", func(b *testing.B) {
		dst, page := make([]byte, 0, 64<<10), []byte(page20)
		b.ReportAllocs()
		defer cputime.Count(b)()
		for b.Loop() {
			if _, err := datastar.AppendPatchElements(dst, page, datastar.ElementsOptions{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("theirs", func(b *testing.B) {
		w := newRival()
		b.ReportAllocs()
		defer cputime.Count(b)()
		for b.Loop() {
			if err := w.PatchElements(page20); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkFanout is one event of 1 KB to a thousand responses that forget.
func BenchmarkFanout(b *testing.B) {
	const streams = 1000
	b.Run("ours/append", func(b *testing.B) {
		dst, line, to := make([]byte, 0, 4<<10), []byte(lineKB), &sink{http.Header{}}
		b.ReportAllocs()
		defer cputime.Count(b)()
		for b.Loop() {
			event, err := datastar.AppendPatchElements(dst, line, datastar.ElementsOptions{})
			if err != nil {
				b.Fatal(err)
			}
			for range streams {
				if _, err := to.Write(event); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	b.Run("theirs", func(b *testing.B) {
		var all [streams]*rival.ServerSentEventGenerator
		for i := range all {
			all[i] = newRival()
		}
		b.ReportAllocs()
		defer cputime.Count(b)()
		for b.Loop() {
			for _, w := range all {
				if err := w.PatchElements(lineKB); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

func BenchmarkSignals(b *testing.B) {
	b.Run("ours/append", func(b *testing.B) {
		dst := make([]byte, 0, 8<<10)
		defer cputime.Count(b)()
		for b.Loop() {
			if _, err := datastar.AppendPatchSignals(dst, signals, datastar.SignalsOptions{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("theirs", func(b *testing.B) {
		w := newRival()
		defer cputime.Count(b)()
		for b.Loop() {
			if err := w.PatchSignals(signals); err != nil {
				b.Fatal(err)
			}
		}
	})
}
