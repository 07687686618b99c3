// SPDX-License-Identifier: MIT

package compress_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"m0serve.dev/http/compress"
	"m0serve.dev/http/sse"
)

// todoList is a list of 20 items as an event, other each time.
func todoList(n int) []byte {
	var b strings.Builder
	b.WriteString("event: datastar-patch-elements\n")
	fmt.Fprintf(&b, "data: elements <ul id=\"list\" data-n=\"%d\">\n", n)
	for i := range 20 {
		fmt.Fprintf(&b, "data: elements <li id=\"todo-%d\"><label><input type=\"checkbox\" ", i)
		fmt.Fprintf(&b, "data-on:click=\"@post('/todos/%d/toggle')\" ", i)
		fmt.Fprintf(&b, "%s> Item number %d</label>", strings.Repeat("checked", (n+i)%2), i*n)
		fmt.Fprintf(&b, "<button data-on:click=\"@delete('/todos/%d')\">x</button></li>\n", i)
	}
	fmt.Fprintf(&b, "data: elements </ul>\n\nid: %d\n\n", n)
	return []byte(b.String())
}

// streams hear each event.
const streams = 1000

// counting is a connection that takes everything.
type counting struct{ n int64 }

func (c *counting) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return len(p), nil
}

// flusher is a coder of one stream.
type flusher interface {
	io.Writer
	Flush() error
}

// BenchmarkBroadcast is what coding costs for one stream and one event of some 4 KB
// that a thousand streams get, without the writing: the event as it is, coded once
// for all, and coded by each stream for itself, which has its history to refer to.
func BenchmarkBroadcast(b *testing.B) {
	b.Run("plain", func(b *testing.B) {
		broadcast(b, asIs, nil)
	})
	for _, c := range []sse.Coding{compress.ZstdFrames(), compress.GzipFrames()} {
		b.Run("once/"+c.Name(), func(b *testing.B) {
			broadcast(b, func(body []byte) []byte { return c.Encode(nil, body) }, nil)
		})
	}
	for name, make := range map[string]func(w io.Writer) flusher{
		"gzip": func(w io.Writer) flusher {
			z, _ := gzip.NewWriterLevel(w, 5)
			return z
		},
		"zstd": func(w io.Writer) flusher {
			z, _ := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true),
				zstd.WithWindowSize(256<<10))
			return z
		},
	} {
		b.Run("each/"+name, func(b *testing.B) {
			broadcast(b, asIs, make)
		})
	}
}

func asIs(body []byte) []byte { return body }

func broadcast(b *testing.B, encode func([]byte) []byte, each func(io.Writer) flusher) {
	wire := make([]counting, streams)
	var coders []flusher
	if each != nil {
		for i := range wire {
			coders = append(coders, each(&wire[i]))
		}
	}
	events := make([][]byte, 64)
	for i := range events {
		events[i] = todoList(i)
	}
	n, total := 0, int64(0)
	for b.Loop() {
		body := events[n%len(events)]
		n++
		frame := encode(body)
		for i := range wire {
			if each == nil {
				_, _ = wire[i].Write(frame)
				continue
			}
			_, _ = coders[i].Write(frame)
			_ = coders[i].Flush()
		}
	}
	for i := range wire {
		total += wire[i].n
	}
	deliveries := float64(n) * streams
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/deliveries, "ns/delivery")
	b.ReportMetric(float64(total)/deliveries, "B/delivery")
}
