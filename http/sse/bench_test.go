// SPDX-License-Identifier: MIT

package sse

import (
	"strings"
	"testing"
)

// BenchmarkBroadcast delivers one frame to ten thousand streams and takes it
// from each, as a loop does.
func BenchmarkBroadcast(b *testing.B) {
	r := NewRegistry(-1)
	slots := addSlots(b, r, 10_000)
	body := []byte("data: " + strings.Repeat("x", 200) + "\n\n")
	b.ReportAllocs()
	var id uint64
	for b.Loop() {
		id++
		r.Deliver(NewFrame(id, "c", "", body))
		for _, s := range slots {
			for s.Next() != nil {
			}
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	for name, data := range map[string]string{
		"1KB":        strings.Repeat("x", 1024),
		"20KB-lines": strings.Repeat(strings.Repeat("y", 46)+"\n", 430),
	} {
		b.Run(name, func(b *testing.B) {
			dst := make([]byte, 0, 64<<10)
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				dst, _ = Append(dst[:0], Event{ID: "1234567890123456", Name: "n", Data: data})
			}
		})
	}
}

func BenchmarkParser(b *testing.B) {
	body, _ := Append(nil, Event{ID: "1234567890123456", Name: "n", Data: strings.Repeat("x", 1024)})
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	var p Parser
	for b.Loop() {
		_ = p.Feed(body, func(Event) {})
	}
}
